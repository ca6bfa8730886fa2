import { byteString } from '../../shared/bytes.ts'
import { errorPrefix } from '../../shared/error-prefix.ts'
import { encodeCommand } from '../../shared/resp/command.ts'
import type { CommandArgument } from '../../shared/resp/command.ts'
import { RespReader } from '../../shared/resp/reader.ts'
import { isError, isPush, isTagged } from '../../shared/resp/types.ts'
import type { RespValue } from '../../shared/resp/types.ts'
import type { ClientClock, ClientSocket, OpenSocket } from './environment.ts'
import { ConnectionError, ReplyError } from './errors.ts'
import type { RespcastError } from './errors.ts'

const LOST = 'The connection was lost before the reply'

/** What a link tells its owner. Nothing more comes after `closed`, or after the link was dropped. */
export interface LinkListener {
  opened(): void
  /** A push that confirms nothing that was asked for; its items without attributes, the kind first. */
  pushed(kind: string, items: readonly RespValue[]): void
  closed(code: number, reason: string): void
  /** The server sent something that is not RESP. The link is of no use any more. */
  failed(error: unknown): void
}

/** A command whose answer has not come. */
interface Pending {
  /** The kind of the pushes that confirm it, one per name; undefined for commands that get a reply. */
  readonly confirmedBy: string | undefined
  /** Names that are not confirmed yet, as byte strings. */
  readonly names: Set<string>
  confirmed(name: string): void
  resolve(value: RespValue): void
  reject(error: RespcastError): void
}

/**
 * One WebSocket: commands out, replies matched to them in order, pushes told apart.
 *
 * A link lives as long as its socket. What belongs to an old link can therefore never reach a new one: its promises reject
 * with `ERR_LOST`, and its events are not heard.
 */
export class Link {
  readonly #socket: ClientSocket
  readonly #clock: ClientClock
  readonly #listener: LinkListener
  readonly #reader = new RespReader({ maxBulkBytes: 64 * 1024 * 1024 })
  readonly #pending: Pending[] = []
  #ended = false
  #lastReceivedMs: number

  /** @throws {Error} If the address is not one that a WebSocket can be opened to. */
  constructor(
    clock: ClientClock,
    openSocket: OpenSocket,
    url: string,
    protocols: readonly string[],
    listener: LinkListener,
  ) {
    this.#clock = clock
    this.#listener = listener
    this.#lastReceivedMs = this.#clock.monotonicMs()
    this.#socket = openSocket(url, protocols, {
      opened: () => {
        if (!this.#ended) listener.opened()
      },
      received: (bytes) => this.#receive(bytes),
      closed: (code, reason) => {
        if (this.#ended) return
        this.#end()
        listener.closed(code, reason)
      },
    })
  }

  /** When the last byte arrived, in milliseconds of the monotonic clock. */
  get lastReceivedMs(): number {
    return this.#lastReceivedMs
  }

  /**
   * Sends a command that gets a reply.
   *
   * @throws {RespcastError} `ERR_REPLY` for an error reply, `ERR_LOST` if the link ends first.
   */
  call(args: readonly CommandArgument[]): Promise<RespValue> {
    return this.#send(args, undefined, [], () => undefined)
  }

  /**
   * Sends a command that is answered by one push per name, or by one error for all of them.
   *
   * @param names As they stand behind the command's name.
   * @param confirmed Called while the confirmation is read, so before anything that follows it: byte string.
   * @throws {RespcastError} `ERR_REPLY`, `ERR_LOST`
   */
  async request(
    command: string,
    names: readonly Uint8Array[],
    confirmed: (name: string) => void,
  ): Promise<void> {
    const keys = names.map((name) => byteString(name))
    await this.#send([command, ...names], command.toLowerCase(), keys, confirmed)
  }

  /** Closes the socket and hears nothing more of it. */
  drop(code?: number, reason?: string): void {
    if (this.#ended) return
    this.#end()
    this.#socket.close(code, reason)
  }

  #send(
    args: readonly CommandArgument[],
    confirmedBy: string | undefined,
    names: readonly string[],
    confirmed: (name: string) => void,
  ): Promise<RespValue> {
    return new Promise((resolve, reject) => {
      if (this.#ended) {
        reject(new ConnectionError('ERR_LOST', LOST))
        return
      }
      this.#pending.push({ confirmedBy, names: new Set(names), confirmed, resolve, reject })
      this.#socket.send(encodeCommand(args))
    })
  }

  #receive(bytes: Uint8Array): void {
    if (this.#ended) return
    this.#lastReceivedMs = this.#clock.monotonicMs()
    this.#reader.push(bytes)
    // A listener may end the link; what was read behind that is no longer wanted.
    while (!this.#ended) {
      const value = this.#read()
      if (value === undefined) return
      this.#take(withoutAttributes(value))
    }
  }

  #read(): RespValue | undefined {
    try {
      return this.#reader.next()
    } catch (error) {
      this.drop(4400, 'protocol-error')
      this.#listener.failed(error)
      return undefined
    }
  }

  #take(value: RespValue): void {
    if (isPush(value)) {
      const [kind, name] = value.items
      const kindText = kind instanceof Uint8Array ? byteString(kind) : ''
      if (!this.#confirm(kindText, name)) this.#listener.pushed(kindText, value.items)
      return
    }
    const pending = this.#pending.shift()
    if (!pending) return
    if (isError(value)) {
      pending.reject(new ReplyError('ERR_REPLY', value.message, errorPrefix(value.message)))
    } else {
      pending.resolve(value)
    }
  }

  /** Tells whether a push is the confirmation that the oldest command waits for. */
  #confirm(kind: string, name: RespValue | undefined): boolean {
    const pending = this.#pending[0]
    if (pending?.confirmedBy !== kind || !(name instanceof Uint8Array)) return false
    const key = byteString(name)
    if (!pending.names.delete(key)) return false
    pending.confirmed(key)
    if (pending.names.size === 0) {
      this.#pending.shift()
      pending.resolve(null)
    }
    return true
  }

  #end(): void {
    this.#ended = true
    for (const pending of this.#pending.splice(0)) {
      pending.reject(new ConnectionError('ERR_LOST', LOST))
    }
  }
}

function withoutAttributes(value: RespValue): RespValue {
  let bare = value
  while (isTagged(bare) && bare.type === 'attributed') bare = bare.value
  return bare
}
