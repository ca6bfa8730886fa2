import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock, type Clock } from '../../server/clock.ts'
import { loadConfig } from '../../server/config/load.ts'
import { Config } from '../../server/config/store.ts'
import type { Core } from '../../server/core.ts'
import { Gateway } from '../../server/gateway.ts'
import { openLog, silentLog } from '../../server/log.ts'
import { mintToken, type TokenRequest } from '../../server/token/mint.ts'
import { argvOf, type Directives } from './settings.ts'

/** Options of a test's server. */
export interface ServerOptions {
  readonly directives?: Directives
  /** Without an issuer nobody can log in by token. */
  readonly issuer?: boolean
  readonly clock?: Clock
  /** A file that gets the log. */
  readonly logFile?: string
}

/** Name, audience and key of the default issuer of test servers. */
export const TEST_ISSUER = 'https://issuer.test'
export const TEST_AUDIENCE = 'respcast-test'
export const TEST_SECRET = Buffer.from('0123456789abcdef0123456789abcdef-test')

/** A server that runs in this process, on ports of its own. */
export interface TestGateway {
  readonly core: Core
  readonly gateway: Gateway
  /** RESP port on 127.0.0.1. */
  readonly port: number
  readonly httpPort: number
  readonly adminPort: number
  readonly url: string
  readonly wsUrl: string
  /** The folder that `dir` names. */
  readonly dir: string
  /** A token of the default issuer. */
  mint(
    sub: string,
    grants?: TokenRequest['grants'],
    more?: Partial<Pick<TokenRequest, 'lifetimeSeconds' | 'jti' | 'claims'>>,
  ): Promise<string>
  stop(): Promise<void>
}

/** Starts a server with a fresh data folder. Stop it, whatever happens. */
export async function startServer(options: ServerOptions = {}): Promise<TestGateway> {
  const dir = mkdtempSync(join(tmpdir(), 'respcast-'))
  const argv = ['--bind', '127.0.0.1', '--dir', dir]
  const env: Record<string, string> = {}
  if (options.issuer ?? true) {
    argv.push('--jwt-issuer', TEST_ISSUER, '--jwt-audience', TEST_AUDIENCE)
    env['RESPCAST_CONF_JWT_SECRET'] = TEST_SECRET.toString()
  }
  argv.push(...argvOf(options.directives ?? {}))
  for (const name of ['port', 'http-port', 'admin-port']) {
    if (!argv.includes(`--${name}`)) argv.push(`--${name}`, '0')
  }
  for (const name of ['http-bind', 'admin-bind']) {
    if (!argv.includes(`--${name}`)) argv.push(`--${name}`, '127.0.0.1')
  }
  const config = new Config(loadConfig({ argv, env, cwd: dir }))
  const clock = options.clock ?? systemClock
  const log =
    options.logFile === undefined ? silentLog() : openLog('debug', options.logFile, systemClock).log
  const gateway = new Gateway({ config, log, clock, anyPort: true })
  const { resp, http = 0, admin = 0 } = await gateway.start()
  return {
    core: gateway.core,
    gateway,
    port: resp[0]?.port ?? 0,
    httpPort: http,
    adminPort: admin,
    url: `http://127.0.0.1:${http}`,
    wsUrl: `ws://127.0.0.1:${http}/ws`,
    dir,
    mint: (sub, grants = {}, more = {}) =>
      mintToken(
        TEST_SECRET,
        {
          iss: TEST_ISSUER,
          aud: TEST_AUDIENCE,
          sub,
          claim: 'respcast',
          lifetimeSeconds: 3600,
          grants,
          ...more,
        },
        clock,
      ),
    stop: async () => {
      await gateway.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
