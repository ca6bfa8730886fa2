import { bytesOfString, byteString, utf8Bytes, utf8Text } from '../../shared/bytes.ts'
import { compileGlob, type Glob } from '../../shared/glob.ts'
import { RespReader } from '../../shared/resp/reader.ts'
import type { RespValue } from '../../shared/resp/types.ts'
import { encodeValue } from '../../shared/resp/writer.ts'
import { readSubprotocols } from '../../shared/subprotocol.ts'
import type { SubscriptionKind } from '../client/types.ts'
import type { TestSocket } from './test-socket.ts'

/** What a session asks its server. Names are byte strings. */
interface SessionHost {
  /** @param user Undefined with a token or a cookie. */
  login(secret: string | undefined, user: string | undefined): string | undefined
  readonly tokenMs: number
  isDenied(name: string): boolean
  /** @returns The number of subscriptions that got it. */
  published(kind: SubscriptionKind, channel: Uint8Array, payload: Uint8Array): number
  closed(): void
}

/** Kinds of subscriptions, by the first letter of the command. */
const KINDS = { '': 'channel', P: 'pattern', S: 'shard' } as const

/** One connection of a client, as the server sees it. */
export class TestSession {
  /** Once it has logged in. */
  user: string | undefined
  readonly #socket: TestSocket
  readonly #host: SessionHost
  readonly #reader = new RespReader()
  #hasHeard = false
  /** What is subscribed, by names as byte strings. */
  readonly #names = {
    channel: new Set<string>(),
    pattern: new Map<string, Glob>(),
    shard: new Set<string>(),
  }

  constructor(socket: TestSocket, host: SessionHost) {
    this.#socket = socket
    this.#host = host
    socket.received = (bytes) => this.#receive(bytes)
    socket.closing = () => host.closed()
  }

  /** Accepts the connection, and logs in with the token that came with it. */
  open(): void {
    const { token } = readSubprotocols(this.#socket.protocols)
    this.#socket.open(() => {
      // The client may have sent AUTH by now. Otherwise a cookie logs in.
      if (this.#hasHeard) return
      const user = this.#host.login(token, undefined)
      if (user === undefined) this.close(4401, 'unauthorized||')
      else this.#accept(user)
    })
  }

  close(code: number, reason: string): void {
    this.#host.closed()
    this.#socket.end(code, reason)
  }

  push(...items: readonly (string | number | Uint8Array)[]): void {
    this.#write({
      type: 'push',
      items: items.map((item) => (typeof item === 'string' ? utf8Bytes(item) : item)),
    })
  }

  /** Subscriptions to a channel, its patterns and its shard channel. */
  countOf(name: string): number {
    const { channel, pattern, shard } = this.#names
    const exact = [channel, shard].filter((names) => names.has(name)).length
    return exact + [...pattern.values()].filter((glob) => glob.matches(name)).length
  }

  /** Reports whether a subscription is no longer allowed. */
  holdsDenied(): boolean {
    return Object.values(this.#names).some((names) =>
      [...names.keys()].some((name) => this.#host.isDenied(name)),
    )
  }

  /** Sends a message to those who are subscribed. @returns Their number. */
  deliver(kind: SubscriptionKind, channel: Uint8Array, payload: Uint8Array): number {
    const key = byteString(channel)
    if (kind === 'shard') {
      if (!this.#names.shard.has(key)) return 0
      this.push('smessage', channel, payload)
      return 1
    }
    let count = 0
    if (this.#names.channel.has(key)) {
      count++
      this.push('message', channel, payload)
    }
    for (const [pattern, glob] of this.#names.pattern) {
      if (!glob.matches(key)) continue
      count++
      this.push('pmessage', bytesOfString(pattern), channel, payload)
    }
    return count
  }

  #accept(user: string): void {
    this.user = user
    this.push('token', 'accepted', user, this.#host.tokenMs)
  }

  #receive(bytes: Uint8Array): void {
    this.#hasHeard = true
    this.#reader.push(bytes)
    for (let value = this.#reader.next(); value !== undefined; value = this.#reader.next()) {
      const args = Array.isArray(value) ? (value as readonly RespValue[]) : []
      const [command, ...rest] = args.map((arg) =>
        arg instanceof Uint8Array ? arg : new Uint8Array(),
      )
      this.#run(utf8Text(command ?? new Uint8Array()).toUpperCase(), rest)
    }
  }

  #run(command: string, args: readonly Uint8Array[]): void {
    if (command === 'AUTH') this.#authenticate(args)
    else if (this.user === undefined) this.#refuse('NOAUTH Authentication required.')
    else if (command === 'PING') this.#write('PONG')
    else if (command === 'TOKEN') {
      const [, , channel] = args
      const isDenied = channel !== undefined && this.#host.isDenied(byteString(channel))
      this.#write(isDenied ? 'channel' : 'ok')
    } else this.#runPubSub(command, args)
  }

  #authenticate(args: readonly Uint8Array[]): void {
    const [name = '', secret = ''] = args.map((arg) => utf8Text(arg))
    const user = this.#host.login(secret, name === 'jwt' ? undefined : name)
    if (user === undefined) {
      this.#refuse('WRONGPASS invalid username-password pair or user is disabled.')
      return
    }
    this.#accept(user)
    this.#write('OK')
  }

  #runPubSub(command: string, args: readonly Uint8Array[]): void {
    const [, letter = '', verb = ''] =
      /^([PS]?)(SUBSCRIBE|UNSUBSCRIBE|PUBLISH)$/.exec(command) ?? []
    const kind = KINDS[letter as keyof typeof KINDS]
    const [channel, payload] = args
    if (verb === 'SUBSCRIBE') this.#subscribe(command, kind, args)
    else if (verb === 'UNSUBSCRIBE') this.#unsubscribe(command, kind, args)
    else if (verb === 'PUBLISH' && letter !== 'P' && channel && payload) {
      if (this.#host.isDenied(byteString(channel))) this.#refuse(NO_CHANNEL)
      else this.#write(this.#host.published(kind, channel, payload))
    } else this.#refuse(`ERR unknown command '${command}'`)
  }

  /** All of them, or none: as with Redis' own check. */
  #subscribe(command: string, kind: SubscriptionKind, names: readonly Uint8Array[]): void {
    if (names.some((name) => this.#host.isDenied(byteString(name)))) {
      this.#refuse(NO_CHANNEL)
      return
    }
    for (const name of names) {
      const key = byteString(name)
      if (kind === 'pattern') this.#names.pattern.set(key, compileGlob(key))
      else this.#names[kind].add(key)
      this.push(command.toLowerCase(), name, this.#count)
    }
  }

  #unsubscribe(command: string, kind: SubscriptionKind, names: readonly Uint8Array[]): void {
    for (const name of names) {
      this.#names[kind].delete(byteString(name))
      this.push(command.toLowerCase(), name, this.#count)
    }
  }

  get #count(): number {
    return Object.values(this.#names).reduce((sum, names) => sum + names.size, 0)
  }

  #refuse(message: string): void {
    this.#write({ type: 'error', message })
  }

  #write(value: RespValue): void {
    this.#socket.deliver(encodeValue(value))
  }
}

const NO_CHANNEL = 'NOPERM No permissions to access a channel'
