import { bytesOfString, byteString, utf8Bytes } from '../../../shared/bytes.ts'
import { classifyClose, parseCloseReason } from '../../../shared/close-codes.ts'
import { RespReader } from '../../../shared/resp/reader.ts'
import { isError } from '../../../shared/resp/types.ts'
import type { RespPush, RespValue } from '../../../shared/resp/types.ts'
import { encodeValue } from '../../../shared/resp/writer.ts'
import { BEARER_PREFIX } from '../../../shared/subprotocol.ts'
import type { ClientClock, OpenSocket } from '../environment.ts'
import { Link } from '../link.ts'
import { COMMANDS, KINDS } from '../pushes.ts'
import type { SubscriptionKind } from '../types.ts'

/** Message of a tab to the worker that holds the shared connection. */
export type TabRequest =
  /** Asks for a connection. `lock` is a Web Lock that the tab holds as long as it lives. */
  | {
      readonly type: 'open'
      readonly url: string
      readonly protocols: readonly string[]
      readonly lock: string
    }
  /** One or more whole commands. */
  | { readonly type: 'send'; readonly bytes: Uint8Array }
  /** This many bytes were processed. */
  | { readonly type: 'taken'; readonly bytes: number }
  /** Leaves. `isDead`: the connection did not answer. */
  | { readonly type: 'close'; readonly isDead: boolean }

/** Message of the worker to a tab. */
export type TabNotice =
  /** The worker runs; comes first. `lock` is a Web Lock that the worker holds as long as it lives, if it could get one. */
  | { readonly type: 'hello'; readonly lock: string | undefined }
  | { readonly type: 'opened' }
  /** Whole RESP3 values. */
  | { readonly type: 'received'; readonly bytes: Uint8Array }
  | { readonly type: 'closed'; readonly code: number; readonly reason: string }

/** A tab with more unprocessed bytes is disconnected; it then reconnects and reports the gap. */
const MAX_UNTAKEN_BYTES = 4 * 1024 * 1024

/** Message port of a tab. */
interface TabPort {
  post(notice: TabNotice): void
  close(): void
}

/** A connected tab. */
interface Tab {
  readonly port: TabPort
  readonly reader: RespReader
  /** Byte strings. */
  readonly names: Record<SubscriptionKind, Set<string>>
  isOpen: boolean
  untakenBytes: number
}

/**
 * Shares one connection between tabs. To each tab it looks like a server.
 *
 * Commands go to the server in the order of arrival, and each answer goes to the tab that asked. A message goes to the tabs that
 * subscribed to its name; a name is unsubscribed when the last tab leaves it. The hub decides nothing: when the connection ends
 * every tab is told how, and the first tab that reconnects opens the next one.
 */
export class TabHub {
  readonly #clock: ClientClock
  readonly #openSocket: OpenSocket
  readonly #lock: string | undefined
  readonly #tabs = new Set<Tab>()
  #upstream: Link | undefined
  /** The tab whose token the connection has. */
  #owner: Tab | undefined
  /** The accepted user, and the end of its token in milliseconds of the wall clock. */
  #accepted: { readonly user: RespValue; readonly untilMs: number } | undefined

  /** @param lock Web Lock that ends with the hub. */
  constructor(clock: ClientClock, openSocket: OpenSocket, lock?: string) {
    this.#clock = clock
    this.#openSocket = openSocket
    this.#lock = lock
  }

  /**
   * Adds a tab.
   *
   * @returns Handler of the requests of the tab; `gone` reports that it ended without a request.
   */
  join(port: TabPort): { request(request: TabRequest): void; gone(): void } {
    const names = {
      channel: new Set<string>(),
      pattern: new Set<string>(),
      shard: new Set<string>(),
    }
    const tab: Tab = { port, reader: new RespReader(), names, isOpen: false, untakenBytes: 0 }
    port.post({ type: 'hello', lock: this.#lock })
    return {
      request: (request) => this.#take(tab, request),
      gone: () => this.#leave(tab),
    }
  }

  #take(tab: Tab, request: TabRequest): void {
    if (request.type === 'open') {
      this.#open(tab, request.url, request.protocols)
    } else if (!this.#tabs.has(tab)) {
      return
    } else if (request.type === 'send') {
      tab.reader.push(request.bytes)
      for (let value = tab.reader.next(); value !== undefined; value = tab.reader.next()) {
        if (isCommand(value)) this.#command(tab, value)
      }
    } else if (request.type === 'taken') {
      tab.untakenBytes -= request.bytes
    } else {
      this.#leave(tab)
      // A connection that does not answer one tab is dead for all tabs.
      if (request.isDead) {
        this.#upstream?.drop()
        this.#lost(1006, '')
      }
    }
  }

  #open(tab: Tab, url: string, protocols: readonly string[]): void {
    this.#tabs.add(tab)
    if (this.#upstream) {
      if (this.#accepted) this.#welcome(tab)
      return
    }
    this.#owner = tab
    try {
      this.#upstream = this.#connect(tab, url, protocols)
    } catch {
      this.#lost(1006, '')
    }
  }

  /** @throws {Error} If the address is not one that a WebSocket can be opened to. */
  #connect(tab: Tab, url: string, protocols: readonly string[]): Link {
    const hasBearer = protocols.some((name) => name.startsWith(BEARER_PREFIX))
    return new Link(this.#clock, this.#openSocket, url, protocols, {
      // Without a token in the request the tab that came first logs in by a command.
      opened: () => {
        if (!hasBearer) this.#openTab(tab)
      },
      pushed: (kind, items) => this.#pushed(kind, items),
      closed: (code, reason) => this.#lost(code, reason),
      failed: () => {
        this.#upstream?.drop(4400)
        // To the tabs it is a connection that broke: 4400 would say that they are to blame.
        this.#lost(1006, '')
      },
    })
  }

  #openTab(tab: Tab): void {
    if (tab.isOpen || !this.#tabs.has(tab)) return
    tab.isOpen = true
    tab.port.post({ type: 'opened' })
  }

  /** Tells a tab what the first tab was told at login. */
  #welcome(tab: Tab): void {
    if (!this.#accepted) return
    const { user, untilMs } = this.#accepted
    this.#openTab(tab)
    const leftMs = Math.max(0, Math.round(untilMs - this.#clock.wallMs()))
    const items = [utf8Bytes('token'), utf8Bytes('accepted'), user, leftMs]
    this.#answer(tab, { type: 'push', items })
  }

  #command(tab: Tab, args: readonly Uint8Array[]): void {
    const [first, ...names] = args
    const word = first ? byteString(first).toUpperCase() : ''
    for (const kind of KINDS) {
      const { subscribe, unsubscribe } = COMMANDS[kind]
      if (word === subscribe) this.#subscribe(tab, kind, names)
      else if (word === unsubscribe) for (const name of names) this.#unsubscribe(tab, kind, name)
      else continue
      return
    }
    if (word === 'AUTH') this.#owner = tab
    this.#upstream?.send(args, { replied: (reply) => this.#answer(tab, reply) })
  }

  #subscribe(tab: Tab, kind: SubscriptionKind, names: readonly Uint8Array[]): void {
    const keys = new Set(names.map((name) => byteString(name)))
    for (const key of keys) tab.names[kind].add(key)
    this.#upstream?.send([COMMANDS[kind].subscribe, ...names], {
      names: keys,
      confirmed: (_name, push) => this.#answer(tab, push),
      replied: (reply) => {
        if (isError(reply)) for (const key of keys) tab.names[kind].delete(key)
        this.#answer(tab, reply)
      },
    })
  }

  #unsubscribe(tab: Tab, kind: SubscriptionKind, name: Uint8Array): void {
    const key = byteString(name)
    tab.names[kind].delete(key)
    if (!this.#isWanted(kind, key)) {
      this.#leaveNames(kind, [name], (push) => this.#answer(tab, push))
      return
    }
    // A confirmation must not overtake the answers that the tab still waits for: a PING takes its turn, and the tab gets the
    // confirmation instead of the PONG.
    const word = utf8Bytes(COMMANDS[kind].unsubscribe.toLowerCase())
    this.#upstream?.send(['PING'], {
      replied: () => this.#answer(tab, { type: 'push', items: [word, name, 0] }),
    })
  }

  #leaveNames(
    kind: SubscriptionKind,
    names: readonly Uint8Array[],
    answered: (value: RespValue) => void,
  ): void {
    this.#upstream?.send([COMMANDS[kind].unsubscribe, ...names], {
      names: new Set(names.map((name) => byteString(name))),
      confirmed: (_name, push: RespPush) => answered(push),
      replied: answered,
    })
  }

  #isWanted(kind: SubscriptionKind, key: string): boolean {
    return [...this.#tabs].some((tab) => tab.names[kind].has(key))
  }

  #pushed(word: string, items: readonly RespValue[]): void {
    const [, name] = items
    if (word === 'token') {
      this.#tokenPushed(items)
      return
    }
    if (!(name instanceof Uint8Array)) return
    const key = byteString(name)
    const bytes = encodeValue({ type: 'push', items })
    // Each tab knows which of its subscriptions it is about.
    if (word === 'gap') for (const tab of this.#tabs) this.#send(tab, bytes)
    for (const subscriptionKind of KINDS) {
      const { message, unsubscribe } = COMMANDS[subscriptionKind]
      const isLost = word === unsubscribe.toLowerCase()
      if (word !== message && !isLost) continue
      for (const tab of this.#tabs) {
        if (!tab.names[subscriptionKind].has(key)) continue
        if (isLost) tab.names[subscriptionKind].delete(key)
        this.#send(tab, bytes)
      }
    }
  }

  #tokenPushed(items: readonly RespValue[]): void {
    const [, word, first, second] = items
    const name = word instanceof Uint8Array ? byteString(word) : ''
    if (name === 'accepted') {
      this.#accepted = { user: first ?? '', untilMs: this.#clock.wallMs() + Number(second) }
      for (const tab of this.#tabs) this.#welcome(tab)
      return
    }
    for (const tab of this.#tabs) {
      this.#send(tab, encodeValue({ type: 'push', items }))
      // One tab is enough to fetch a token. If it fails, all tabs are told when the token expires.
      if (name === 'expiring') return
    }
  }

  #answer(tab: Tab, value: RespValue): void {
    this.#send(tab, encodeValue(value))
  }

  #send(tab: Tab, bytes: Uint8Array): void {
    if (!this.#tabs.has(tab)) return
    // A single message never disconnects a tab that keeps up.
    if (tab.untakenBytes > MAX_UNTAKEN_BYTES) {
      tab.port.post({ type: 'closed', code: 4450, reason: 'slow-consumer||the tab is too slow' })
      this.#leave(tab)
      return
    }
    tab.untakenBytes += bytes.length
    tab.port.post({ type: 'received', bytes })
  }

  #leave(tab: Tab): void {
    if (!this.#tabs.delete(tab)) return
    tab.port.close()
    if (this.#tabs.size === 0) {
      this.#upstream?.drop(1000)
      this.#upstream = undefined
      this.#accepted = undefined
      return
    }
    for (const kind of KINDS) {
      const names = [...tab.names[kind]]
        .filter((name) => !this.#isWanted(kind, name))
        .map(bytesOfString)
      if (names.length > 0) this.#leaveNames(kind, names, () => undefined)
    }
  }

  /** Tells all tabs how the connection ended. Only the tab that the token came from is told that it is no longer valid. */
  #lost(code: number, reason: string): void {
    const owner = this.#owner
    const isByToken = classifyClose(code, parseCloseReason(reason)?.name).action === 'new-token'
    this.#upstream = undefined
    this.#accepted = undefined
    this.#owner = undefined
    const tabs = [...this.#tabs]
    this.#tabs.clear()
    for (const tab of tabs) {
      const isTold = !isByToken || tab === owner
      tab.port.post(
        isTold ? { type: 'closed', code, reason } : { type: 'closed', code: 1006, reason: '' },
      )
      tab.port.close()
    }
  }
}

function isCommand(value: RespValue): value is readonly Uint8Array[] {
  return Array.isArray(value) && value.every((arg) => arg instanceof Uint8Array)
}
