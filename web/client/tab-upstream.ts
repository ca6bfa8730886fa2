import { byteString, utf8Bytes } from '../../shared/bytes.ts'
import { encodeCommand } from '../../shared/resp/command.ts'
import type { CommandArgument } from '../../shared/resp/command.ts'
import { RespReader } from '../../shared/resp/reader.ts'
import { isError, isPush } from '../../shared/resp/types.ts'
import type { RespValue } from '../../shared/resp/types.ts'
import type { ClientSocket, OpenSocket } from './environment.ts'
import { COMMANDS } from './subscription-commands.ts'
import type { SubscriptionKind } from './types.ts'

/** What a shared connection tells. */
export interface TabUpstreamListener<Asker> {
  opened(): void
  /** A reply or a confirmation, for the one who asked. */
  answered(asker: Asker, value: RespValue): void
  /** A subscription was refused. Byte strings. */
  refused(asker: Asker, kind: SubscriptionKind, names: readonly string[]): void
  /** A push that nobody asked for. */
  pushed(items: readonly RespValue[]): void
  closed(code: number, reason: string): void
}

/** A command whose answer has not come. */
interface Pending<Asker> {
  /** Undefined where nobody waits for the answer any more. */
  asker: Asker | undefined
  readonly kind?: SubscriptionKind
  /** Kind of the pushes that confirm it, one per name. */
  readonly confirmedBy?: string
  readonly names?: Set<string>
  /** Is a subscription, which a refusal takes back. */
  readonly subscribes?: boolean
  /** What the asker gets instead of the answer. */
  readonly instead?: RespValue
}

/** The one connection behind many tabs: answers are matched to commands by their order. */
export class TabUpstream<Asker> {
  readonly #socket: ClientSocket
  readonly #listener: TabUpstreamListener<Asker>
  readonly #reader = new RespReader({ maxBulkBytes: 64 * 1024 * 1024 })
  readonly #pending: Pending<Asker>[] = []
  #isOver = false

  /** @throws {Error} If the address is not one that a WebSocket can be opened to. */
  constructor(
    openSocket: OpenSocket,
    url: string,
    protocols: readonly string[],
    listener: TabUpstreamListener<Asker>,
  ) {
    this.#listener = listener
    this.#socket = openSocket(url, protocols, {
      opened: () => {
        if (!this.#isOver) listener.opened()
      },
      received: (bytes) => this.#receive(bytes),
      closed: (code, reason) => {
        if (this.#isOver) return
        this.#isOver = true
        listener.closed(code, reason)
      },
    })
  }

  /** Sends a command that gets a reply. */
  call(asker: Asker, args: readonly CommandArgument[]): void {
    this.#send({ asker }, args)
  }

  subscribe(asker: Asker, kind: SubscriptionKind, names: readonly Uint8Array[]): void {
    this.#request(asker, kind, COMMANDS[kind].subscribe, names, true)
  }

  unsubscribe(
    asker: Asker | undefined,
    kind: SubscriptionKind,
    names: readonly Uint8Array[],
  ): void {
    this.#request(asker, kind, COMMANDS[kind].unsubscribe, names, false)
  }

  /** Confirms the end of a subscription that others still hold, in its turn: the server is asked for a `PONG`. */
  confirmLater(asker: Asker, kind: SubscriptionKind, name: Uint8Array): void {
    const word = utf8Bytes(COMMANDS[kind].unsubscribe.toLowerCase())
    this.#send({ asker, instead: { type: 'push', items: [word, name, 0] } }, ['PING'])
  }

  /** Nobody waits for the answers to this one any more. */
  forget(asker: Asker): void {
    for (const pending of this.#pending) if (pending.asker === asker) pending.asker = undefined
  }

  close(code?: number): void {
    this.#isOver = true
    this.#socket.close(code)
  }

  #request(
    asker: Asker | undefined,
    kind: SubscriptionKind,
    command: string,
    names: readonly Uint8Array[],
    subscribes: boolean,
  ): void {
    const keys = new Set(names.map((name) => byteString(name)))
    const confirmedBy = command.toLowerCase()
    this.#send({ asker, kind, confirmedBy, names: keys, subscribes }, [command, ...names])
  }

  #send(pending: Pending<Asker>, args: readonly CommandArgument[]): void {
    if (this.#isOver) return
    this.#pending.push(pending)
    this.#socket.send(encodeCommand(args))
  }

  #receive(bytes: Uint8Array): void {
    if (this.#isOver) return
    this.#reader.push(bytes)
    try {
      for (;;) {
        const value = this.#isOver ? undefined : this.#reader.next()
        if (value === undefined) return
        this.#take(value)
      }
    } catch {
      this.close(4400)
      // To the tabs it is a connection that broke: 4400 would say that they are to blame.
      this.#listener.closed(1006, '')
    }
  }

  #take(value: RespValue): void {
    if (isPush(value)) {
      if (!this.#confirm(value.items)) this.#listener.pushed(value.items)
      return
    }
    const pending = this.#pending.shift()
    if (pending?.asker === undefined) return
    const { asker, kind, names, subscribes } = pending
    if (isError(value) && kind && names && subscribes)
      this.#listener.refused(asker, kind, [...names])
    this.#listener.answered(asker, pending.instead ?? value)
  }

  #confirm(items: readonly RespValue[]): boolean {
    const [kind, name] = items
    const pending = this.#pending[0]
    if (!(kind instanceof Uint8Array) || !(name instanceof Uint8Array)) return false
    if (!pending?.names || pending.confirmedBy !== byteString(kind)) return false
    if (!pending.names.delete(byteString(name))) return false
    if (pending.names.size === 0) this.#pending.shift()
    if (pending.asker !== undefined) this.#listener.answered(pending.asker, { type: 'push', items })
    return true
  }
}
