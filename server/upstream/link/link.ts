import { fullJitter } from '../../../shared/backoff.ts'
import { byteString } from '../../../shared/bytes.ts'
import { RespProtocolError } from '../../../shared/resp/error.ts'
import { encodeCommand, type CommandArgument } from '../../../shared/resp/command.ts'
import { isError, isTagged, type RespValue } from '../../../shared/resp/types.ts'
import type { Clock, Timer } from '../../clock.ts'
import type { Logger } from '../../log.ts'
import { shown } from '../../log.ts'
import type { LinkState } from '../backplane.ts'
import { LinkReader, type LinkValues } from './link-reader.ts'
import type { Credentials, UpstreamTls } from '../settings.ts'
import { isSameNode, nodeText, type Node } from '../node.ts'
import type { LinkSocket, OpenSocket } from './socket.ts'

/** The reason why a link ended: the label of metrics. */
export type DownCause = 'closed' | 'silent' | 'authority' | 'refused' | 'protocol' | 'fenced'

/** Everything that the links of one gateway have in common. */
export interface LinkHost {
  readonly clock: Clock
  readonly log: Logger
  /** 0 to 1. */
  readonly random: () => number
  readonly atEndOfTurn: (callback: () => void) => void
  /** The name of the connections: CLIENT SETNAME. */
  readonly clientName: string
  /** The directives that {@link credentials} come from, for problems. */
  readonly login: { readonly user: string; readonly password: string }
  /** Read at each connect. @throws RespcastError The password file cannot be read. */
  readonly credentials: () => Credentials | undefined
  /** Options of TLS, read at each connect; undefined for plain TCP. @throws RespcastError A file cannot be read. */
  readonly tls: (() => UpstreamTls) | undefined
  readonly open: OpenSocket
  /** Reports whether a node may be used: it is a master, for a start. @returns The problem, a sentence, otherwise. */
  readonly problemOf: (facts: NodeFacts) => string | undefined
  /** A link that was up has ended. */
  readonly ended: (cause: DownCause) => void
}

/** Facts about a node: from HELLO and INFO. */
export interface NodeFacts {
  readonly node: Node
  /** `master` or `replica`. */
  readonly role: string
  /** `standalone`, `sentinel` or `cluster`. */
  readonly mode: string
  readonly version: string
  /** Fields of INFO. */
  readonly info: ReadonlyMap<string, string>
}

/** Takes what a link that is up reads, and its ends. */
export interface LinkUser extends LinkValues {
  up(facts: NodeFacts): void
  /** Bytes have come, and are about to be handed over. */
  readonly beforeRead?: (() => void) | undefined
  /** What was written has been handed to the system. */
  flushed(): void
  down(cause: DownCause): void
}

/** The first attempt after a link that was up; thousands of gateways must not return at once. */
const FIRST_JITTER_MS = 200
const BACKOFF = { baseMs: 50, maxMs: 1_000 }
/** Longest time from the attempt to the end of the handshake. */
const HANDSHAKE_MS = 5_000

/** Commands are collected in pieces of memory of this size, in bytes. */
const SLAB_BYTES = 65_536
const NO_SLAB: Buffer = Buffer.alloc(0)

/** Replies of the handshake, in order; of CLIENT SETINFO nothing is expected: servers before 7.2 do not know it. */
const HANDSHAKE = ['hello', 'setinfo', 'info'] as const

/**
 * One connection to a node of the upstream, made again whenever it ends: TCP or TLS, HELLO 3 with the login, a look at what the
 * node is, and then the bytes of its user.
 */
export class Link {
  readonly role: LinkState['role']
  readonly #host: LinkHost
  readonly #user: LinkUser
  #node: Node | undefined
  #socket: LinkSocket | undefined
  #reader: LinkReader | undefined
  #isUp = false
  #sinceMs: number
  /** Why it is not up; undefined while nothing has been tried. */
  #problem: string | undefined
  /** The problem that the log has. */
  #logged: string | undefined
  #attempt = 0
  #retry: Timer | undefined
  #timeout: Timer | undefined
  #handshake: RespValue[] = []
  /** Small commands of a turn are written one behind the other; the part from `#from` on has not been sent. */
  #slab = NO_SLAB
  #from = 0
  #at = 0
  #out: Uint8Array[] = []
  #isFlushDue = false
  #isPaused = false
  #isResumeDue = false
  #isStopped = false

  constructor(role: LinkState['role'], host: LinkHost, user: LinkUser) {
    this.role = role
    this.#host = host
    this.#user = user
    this.#sinceMs = host.clock.monotonicMs()
  }

  get isUp(): boolean {
    return this.#isUp
  }

  get node(): Node | undefined {
    return this.#node
  }

  /** One sentence if it is not up. */
  get problem(): string | undefined {
    if (this.#isUp) return undefined
    return this.#problem ?? 'upstream: not connected yet'
  }

  get state(): LinkState {
    const address = this.#node === undefined ? '' : nodeText(this.#node)
    return { role: this.role, address, isUp: this.#isUp, sinceMs: this.#sinceMs }
  }

  /** Connects to a node, and stays with it. A connection to another one is cut. */
  connectTo(node: Node | undefined): void {
    if (isSameNode(node, this.#node) || this.#isStopped) return
    this.#node = node
    this.#attempt = 0
    this.#end('authority')
    if (node === undefined) {
      this.#retry?.cancel()
      this.#problem = undefined
    }
  }

  /** The node has just answered elsewhere: an attempt that waits is made now. */
  hurry(): void {
    if (this.#socket !== undefined) return
    this.#retry?.cancel()
    this.#connect()
  }

  /** Ends the connection, and makes another. */
  cut(cause: DownCause, problem: string): void {
    this.#problem = problem
    if (!this.#isUp && problem !== this.#logged) {
      this.#logged = problem
      this.#host.log.warn({ role: this.role }, problem)
    }
    this.#end(cause)
  }

  /**
   * Takes nothing from the node until {@link resume}, not even what has been read. A link that is not up yet is made all the same, and
   * takes nothing from then on.
   */
  pause(): void {
    this.#isPaused = true
    if (this.#isUp) this.#halt()
  }

  /** Goes on at the end of this turn, where it was. */
  resume(): void {
    this.#isPaused = false
    if (this.#isResumeDue) return
    this.#isResumeDue = true
    this.#host.atEndOfTurn(() => {
      this.#isResumeDue = false
      if (!this.#isPaused) this.#goOn()
    })
  }

  #halt(): void {
    this.#reader?.pause()
    this.#socket?.pause()
  }

  #goOn(): void {
    const reader = this.#reader
    const socket = this.#socket
    if (!this.#isUp || reader === undefined || socket === undefined) return
    this.#read(socket, () => reader.resume())
    // What was kept may have halted it again, or ended it.
    if (socket === this.#socket && !this.#isPaused) socket.resume()
  }

  /** Ends the link for good. */
  stop(): void {
    this.#isStopped = true
    this.#retry?.cancel()
    this.#end('closed')
  }

  /** Room in {@link slab} for so many bytes, which the caller writes at once, and which are sent at the end of this turn. @returns Its start. */
  reserve(bytes: number): number {
    if (this.#at + bytes > this.#slab.length) {
      this.#closeSlab()
      this.#slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, bytes))
      this.#from = this.#at = 0
    }
    const at = this.#at
    this.#at += bytes
    this.#flushSoon()
    return at
  }

  /** The memory of {@link reserve}. What has been written there is not written again. */
  get slab(): Buffer {
    return this.#slab
  }

  /** Sends bytes at the end of this turn. They must not be changed any more. */
  write(bytes: Uint8Array): void {
    this.#closeSlab()
    this.#out.push(bytes)
    this.#flushSoon()
  }

  /** Sends a command at the end of this turn. */
  send(...args: readonly CommandArgument[]): void {
    this.write(encodeCommand(args))
  }

  #flushSoon(): void {
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    this.#host.atEndOfTurn(() => this.#flush())
  }

  #closeSlab(): void {
    if (this.#at > this.#from) this.#out.push(this.#slab.subarray(this.#from, this.#at))
    this.#from = this.#at
  }

  #flush(): void {
    this.#isFlushDue = false
    this.#closeSlab()
    const out = this.#out
    this.#out = []
    const socket = this.#socket
    if (socket === undefined || out.length === 0) return
    if (out.length === 1) {
      socket.write(out[0] as Uint8Array)
    } else {
      socket.cork()
      for (const bytes of out) socket.write(bytes)
      socket.uncork()
    }
    this.#user.flushed()
  }

  #connect(): void {
    const node = this.#node
    if (node === undefined || this.#isStopped || this.#socket) return
    const { clock } = this.#host
    let socket: LinkSocket
    let login: readonly CommandArgument[]
    try {
      const credentials = this.#host.credentials()
      login = credentials === undefined ? [] : loginOf(credentials)
      socket = this.#host.open(node, this.#host.tls?.())
    } catch (error) {
      this.cut('refused', (error as Error).message)
      return
    }
    this.#socket = socket
    this.#handshake = []
    const reader = new LinkReader({
      message: (space, source, channel, payload) => {
        if (this.#isUp) this.#user.message(space, source, channel, payload)
      },
      value: (value) => {
        if (this.#isUp) this.#user.value(value)
        else this.#shakeHands(value, node)
      },
    })
    this.#reader = reader
    const isTls = this.#host.tls !== undefined
    /** TCP is there, and TLS is not. */
    let waitsForTls = false
    if (isTls) socket.on('connect', () => (waitsForTls = true))
    socket.on(isTls ? 'secureConnect' : 'connect', () => {
      waitsForTls = false
      socket.write(encodeCommand(['HELLO', '3', ...login, 'SETNAME', this.#host.clientName]))
      socket.write(encodeCommand(['CLIENT', 'SETINFO', 'LIB-NAME', 'respcast']))
      socket.write(encodeCommand(['INFO']))
    })
    socket.on('data', (chunk) => this.#read(socket, () => reader.feed(chunk, false)))
    socket.on('lent', (chunk) => this.#read(socket, () => reader.feed(chunk, true)))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (socket !== this.#socket) return
      this.cut('closed', explainFailure(error, node))
    })
    socket.on('close', () => {
      if (socket === this.#socket)
        this.cut('closed', `upstream: ${nodeText(node)} closed the connection`)
    })
    this.#timeout = clock.after(HANDSHAKE_MS, () => {
      const what = waitsForTls ? noTls(node) : `upstream: ${nodeText(node)} does not answer`
      this.cut('silent', what)
    })
  }

  #read(socket: LinkSocket, feed: () => void): void {
    if (socket !== this.#socket) return
    if (this.#isUp) this.#user.beforeRead?.()
    try {
      feed()
    } catch (error) {
      if (!(error instanceof RespProtocolError)) throw error
      const address = this.#node === undefined ? '' : nodeText(this.#node)
      this.cut('protocol', `upstream: ${address} does not speak RESP3: ${error.message}`)
    }
  }

  #shakeHands(value: RespValue, node: Node): void {
    this.#handshake.push(value)
    const [hello, , info] = this.#handshake
    if (hello !== undefined && this.#handshake.length === 1 && isError(hello)) {
      this.cut('refused', explainHello(hello.message, node, this.#host.login))
      return
    }
    if (this.#handshake.length < HANDSHAKE.length || hello === undefined || info === undefined)
      return
    if (isError(info)) {
      const text = shown(info.message)
      this.cut(
        'refused',
        `${this.#host.login.user}: ${nodeText(node)} refuses INFO (${text}): give this user +info`,
      )
      return
    }
    const facts = factsOf(node, hello, info)
    const problem = this.#host.problemOf(facts)
    if (problem !== undefined) {
      this.cut('refused', problem)
      return
    }
    this.#timeout?.cancel()
    this.#isUp = true
    this.#attempt = 0
    this.#problem = this.#logged = undefined
    this.#sinceMs = this.#host.clock.monotonicMs()
    this.#host.log.info({ role: this.role, node: nodeText(node) }, 'upstream connected')
    if (this.#isPaused) this.#halt()
    this.#user.up(facts)
  }

  #end(cause: DownCause): void {
    this.#timeout?.cancel()
    const wasUp = this.#isUp
    const socket = this.#socket
    this.#socket = undefined
    this.#reader?.stop()
    this.#reader = undefined
    this.#out = []
    this.#from = this.#at
    socket?.destroy()
    if (wasUp) {
      this.#isUp = false
      this.#sinceMs = this.#host.clock.monotonicMs()
      this.#host.log.warn(
        { role: this.role, cause, problem: this.#problem },
        'upstream connection lost',
      )
      this.#host.ended(cause)
      this.#user.down(cause)
    }
    this.#retryLater(wasUp || cause === 'authority')
  }

  #retryLater(isFirst = false): void {
    this.#retry?.cancel()
    if (this.#isStopped || this.#node === undefined) return
    const { clock, random } = this.#host
    const waitMs = isFirst
      ? Math.floor(random() * FIRST_JITTER_MS)
      : BACKOFF.baseMs + fullJitter(this.#attempt++, BACKOFF, random)
    this.#retry = clock.after(waitMs, () => this.#connect())
  }
}

/** The option AUTH of HELLO. */
function loginOf({ user = 'default', password }: Credentials): CommandArgument[] {
  return ['AUTH', Buffer.from(user, 'latin1'), Buffer.from(password, 'latin1')]
}

/** Why HELLO was refused, with the remedy. */
function explainHello(message: string, node: Node, login: LinkHost['login']): string {
  const address = nodeText(node)
  const text = shown(message)
  const code = message.split(' ', 1)[0]
  switch (code) {
    case 'WRONGPASS':
      return `${login.password}: ${address} refuses the user or password: correct ${login.user} and the file`
    case 'NOAUTH':
      return `${login.password}: ${address} requires a password: set it, and ${login.user} for a user other than default`
    case 'NOPROTO':
      return `upstream: ${address} does not speak RESP3 (${text}): Redis 7.0 or Valkey is needed`
    case 'NOPERM':
      return `${login.user}: ${address} does not allow this user HELLO (${text}): give it +hello`
    case 'LOADING':
    case 'MASTERDOWN':
      return `upstream: ${address} is not ready: ${text}`
    default:
      if (/unknown command/i.test(message)) {
        return `upstream: ${address} speaks protocol 2 only: Redis 7.0 or Valkey is needed`
      }
      return `upstream: ${address} refuses HELLO: ${text}`
  }
}

function noTls(node: Node): string {
  return `upstream: ${nodeText(node)} does not speak TLS: name its TLS port, or write redis in place of rediss`
}

/** Why a connection failed; where TLS is the reason, with the remedy. */
function explainFailure({ code = '', message }: NodeJS.ErrnoException, node: Node): string {
  const address = nodeText(node)
  switch (code) {
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
      return noTls(node)
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return `upstream-tls-ca-cert-file: the certificate of ${address} comes from an authority that is not trusted (${code}): set the file of that authority`
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `upstream-tls-server-name: the certificate of ${address} is for another name: set the one that it is for`
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return `upstream: the certificate of ${address} is not valid now (${code}): renew it there`
    case 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED':
    case 'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE':
    case 'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE':
    case 'ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN':
    case 'ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED':
    case 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA':
      return `upstream-tls-cert-file: ${address} wants a certificate that it trusts (${code}): set it, and upstream-tls-key-file`
    default:
      return `upstream: ${address}: ${code || message}`
  }
}

function factsOf(node: Node, hello: RespValue, info: RespValue): NodeFacts {
  const fields = new Map<string, string>()
  if (isTagged(hello) && hello.type === 'map') {
    for (const [name, value] of hello.entries) fields.set(textOf(name), textOf(value))
  }
  const lines = new Map<string, string>()
  for (const line of textOf(info).split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) lines.set(line.slice(0, colon), line.slice(colon + 1))
  }
  return {
    node,
    role: fields.get('role') ?? '',
    mode: fields.get('mode') ?? '',
    version: fields.get('version') ?? '',
    info: lines,
  }
}

/** The text of a string of any kind, or of a number; empty for anything else. */
export function textOf(value: RespValue | undefined): string {
  if (typeof value === 'string') return value
  if (value instanceof Uint8Array) return byteString(value)
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  if (value !== undefined && isTagged(value) && value.type === 'verbatim')
    return byteString(value.bytes)
  return ''
}
