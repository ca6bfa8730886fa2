import { mkdtempSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../server/clock.ts'
import { mintToken, type TokenRequest } from '../../../server/token/mint.ts'
import { freePort } from '../free-port.ts'
import { ROOT } from '../process.ts'
import { TEST_AUDIENCE, TEST_ISSUER, TEST_SECRET } from '../server.ts'
import { waitUntil } from './ask-node.ts'
import { Child } from './child.ts'

/** Longest start, on a busy machine. */
const PATIENCE_MS = 60_000

/** How a gateway is started. */
export interface GatewayOptions {
  /** The directive `upstream`; without it the gateway runs alone. */
  readonly upstream?: string
  /** More of its command line. */
  readonly directives?: readonly string[]
  /** The folder of the built program, `dist` by default. */
  readonly dist?: string
  /** Starts without waiting for `/readyz`. */
  readonly isUnready?: boolean
}

/** An answer of `/readyz`. */
export interface Readiness {
  readonly isReady: boolean
  /** The body: reasons in JSON. */
  readonly body: string
}

/** A process of the built server, on free ports of 127.0.0.1, where nobody needs a password over TCP. */
export class GatewayProcess {
  /** RESP over TCP. */
  readonly port: number
  readonly wsUrl: string
  readonly adminPort: number
  readonly #readyUrl: string
  readonly #child: Child
  readonly #dir: string

  private constructor(ports: readonly [number, number, number], dir: string, child: Child) {
    const [resp, http, admin] = ports
    this.port = resp
    this.wsUrl = `ws://127.0.0.1:${http}/ws`
    this.adminPort = admin
    this.#readyUrl = `http://127.0.0.1:${admin}/readyz`
    this.#dir = dir
    this.#child = child
  }

  /** Needs a build. @throws Error It ended, or is not ready within a minute. */
  static async start(options: GatewayOptions = {}): Promise<GatewayProcess> {
    const ports = [await freePort(), await freePort(), await freePort()] as const
    const [resp, http, admin] = ports
    const dir = mkdtempSync(join(tmpdir(), 'respcast-gateway-'))
    const { upstream, directives = [], dist = join(ROOT, 'dist') } = options
    const child = new Child(
      [
        process.execPath,
        '--enable-source-maps',
        join(dist, 'server/main.js'),
        ...['--bind', '127.0.0.1', '--http-bind', '127.0.0.1', '--admin-bind', '127.0.0.1'],
        ...['--port', `${resp}`, '--http-port', `${http}`, '--admin-port', `${admin}`],
        ...['--dir', dir],
        ...(upstream === undefined ? [] : ['--upstream', upstream]),
        ...directives,
      ],
      {
        cwd: dir,
        env: {
          PATH: process.env['PATH'],
          RESPCAST_CONF_JWT_ISSUER: TEST_ISSUER,
          RESPCAST_CONF_JWT_AUDIENCE: TEST_AUDIENCE,
          RESPCAST_CONF_JWT_SECRET: TEST_SECRET.toString(),
        },
      },
      join(dir, 'log'),
    )
    const gateway = new GatewayProcess(ports, dir, child)
    await gateway.start(options.isUnready)
    return gateway
  }

  get isAlive(): boolean {
    return this.#child.isAlive
  }

  get log(): string {
    return this.#child.log
  }

  get pid(): number {
    return this.#child.pid
  }

  /** Starts it, also again on its ports. @param isUnready Does not wait for `/readyz`, only for an answer of it. */
  async start(isUnready = false): Promise<void> {
    this.#child.spawn()
    try {
      await waitUntil(
        `${this.#readyUrl} is ready`,
        async () => {
          if (!this.isAlive) throw new Error(`the gateway ended: ${this.log.slice(-1000)}`)
          const { isReady } = await this.readiness()
          return isReady || isUnready
        },
        PATIENCE_MS,
      )
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** Asks `/readyz`. @throws Error It does not answer within two seconds. */
  readiness(): Promise<Readiness> {
    return new Promise((resolve, reject) => {
      const request = get(this.#readyUrl, { agent: false, timeout: 2_000 }, (response) => {
        let body = ''
        response.on('data', (chunk: Buffer) => (body += chunk.toString()))
        response.once('end', () => resolve({ isReady: response.statusCode === 200, body }))
        response.once('error', reject)
      })
      request.once('timeout', () => request.destroy(new Error('/readyz does not answer')))
      request.once('error', reject)
    })
  }

  /** A token that may do everything on channels, unless it is given other grants. */
  mint(sub: string, grants: TokenRequest['grants'] = { channels: ['*'] }): Promise<string> {
    const request = {
      iss: TEST_ISSUER,
      aud: TEST_AUDIENCE,
      sub,
      claim: 'respcast',
      lifetimeSeconds: 3600,
      grants,
    }
    return mintToken(TEST_SECRET, request, systemClock)
  }

  kill(signal?: NodeJS.Signals): Promise<void> {
    return this.#child.kill(signal)
  }

  pause(): void {
    this.#child.pause()
  }

  resume(): void {
    this.#child.resume()
  }

  /** Ends it, and removes its folder. */
  async stop(): Promise<void> {
    await this.kill()
    rmSync(this.#dir, { recursive: true, force: true })
  }
}
