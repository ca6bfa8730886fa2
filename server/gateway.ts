import type { FastifyInstance } from 'fastify'
import { bindAddress, hostAndPort } from './addresses.ts'
import { CLOSES, closeWith } from './client/close.ts'
import { atEndOfTurn, systemClock, type Clock } from './clock.ts'
import type { Config } from './config/store.ts'
import { RespcastError } from './errors.ts'
import { Core } from './core.ts'
import { readPem, TLS_DIRECTIVES, tlsOptions } from './transport/tls.ts'
import { createAdminApp } from './http/admin.ts'
import { createPublicApp } from './http/public.ts'
import type { HttpTls } from './http/server.ts'
import type { Logger } from './log.ts'
import { KeepAlive } from './transport/keep-alive.ts'
import { listenTcp, type Listener, type TcpEndpoint } from './transport/tcp.ts'

/** Options of a gateway. */
interface GatewayParts {
  readonly config: Config
  readonly log: Logger
  readonly clock?: Clock
  /** SHUTDOWN was called; the default stops the gateway. */
  readonly onShutdown?: () => void
  /** A port of 0 is any free port instead of none: for tests and for embedding. */
  readonly anyPort?: boolean
  /** The application opens the HTTP listeners. */
  readonly withoutHttp?: boolean
}

/** Addresses of a started gateway. */
export interface GatewayAddresses {
  /** RESP over TCP and TLS, and Unix sockets. */
  readonly resp: readonly Listener[]
  /** Ports of the HTTP listeners; undefined where one is off. */
  readonly http: number | undefined
  readonly admin: number | undefined
}

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
  readonly #apps: FastifyInstance[] = []
  readonly #anyPort: boolean
  readonly #withoutHttp: boolean
  #stopping: Promise<void> | undefined

  /** @throws RespcastError The configuration cannot be used. */
  constructor(parts: GatewayParts) {
    const { config, log } = parts
    this.#clock = parts.clock ?? systemClock
    this.#log = log
    this.#anyPort = parts.anyPort ?? false
    this.#withoutHttp = parts.withoutHttp ?? false
    this.core = new Core({
      config,
      log,
      clock: this.#clock,
      fetch: (url, init) => fetch(url, init),
      random: Math.random,
      atEndOfTurn,
      shutdown: parts.onShutdown ?? (() => void this.stop()),
    })
    this.keepAlive = new KeepAlive(this.#clock, config, Math.random)
  }

  /**
   * Opens all listeners, or none.
   *
   * @throws RespcastError `ERR_LISTEN` names the port, the directive and the remedy; `ERR_CONFIG` a key file.
   */
  async start(): Promise<GatewayAddresses> {
    try {
      await this.core.start()
      await this.#openResp()
      const http = await this.#openHttp('http-port', () => this.#publicApp())
      const admin = await this.#openHttp('admin-port', () =>
        createAdminApp(this.core, this.keepAlive),
      )
      return { resp: this.#listeners, http, admin }
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /**
   * Ends in good order: admits no connection, closes WebSockets with 4503, and lets clients read their output for at most
   * three seconds. May be called again, with the same promise.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    const { admission, clients } = this.core
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
    await Promise.all(this.#apps.map((app) => app.close()))
    this.core.stop()
  }

  async #openResp(): Promise<void> {
    this.core.config.onChange(TLS_DIRECTIVES, () => this.#reloadTls())
    for (const { endpoint, directive, optional } of this.#endpoints()) {
      try {
        this.#listeners.push(await listenTcp(endpoint, this.core))
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
    for (const text of config.list('bind')) {
      const { host, optional } = bindAddress(text)
      const port = config.integer('port')
      if (port > 0 || this.#anyPort) {
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
          tls: tlsOptions(this.core.config),
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

  /** Certificates are renewed under a running server: CONFIG SET tls-cert-file with the same name reads it again. */
  #reloadTls(): string | undefined {
    if (this.core.config.integer('tls-port') === 0) return undefined
    try {
      for (const listener of this.#listeners) listener.setTls(tlsOptions(this.core.config))
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }

  #publicApp(): Promise<FastifyInstance> {
    const { config } = this.core
    const tls: HttpTls | undefined = config.boolean('http-tls')
      ? {
          cert: readPem(config.path('tls-cert-file'), 'tls-cert-file'),
          key: readPem(config.path('tls-key-file'), 'tls-key-file'),
        }
      : undefined
    return createPublicApp(this.core, this.keepAlive, tls)
  }

  async #openHttp(
    directive: 'http-port' | 'admin-port',
    create: () => Promise<FastifyInstance>,
  ): Promise<number | undefined> {
    const { config } = this.core
    const port = config.integer(directive)
    if (this.#withoutHttp || (port === 0 && !this.#anyPort)) return undefined
    const addresses = config.list(directive === 'http-port' ? 'http-bind' : 'admin-bind')
    let bound: number | undefined
    for (const text of addresses) {
      const { host, optional } = bindAddress(text)
      const app = await create()
      this.#apps.push(app)
      try {
        await app.listen({ host, port })
        bound ??= portOf(app)
      } catch (error) {
        if (optional && isAddressMissing(error)) continue
        throw explainListen(error, directive, hostAndPort(host, port))
      }
    }
    this.#log.debug({ directive, port: bound }, 'HTTP listener open')
    return bound
  }
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
