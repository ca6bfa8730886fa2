import { byteString } from '../../shared/bytes.ts'
import { errorPrefix } from '../../shared/error-prefix.ts'
import { encodeCommand } from '../../shared/resp/command.ts'
import type { CommandArgument } from '../../shared/resp/command.ts'
import { RespReader } from '../../shared/resp/reader.ts'
import { isError, isPush, isTagged } from '../../shared/resp/types.ts'
import type { RespPush, RespValue } from '../../shared/resp/types.ts'
import type { ClientClock, ClientSocket, OpenSocket } from './environment.ts'
import { ConnectionError, LimitError, ReplyError } from './errors.ts'

/** Events of a link. Nothing more comes after `closed`, or after the link was dropped. */
interface LinkListener {
  opened(): void
  /** A push that confirms no command; its items without attributes, the kind first. */
  pushed(kind: string, items: readonly RespValue[]): void
  closed(code: number, reason: string): void
  /** The server sent something that is not RESP. The owner has to drop the link. */
  failed(error: unknown): void
}

/** The answer that a command waits for: one reply, or one push per name. */
interface Pending {
  /** Names that are not confirmed yet, as byte strings; empty for commands that get a reply. */
  readonly names?: Set<string>
  /** Takes the reply, or an error instead of confirmations. */
  replied(value: RespValue): void
  /** Takes the confirmation of a name, as it is read: before anything that follows it. */
  confirmed?(name: string, push: RespPush): void
  /** The link ended before the answer. */
  lost?(): void
}

/** A command that was sent. */
interface Sent extends Pending {
  /** Kind of the pushes that confirm it. */
  readonly kind: string
}

/**
 * One WebSocket: sends commands, matches answers to them in order, and separates pushes.
 *
 * A link lives as long as its socket. So nothing of an old link reaches a new one: its promises reject with `ERR_LOST`, and its
 * events are ignored.
 */
export class Link {
  readonly #socket: ClientSocket
  readonly #clock: ClientClock
  readonly #listener: LinkListener
  readonly #reader = new RespReader({ maxBulkBytes: 64 * 1024 * 1024 })
  readonly #sent: Sent[] = []
  #ended = false
  /** The push `token limits`: kind, name, bytes of a command, its arguments. */
  #limits: readonly RespValue[] = []
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
   * Sends a command. Its answers come in the order in which commands were sent.
   *
   * @throws {LimitError} If the server told that it does not take so much.
   * @throws If it cannot be encoded or sent: then no answer is waited for.
   */
  send(args: readonly CommandArgument[], pending: Pending): void {
    if (this.#ended) {
      pending.lost?.()
      return
    }
    const [command = ''] = args
    const kind = typeof command === 'string' ? command.toLowerCase() : ''
    const bytes = encodeCommand(args)
    this.#check(this.#limits[2], bytes.length, 'bytes')
    this.#check(this.#limits[3], args.length, 'arguments')
    const sent = { ...pending, kind }
    this.#sent.push(sent)
    try {
      this.#socket.send(bytes)
    } catch (error) {
      const at = this.#sent.indexOf(sent)
      if (at >= 0) this.#sent.splice(at, 1)
      throw error
    }
  }

  /**
   * Sends a command that gets a reply.
   *
   * @throws {RespcastError} `ERR_REPLY` for an error reply, `ERR_LOST` if the link ends first.
   */
  call(args: readonly CommandArgument[]): Promise<RespValue> {
    return new Promise((resolve, reject) => {
      this.send(args, settling(resolve, reject))
    })
  }

  /**
   * Sends a command that is answered by one push per name, or by one error for all of them.
   *
   * @param names The arguments of the command.
   * @param confirmed Called as the confirmation is read, so before anything that follows it: byte string.
   * @throws {RespcastError} `ERR_REPLY`, `ERR_LOST`
   */
  request(
    command: string,
    names: readonly Uint8Array[],
    confirmed: (name: string) => void,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const open = new Set(names.map((name) => byteString(name)))
      this.send([command, ...names], {
        ...settling(() => resolve(), reject),
        names: open,
        confirmed: (name) => {
          confirmed(name)
          if (open.size === 0) resolve()
        },
      })
    })
  }

  /** Closes the socket and ignores its further events. */
  drop(code?: number, reason?: string): void {
    if (this.#ended) return
    this.#end()
    this.#socket.close(code, reason)
  }

  #receive(bytes: Uint8Array): void {
    if (this.#ended) return
    this.#lastReceivedMs = this.#clock.monotonicMs()
    this.#reader.push(bytes)
    // A listener may end the link: then nothing more is read.
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
      this.#listener.failed(error)
      return undefined
    }
  }

  #take(value: RespValue): void {
    if (!isPush(value)) {
      this.#sent.shift()?.replied(value)
      return
    }
    const [kind, name] = value.items
    const kindText = kind instanceof Uint8Array ? byteString(kind) : ''
    const key = name instanceof Uint8Array ? byteString(name) : ''
    if (kindText === 'token' && key === 'limits') this.#limits = value.items
    const oldest = this.#sent[0]
    if (oldest?.kind !== kindText || !oldest.names?.delete(key)) {
      this.#listener.pushed(kindText, value.items)
      return
    }
    if (oldest.names.size === 0) this.#sent.shift()
    oldest.confirmed?.(key, value)
  }

  /** A limit that is not known is no number, and nothing is above it. */
  #check(most: RespValue | undefined, count: number, what: string): void {
    if (count > Number(most))
      throw new LimitError('ERR_LIMIT', `${count} ${what}: the server takes ${Number(most)}`)
  }

  #end(): void {
    this.#ended = true
    for (const pending of this.#sent.splice(0)) pending.lost?.()
  }
}

/** Settles a promise with the reply. */
function settling(
  resolve: (value: RespValue) => void,
  reject: (error: unknown) => void,
): Pending & { lost(): void } {
  return {
    replied: (value) => {
      if (isError(value))
        reject(new ReplyError('ERR_REPLY', value.message, errorPrefix(value.message)))
      else resolve(value)
    },
    lost: () => {
      reject(new ConnectionError('ERR_LOST', 'The connection was lost before the reply'))
    },
  }
}

function withoutAttributes(value: RespValue): RespValue {
  let bare = value
  while (isTagged(bare) && bare.type === 'attributed') bare = bare.value
  return bare
}
