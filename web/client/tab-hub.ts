import { byteString, utf8Bytes } from '../../shared/bytes.ts'
import { classifyClose, parseCloseReason } from '../../shared/close-codes.ts'
import { RespReader } from '../../shared/resp/reader.ts'
import type { RespValue } from '../../shared/resp/types.ts'
import { encodeValue } from '../../shared/resp/writer.ts'
import { BEARER_PREFIX } from '../../shared/subprotocol.ts'
import type { ClientClock, OpenSocket } from './environment.ts'
import { COMMANDS, KINDS } from './subscription-commands.ts'
import type { TabNotice, TabRequest } from './tab-messages.ts'
import { TabUpstream } from './tab-upstream.ts'
import type { SubscriptionKind } from './types.ts'

/** A tab that has not taken in this much is cut off; it then connects anew and reports the gap. */
const MAX_UNTAKEN_BYTES = 4 * 1024 * 1024

/** A tab, as the hub sees it. */
export interface TabPort {
  post(notice: TabNotice): void
  close(): void
}

/** One tab that is connected. */
interface Tab {
  readonly port: TabPort
  readonly reader: RespReader
  /** Byte strings. */
  readonly names: Record<SubscriptionKind, Set<string>>
  isOpen: boolean
  untakenBytes: number
}

/**
 * Lets tabs share one connection: to each of them it looks like a server of its own.
 *
 * Commands go to the server in the order in which they come, and each answer to the tab that asked; a message goes to the tabs
 * that subscribed to its name. A name is left when the last tab leaves it. The hub makes no decisions of its own: when the
 * connection ends every tab hears how, and the first to connect again begins the next one.
 */
export class TabHub {
  readonly #clock: ClientClock
  readonly #openSocket: OpenSocket
  readonly #tabs = new Set<Tab>()
  #upstream: TabUpstream<Tab> | undefined
  /** The tab whose token the connection has. */
  #owner: Tab | undefined
  /** Who the server accepted, and until when in milliseconds of the wall clock. */
  #accepted: { readonly user: RespValue; readonly untilMs: number } | undefined

  constructor(clock: ClientClock, openSocket: OpenSocket) {
    this.#clock = clock
    this.#openSocket = openSocket
  }

  /**
   * Adds a tab.
   *
   * @returns Takes what the tab tells; `gone` where it ended without a word.
   */
  join(port: TabPort): { request(request: TabRequest): void; gone(): void } {
    const names = {
      channel: new Set<string>(),
      pattern: new Set<string>(),
      shard: new Set<string>(),
    }
    const tab: Tab = { port, reader: new RespReader(), names, isOpen: false, untakenBytes: 0 }
    port.post({ type: 'hello' })
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
        this.#command(tab, value as readonly Uint8Array[])
      }
    } else if (request.type === 'taken') {
      tab.untakenBytes -= request.bytes
    } else {
      this.#leave(tab)
      // A connection that does not answer one tab is dead for all.
      if (request.isDead) {
        this.#upstream?.close()
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
  #connect(tab: Tab, url: string, protocols: readonly string[]): TabUpstream<Tab> {
    const hasBearer = protocols.some((name) => name.startsWith(BEARER_PREFIX))
    const upstream: TabUpstream<Tab> = new TabUpstream(this.#openSocket, url, protocols, {
      // Without a token in the request the tab that came first logs in by a command.
      opened: () => {
        if (!hasBearer) this.#openTab(tab)
      },
      answered: (asker, value) => this.#send(asker, encodeValue(value)),
      refused: (asker, kind, refused) => {
        for (const name of refused) asker.names[kind].delete(name)
      },
      pushed: (items) => this.#pushed(items),
      closed: (code, reason) => {
        if (this.#upstream === upstream) this.#lost(code, reason)
      },
    })
    return upstream
  }

  #openTab(tab: Tab): void {
    if (tab.isOpen || !this.#tabs.has(tab)) return
    tab.isOpen = true
    tab.port.post({ type: 'opened' })
  }

  /** Tells a tab what the server told the first one. */
  #welcome(tab: Tab): void {
    if (!this.#accepted) return
    const { user, untilMs } = this.#accepted
    this.#openTab(tab)
    const leftMs = Math.max(0, Math.round(untilMs - this.#clock.wallMs()))
    const items = [utf8Bytes('token'), utf8Bytes('accepted'), user, leftMs]
    this.#send(tab, encodeValue({ type: 'push', items }))
  }

  #command(tab: Tab, args: readonly Uint8Array[]): void {
    const [first, ...names] = args
    const word = first ? byteString(first).toUpperCase() : ''
    for (const kind of KINDS) {
      const { subscribe, unsubscribe } = COMMANDS[kind]
      if (word === subscribe) {
        for (const name of names) tab.names[kind].add(byteString(name))
        this.#upstream?.subscribe(tab, kind, names)
        return
      }
      if (word === unsubscribe) {
        for (const name of names) this.#unsubscribe(tab, kind, name)
        return
      }
    }
    if (word === 'AUTH') this.#owner = tab
    this.#upstream?.call(tab, args)
  }

  #unsubscribe(tab: Tab, kind: SubscriptionKind, name: Uint8Array): void {
    const key = byteString(name)
    tab.names[kind].delete(key)
    const isWanted = [...this.#tabs].some((other) => other.names[kind].has(key))
    // A confirmation must not overtake the answers that the tab still waits for, so the server is asked for something else.
    if (isWanted) this.#upstream?.confirmLater(tab, kind, name)
    else this.#upstream?.unsubscribe(tab, kind, [name])
  }

  #pushed(items: readonly RespValue[]): void {
    const [kind, name] = items
    const word = kind instanceof Uint8Array ? byteString(kind) : ''
    if (word === 'token') {
      this.#tokenPushed(items)
      return
    }
    if (!(name instanceof Uint8Array)) return
    const key = byteString(name)
    const bytes = encodeValue({ type: 'push', items })
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
      // One tab is enough to fetch a token; where it fails, the end of the token reminds all.
      if (name === 'expiring') return
    }
  }

  #send(tab: Tab, bytes: Uint8Array): void {
    if (!this.#tabs.has(tab)) return
    // A single message never cuts off a tab that keeps up.
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
      this.#upstream?.close(1000)
      this.#upstream = undefined
      this.#accepted = undefined
      return
    }
    this.#upstream?.forget(tab)
    for (const kind of KINDS) {
      const unwanted = [...tab.names[kind]].filter(
        (name) => ![...this.#tabs].some((other) => other.names[kind].has(name)),
      )
      const names = unwanted.map((name) =>
        Uint8Array.from(name, (character) => character.charCodeAt(0)),
      )
      if (names.length > 0) this.#upstream?.unsubscribe(undefined, kind, names)
    }
  }

  /** Tells all tabs how the connection ended; that a token is not good any more, only the tab that it came from. */
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
