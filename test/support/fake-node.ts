import { EventEmitter } from 'node:events'
import type { LinkHost } from '../../server/upstream/link/link.ts'
import type { LinkSocket, OpenSocket } from '../../server/upstream/link/socket.ts'
import type { UpstreamTls } from '../../server/upstream/settings.ts'
import type { Node } from '../../server/upstream/node.ts'
import { silentLog } from '../../server/log.ts'
import { RequestParser } from '../../server/resp/request-parser.ts'
import { FakeClock } from './fake-clock.ts'
import { TCP_LIMITS } from './parse-requests.ts'
import { ManualTurn } from './test-core.ts'

export const NODE: Node = { host: '127.0.0.1', port: 6379 }

export const bulk = (text: string): string => `$${text.length}\r\n${text}\r\n`

/** A push; texts are byte strings. */
export const pushOf = (...items: readonly (string | number)[]): string =>
  `>${items.length}\r\n${items.map((item) => (typeof item === 'number' ? `:${item}\r\n` : bulk(item))).join('')}`

/** The facts by which a node presents itself. */
export interface Presented {
  readonly role?: string
  readonly mode?: string
  readonly info?: string
}

/** The reply to HELLO 3. */
export const helloOf = ({ role = 'master', mode = 'standalone' }: Presented = {}): string =>
  `%7\r\n${bulk('server')}${bulk('redis')}${bulk('version')}${bulk('7.0.0')}${bulk('proto')}:3\r\n${bulk('id')}:1\r\n` +
  `${bulk('mode')}${bulk(mode)}${bulk('role')}${bulk(role)}${bulk('modules')}*0\r\n`

/** The reply to INFO. */
export const infoOf = ({ info = '' }: Presented = {}): string => {
  const text = `# Server\r\nredis_version:7.0.0\r\nmaxmemory_policy:noeviction\r\n${info}`
  return `=${text.length + 4}\r\ntxt:${text}\r\n`
}

/** The node's end of one connection, which the test drives by hand: it sees commands, and says what comes back. */
export class FakeSocket extends EventEmitter implements LinkSocket {
  readonly node: Node
  readonly tls: UpstreamTls | undefined
  isDestroyed = false
  /** Writes are lost from now on. */
  isDeaf = false
  readonly #parser = new RequestParser(TCP_LIMITS)
  #commands: string[][] = []

  constructor(node: Node, tls: UpstreamTls | undefined) {
    super()
    this.node = node
    this.tls = tls
  }

  write(bytes: Uint8Array): boolean {
    if (this.isDestroyed) throw new Error('written to after its end')
    if (this.isDeaf) return true
    this.#parser.lend(Buffer.from(bytes))
    while (this.#parser.next()) {
      const { count } = this.#parser
      this.#commands.push(Array.from({ length: count }, (_, at) => this.#parser.text(at)))
    }
    this.#parser.keep(false)
    return true
  }

  /** Reads that wait until it is resumed; undefined while it is not paused. */
  #held: Buffer[] | undefined

  pause(): this {
    this.#held ??= []
    return this
  }

  resume(): this {
    const held = this.#held ?? []
    this.#held = undefined
    for (const bytes of held) this.#read(bytes)
    return this
  }

  get isPaused(): boolean {
    return this.#held !== undefined
  }

  #read(bytes: Buffer): void {
    if (this.#held === undefined) this.emit('data', bytes)
    else this.#held.push(bytes)
  }

  cork(): void {}

  uncork(): void {}

  destroy(): this {
    this.isDestroyed = true
    return this
  }

  /** The commands that have come since the last look, as byte strings. */
  take(): string[][] {
    const commands = this.#commands
    this.#commands = []
    return commands
  }

  /** The next command; undefined if none has come. */
  shift(): string[] | undefined {
    return this.#commands.shift()
  }

  get hasCommand(): boolean {
    return this.#commands.length > 0
  }

  /** The connection is made. */
  accept(): void {
    this.emit(this.tls === undefined ? 'connect' : 'secureConnect')
  }

  /** Bytes come from the node, as one read. */
  receive(...texts: readonly string[]): void {
    this.#read(Buffer.from(texts.join(''), 'latin1'))
  }

  /** The connection is made, and the handshake ends well. */
  shakeHands(presented: Presented = {}): void {
    this.accept()
    this.take()
    this.receive(helloOf(presented), '+OK\r\n', infoOf(presented))
  }

  /** The node ends the connection. */
  close(): void {
    this.emit('close')
  }

  /** The connection fails with a code of the system. */
  fail(code: string): void {
    this.emit('error', Object.assign(new Error(`it failed: ${code}`), { code }))
  }
}

/** What links of a test depend on, and the sockets that they have opened. */
export class FakeNetwork {
  readonly clock = new FakeClock()
  readonly turn = new ManualTurn()
  readonly ended: string[] = []
  /** All that were opened, in order. */
  readonly sockets: FakeSocket[] = []

  readonly open: OpenSocket = (node, tls) => {
    const socket = new FakeSocket(node, tls)
    this.sockets.push(socket)
    return socket
  }

  /** The socket that was opened last. */
  get last(): FakeSocket {
    const socket = this.sockets.at(-1)
    if (!socket) throw new Error('no connection was attempted')
    return socket
  }

  host(own: Partial<LinkHost> = {}): LinkHost {
    return {
      clock: this.clock,
      log: silentLog(),
      random: () => 0,
      atEndOfTurn: this.turn.atEndOfTurn,
      clientName: 'respcast:test',
      login: { user: 'upstream-user', password: 'upstream-password-file' },
      credentials: () => undefined,
      tls: undefined,
      open: this.open,
      problemOf: () => undefined,
      ended: (cause) => void this.ended.push(cause),
      ...own,
    }
  }
}
