import type { FastifyRequest } from 'fastify'
import type { Identity } from '../acl/authorize.ts'
import { hostAndPort, LocalAddress } from '../addresses.ts'
import { CLOSES } from '../client/close.ts'
import type { Core } from '../core.ts'
import type { Publisher } from '../transport/publisher.ts'
import { connectPublisher } from '../transport/reception.ts'
import { authenticate, NO_AUTH } from './authenticate.ts'
import { basicOf } from './credentials.ts'
import { refusalOfRate, rejectionRefusal, tokenOf, type Entrance } from './entrance.ts'
import { failureOf, failureOfLine, type Failure } from './failure.ts'

/** The publisher of a connection, as long as its requests bring the same credentials. */
interface Lasting {
  /** The headers that it logged in with. */
  readonly credentials: string
  /** The peer, behind a trusted proxy too. */
  readonly ip: string
  readonly publisher: Publisher
  /** Undefined until it has logged in. */
  identity: Identity | undefined
  /** The failure of its login, once that is over. */
  readonly login: Promise<Failure | undefined>
}

/**
 * Logs requests in. One login serves a connection (keep-alive) until the credentials change, the session is revoked or expires, or
 * its grants change: then the next request logs in anew, and learns why it cannot.
 */
export class Publishers {
  readonly #entrance: Entrance
  readonly #core: Core
  readonly #local = new LocalAddress()
  readonly #bySocket = new WeakMap<object, Lasting>()

  constructor(entrance: Entrance) {
    this.#entrance = entrance
    this.#core = entrance.core
  }

  /** The publisher of a request, if its connection has one that may serve it. */
  known(request: FastifyRequest, ip: string): Publisher | undefined {
    const lasting = this.#bySocket.get(request.raw.socket)
    if (lasting === undefined || lasting.identity === undefined) return undefined
    return this.#serves(lasting, request, ip) ? lasting.publisher : undefined
  }

  /** Logs a request in. */
  async login(request: FastifyRequest, ip: string): Promise<Publisher | Failure> {
    const { socket } = request.raw
    const before = this.#bySocket.get(socket)
    if (before !== undefined && this.#serves(before, request, ip)) {
      return (await before.login) ?? before.publisher
    }
    before?.publisher.end()
    const credentials = credentialsOf(request)
    const hasAny =
      tokenOf(request, this.#core, { query: false }) !== undefined ||
      basicOf(request.headers.authorization) !== undefined
    if (!hasAny) return failureOfLine(NO_AUTH)
    const refusal = this.#refusal(request, ip)
    if (refusal) return refusal
    const publisher = connectPublisher(this.#core, {
      listener: 'public',
      address: hostAndPort(ip, socket.remotePort ?? 0),
      localAddress: this.#local.of(socket),
      origin: request.headers.origin,
    })
    const login = authenticate(this.#core, request, publisher.client, { query: false })
    const lasting: Lasting = { credentials, ip, publisher, identity: undefined, login }
    if (before === undefined) {
      socket.once('close', () => this.#bySocket.get(socket)?.publisher.peerClosed())
    }
    this.#bySocket.set(socket, lasting)
    const failure = await login
    if (failure) {
      publisher.client.close(CLOSES.quit)
      return failure
    }
    lasting.identity = publisher.client.identity
    return publisher
  }

  #serves(lasting: Lasting, request: FastifyRequest, ip: string): boolean {
    const { client } = lasting.publisher
    if (client.closed || lasting.ip !== ip || lasting.credentials !== credentialsOf(request)) {
      return false
    }
    if (lasting.identity === undefined) return true
    const { identity } = client
    // Whatever has changed about it, a login decides with which grants it goes on, if it does.
    if (identity !== lasting.identity) return false
    return identity.token === undefined || identity.token.expiresAtMs > this.#core.clock.wallMs()
  }

  #refusal(request: FastifyRequest, ip: string): Failure | undefined {
    const tooFast = refusalOfRate(request, ip, this.#entrance)
    if (tooFast) return failureOf(tooFast)
    const rejection = this.#core.admission.admit({ transport: 'http', ip, listener: 'public' })
    return rejection && failureOf(rejectionRefusal(rejection))
  }
}

/** What a login depends on. */
function credentialsOf({ headers }: FastifyRequest): string {
  return headers.cookie === undefined
    ? (headers.authorization ?? '')
    : `${headers.authorization ?? ''}\n${headers.cookie}`
}
