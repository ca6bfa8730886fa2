import type { FastifyInstance } from 'fastify'
import { bindAddress, hostAndPort, isLoopback, leavesLoopback } from './addresses.ts'
import { CLOSES, closeWith } from './client/close.ts'
import { atEndOfTurn, systemClock, type Clock } from './clock.ts'
import { TLS_DIRECTIVES, tlsListeners, type AuthDirective } from './config/listeners.ts'
import { readMetricsToken } from './config/metrics-token.ts'
import type { DirectiveName } from './config/directives.ts'
import type { Settings } from './config/settings.ts'
import type { Config } from './config/store.ts'
import { RespcastError } from './errors.ts'
import { Core } from './core.ts'
import { changeTls, tlsOptions, type ServerTls } from './transport/tls.ts'
import { createAdminApp } from './http/admin.ts'
import { createPublicApp } from './http/public.ts'
import type { InheritedSockets, ListenerName } from './inherited-sockets.ts'
import type { Logger } from './log.ts'
import { nodeAddresses, type Bound, type NodeAddresses } from './node-facts.ts'
import { KeepAlive } from './transport/keep-alive.ts'
import { fitOpenFiles, openFilesLimit } from './config/open-files.ts'
import { WaitingSockets } from './transport/waiting-sockets.ts'
import { listenTcp, type Listener, type TcpEndpoint } from './transport/tcp.ts'

/** Options of a gateway. */
interface GatewayParts {
  readonly config: Config
  readonly log: Logger
  readonly clock?: Clock
  /** SHUTDOWN was called, or a drain is over; the default stops the gateway. */
  readonly onShutdown?: () => void
  /** A port of 0 is any free port instead of none: for tests and for embedding. */
  readonly anyPort?: boolean
  /** The application opens the HTTP listeners. */
  readonly withoutHttp?: boolean
  /** Sockets that listen already, and take the place of those that directives name. */
  readonly sockets?: InheritedSockets | undefined
  /** The limit of open files; the default asks the system. */
  readonly openFiles?: number
}

/** Addresses of a started gateway. */
export interface GatewayAddresses {
  /** RESP over TCP and TLS, and Unix sockets. */
  readonly resp: readonly Listener[]
  /** Ports of the HTTP listeners; undefined where one is off. */
  readonly http: number | undefined
  readonly admin: number | undefined
}

/** The HTTP listeners, with the directive about certificates of their clients. */
const HTTP_AUTH = {
  public: 'http-tls-auth-clients',
  admin: 'admin-tls-auth-clients',
} as const satisfies Readonly<Record<string, AuthDirective>>

type HttpListener = keyof typeof HTTP_AUTH

/** The directives about where a listener is, and to whom it is open. */
const PLACES = {
  resp: { port: 'port', bind: 'bind' },
  http: { port: 'http-port', bind: 'http-bind' },
  admin: { port: 'admin-port', bind: 'admin-bind' },
} as const satisfies Readonly<Record<ListenerName, { port: DirectiveName; bind: DirectiveName }>>

/** The HTTP listeners by the names of their sockets. */
const SOCKET_NAMES = {
  public: 'http',
  admin: 'admin',
} as const satisfies Readonly<Record<HttpListener, ListenerName>>

const NO_SOCKETS: InheritedSockets = { resp: [], http: [], admin: [] }

/** Time that clients have to read their output when the server ends, in ms. */
const DRAIN_MS = 3_000

/** Span over which reconnects of WebSockets are spread, in ms. */
const RECONNECT_SPREAD_MS = 5_000

/** The whole server: the core and its listeners, and the order in which they start and stop. */
export class Gateway {
  readonly core: Core
  readonly #clock: Clock
  readonly #log: Logger
  readonly keepAlive: KeepAlive
  readonly #listeners: Listener[] = []
  readonly #bound: Readonly<Record<keyof NodeAddresses, Bound[]>> = {
    resp: [],
    http: [],
    admin: [],
  }
  readonly #apps: { readonly listener: HttpListener; readonly app: FastifyInstance }[] = []
  readonly #anyPort: boolean
  readonly #withoutHttp: boolean
  readonly #sockets: InheritedSockets
  readonly #waiting: Readonly<Record<HttpListener, WaitingSockets>>
  #metricsToken: string | undefined
  #stopping: Promise<void> | undefined

  /** @throws RespcastError The configuration cannot be used. */
  constructor(parts: GatewayParts) {
    const { config, log } = parts
    this.#clock = parts.clock ?? systemClock
    this.#log = log
    this.#anyPort = parts.anyPort ?? false
    this.#withoutHttp = parts.withoutHttp ?? false
    this.#sockets = parts.sockets ?? NO_SOCKETS
    const openFiles = parts.openFiles ?? openFilesLimit()
    const lowered = openFiles === undefined ? undefined : fitOpenFiles(config, openFiles)
    if (lowered !== undefined) log.warn(lowered)
    this.core = new Core({
      config,
      log,
      clock: this.#clock,
      fetch: (url, init) => fetch(url, init),
      random: Math.random,
      atEndOfTurn,
      shutdown: parts.onShutdown ?? (() => void this.stop()),
      stopListening: () => this.#stopListening(),
    })
    this.keepAlive = new KeepAlive(this.#clock, config, Math.random)
    const { http } = this.core.counters
    this.#waiting = {
      public: new WaitingSockets(() => config.integer('http-max-connections'), http.public),
      admin: new WaitingSockets(() => config.integer('admin-max-connections'), http.admin),
    }
  }

  /**
   * Opens all listeners, or none: no peer is answered before the last of them is open.
   *
   * @throws RespcastError `ERR_LISTEN` names the port, the directive and the remedy; `ERR_CONFIG` a key file.
   */
  async start(): Promise<GatewayAddresses> {
    try {
      await this.core.start()
      this.#followTls()
      this.#followMetricsToken()
      await this.#openResp()
      const http = await this.#openHttp('public')
      const admin = await this.#openHttp('admin')
      this.core.addresses = nodeAddresses(this.core.config, this.#bound)
      this.core.admission.open()
      return { resp: this.#listeners, http, admin }
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /**
   * Ends at once, in good order: admits no connection, closes WebSockets with 4503, and lets clients read their output for at most
   * three seconds. May be called again, with the same promise.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    const { admission, clients, drain } = this.core
    drain.stop()
    admission.close()
    for (const listener of this.#listeners) listener.close()
    const leaving = [...clients.all()]
    for (const client of leaving) {
      const retryMs = Math.floor(Math.random() * RECONNECT_SPREAD_MS)
      client.close(closeWith(CLOSES.draining, { retryMs }))
    }
    const timer = this.#clock.after(DRAIN_MS, () => {
      for (const client of leaving) client.output.terminate()
    })
    await clients.drained()
    timer.cancel()
    await Promise.all(this.#apps.map(({ app }) => app.close()))
    await this.core.stop()
  }

  /** A balancer that still sends somebody here finds a closed port, and tries another. */
  #stopListening(): void {
    for (const listener of this.#listeners) listener.close()
    for (const { listener, app } of this.#apps) if (listener === 'public') app.server.close()
  }

  async #openResp(): Promise<void> {
    for (const { endpoint, directive, optional } of this.#endpoints()) {
      try {
        const listener = await listenTcp(endpoint, this.core)
        this.#listeners.push(listener)
        if (endpoint.kind === 'tcp' && endpoint.descriptor !== undefined)
          this.#requireAllowed('resp', listener)
        if (endpoint.kind !== 'unix') {
          this.#bound.resp.push({ host: listener.host, port: listener.port })
        }
      } catch (error) {
        if (optional && isAddressMissing(error)) continue
        throw explainListen(error, directive)
      }
    }
  }

  #endpoints(): { endpoint: TcpEndpoint; directive: string; optional: boolean }[] {
    const { config } = this.core
    const backlog = config.integer('tcp-backlog')
    const endpoints: { endpoint: TcpEndpoint; directive: string; optional: boolean }[] = []
    for (const descriptor of this.#sockets.resp) {
      const endpoint = { kind: 'tcp', host: '', port: 0, backlog, descriptor } as const
      endpoints.push({ endpoint, directive: 'port', optional: false })
    }
    for (const text of config.list('bind')) {
      const { host, optional } = bindAddress(text)
      const port = config.integer('port')
      if (this.#sockets.resp.length === 0 && (port > 0 || this.#anyPort)) {
        endpoints.push({
          endpoint: { kind: 'tcp', host, port, backlog },
          directive: 'port',
          optional,
        })
      }
      const tlsPort = config.integer('tls-port')
      if (tlsPort > 0) {
        const endpoint = {
          kind: 'tls',
          host,
          port: tlsPort,
          backlog,
          tls: tlsOptions(this.core.config, 'tls-auth-clients'),
        } as const
        endpoints.push({ endpoint, directive: 'tls-port', optional })
      }
    }
    const path = config.path('unixsocket')
    if (path !== '') {
      const mode = config.integer('unixsocketperm')
      endpoints.push({
        endpoint: { kind: 'unix', path, mode },
        directive: 'unixsocket',
        optional: false,
      })
    }
    return endpoints
  }

  /**
   * Certificates are renewed under a running server: CONFIG SET tls-cert-file with the same name, or SIGHUP, reads it again. What
   * was read is put in force when the whole change is final, so that one that is refused changes nothing.
   */
  #followTls(): void {
    const { config } = this.core
    let next = new Map<AuthDirective, ServerTls>()
    config.onChange(TLS_DIRECTIVES, (settings) => {
      try {
        next = tlsOfListeners(settings)
        return undefined
      } catch (error) {
        return (error as Error).message
      }
    })
    config.afterChange(TLS_DIRECTIVES, () => {
      const resp = next.get('tls-auth-clients')
      if (resp) for (const listener of this.#listeners) listener.setTls(resp)
      for (const { listener, app } of this.#apps) {
        const tls = next.get(HTTP_AUTH[listener])
        if (tls) changeTls(app.server, tls)
      }
    })
  }

  #createApp(listener: HttpListener): Promise<FastifyInstance> {
    const { core, keepAlive } = this
    const tls = core.config.boolean('http-tls')
      ? tlsOptions(core.config, HTTP_AUTH[listener])
      : undefined
    const waiting = this.#waiting[listener]
    return listener === 'public'
      ? createPublicApp(core, keepAlive, waiting, tls)
      : createAdminApp(core, keepAlive, waiting, tls, () => this.#metricsToken)
  }

  /** Serves HTTP on sockets that listen already. @returns The port of the first. */
  async #takeHttp(listener: HttpListener, descriptors: readonly number[]): Promise<number> {
    const name = SOCKET_NAMES[listener]
    const bound = this.#bound[name]
    for (const fd of descriptors) {
      const app = await this.#createApp(listener)
      this.#apps.push({ listener, app })
      // With a descriptor the runtime looks at nothing else. Fastify would open a second server for the host `localhost`.
      const options = { fd, host: '127.0.0.1' }
      try {
        await app.listen(options)
      } catch (error) {
        throw explainListen(error, PLACES[name].port, `descriptor ${fd}`)
      }
      const address = app.server.address()
      if (address === null || typeof address === 'string') {
        const text = `${PLACES[name].port}: descriptor ${fd} is no TCP socket`
        throw new RespcastError('ERR_LISTEN', text)
      }
      const place = { host: address.address, port: address.port }
      this.#requireAllowed(name, place)
      bound.push(place)
    }
    return bound[0]?.port ?? 0
  }

  /**
   * A socket that was handed over is no way around what is required beyond loopback: the directives judge that.
   *
   * @throws RespcastError `ERR_LISTEN`: it is where its directives do not lead.
   */
  #requireAllowed(listener: ListenerName, { host, port }: Bound): void {
    const { config } = this.core
    const place = PLACES[listener]
    const where = hostAndPort(host, port)
    const say = (directive: string, problem: string): never => {
      throw new RespcastError(
        'ERR_LISTEN',
        `${directive}: the socket '${listener}' on ${where} was handed over, ${problem}`,
      )
    }
    if (config.integer(place.port) === 0 && !this.#anyPort)
      say(place.port, `and 0 turns this listener off. Set ${place.port} ${port}.`)
    if (!isLoopback(host) && !leavesLoopback(config.list(place.bind)))
      say(
        place.bind,
        `which is beyond loopback. Set ${place.bind} ${host}, or have it listen on 127.0.0.1.`,
      )
  }

  #followMetricsToken(): void {
    const { config } = this.core
    this.#metricsToken = readMetricsToken(config)
    let next: string | undefined
    config.onChange(['metrics-token', 'metrics-token-file'], (settings) => {
      try {
        next = readMetricsToken(settings)
        return undefined
      } catch (error) {
        return (error as Error).message
      }
    })
    config.afterChange(['metrics-token', 'metrics-token-file'], () => {
      this.#metricsToken = next
    })
  }

  async #openHttp(listener: HttpListener): Promise<number | undefined> {
    const { config } = this.core
    const name = SOCKET_NAMES[listener]
    const { port: directive, bind } = PLACES[name]
    const port = config.integer(directive)
    const handedOver = this.#sockets[name]
    if (handedOver.length > 0) return this.#takeHttp(listener, handedOver)
    if (this.#withoutHttp || (port === 0 && !this.#anyPort)) return undefined
    let bound: number | undefined
    for (const text of config.list(bind).flatMap(eachAddress)) {
      const { host, optional } = bindAddress(text)
      const app = await this.#createApp(listener)
      this.#apps.push({ listener, app })
      try {
        // Any free port is the same one on every address.
        await app.listen({ host, port: port === 0 ? (bound ?? 0) : port })
        bound ??= portOf(app)
        this.#bound[name].push({ host, port: bound })
      } catch (error) {
        if (optional && isAddressMissing(error)) continue
        throw explainListen(error, directive, hostAndPort(host, port))
      }
    }
    this.#log.debug({ directive, port: bound }, 'HTTP listener open')
    return bound
  }
}

function tlsOfListeners(settings: Settings): Map<AuthDirective, ServerTls> {
  return new Map(tlsListeners(settings).map((auth) => [auth, tlsOptions(settings, auth)]))
}

/**
 * Reads the certificates of every listener that speaks TLS, and opens none.
 *
 * @throws RespcastError `ERR_CONFIG`: they cannot be used.
 */
export function checkTls(settings: Settings): void {
  tlsOfListeners(settings)
}

/** `localhost` may be two addresses. Fastify would open a second server for the other, without this server's limits. */
function eachAddress(text: string): string[] {
  return text === 'localhost' ? ['127.0.0.1', '-::1'] : [text]
}

function systemCode(error: unknown): string {
  const cause = error instanceof RespcastError ? error.cause : error
  return (cause as NodeJS.ErrnoException | undefined)?.code ?? ''
}

function isAddressMissing(error: unknown): boolean {
  return ['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EPROTONOSUPPORT'].includes(systemCode(error))
}

/**
 * Explains why a listener could not be opened, with port, directive and remedy. Errors that are not the system's are
 * returned as they are.
 *
 * @param where Its address; an error of a RESP listener names it already.
 */
export function explainListen(error: unknown, directive: string, where = ''): unknown {
  const code = systemCode(error)
  if (code === '') return error
  const message =
    error instanceof RespcastError ? error.message : `cannot listen on ${where}: ${code}`
  const remedy =
    code === 'EADDRINUSE'
      ? `Something else listens there. Pass another: --${directive} <port>, or 0 to turn this listener off.`
      : code === 'EACCES'
        ? `This user may not. Pass a port above 1023: --${directive} <port>.`
        : `Check the directive ${directive} and the address it goes with.`
  return new RespcastError('ERR_LISTEN', `${directive}: ${message}. ${remedy}`, { cause: error })
}

function portOf(app: FastifyInstance): number {
  const address = app.server.address()
  return address !== null && typeof address === 'object' ? address.port : 0
}
