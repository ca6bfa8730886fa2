import { findProgram, startRedisServer } from './redis-servers.ts'
import { connectRaw } from './resp-client.ts'

/** Which server the oracle is: the rules depend on it. */
export interface OracleIdentity {
  readonly server: 'redis' | 'valkey'
  /** `8.0.1` */
  readonly version: string
}

/** A running Redis or Valkey whose answers are taken as the right ones. */
export interface Oracle {
  readonly host: string
  readonly port: number
  readonly identity: OracleIdentity
  stop(): Promise<void>
}

/**
 * Starts `valkey-server`, or takes the server that the environment names as `RESPCAST_ORACLE=host:port`: Redis from 7.2 or
 * Valkey from 8.0. Its users and its settings are changed.
 *
 * @returns Undefined where none is installed, unless `CI` is `true`.
 * @throws Error None is installed in CI, or it does not answer.
 */
export async function openOracle(): Promise<Oracle | undefined> {
  const named = /^(.+):(\d+)$/.exec(process.env['RESPCAST_ORACLE'] ?? '')
  if (named) {
    const [, host = '', port = ''] = named
    return {
      host,
      port: Number(port),
      identity: await identify(host, Number(port)),
      stop: async () => {},
    }
  }
  const program = findProgram('valkey-server')
  if (program === undefined) {
    const message = 'valkey-server is not installed, and RESPCAST_ORACLE=host:port is not set'
    if (process.env['CI'] === 'true') throw new Error(message)
    process.stderr.write(`differential tests are left out: ${message}\n`)
    return undefined
  }
  const server = await startRedisServer(program)
  return { ...server, identity: await identify(server.host, server.port) }
}

/** Compares versions number by number: negative when `a` is the older one. */
export function compareVersions(a: string, b: string): number {
  const left = a.split('.').map(Number)
  const right = b.split('.').map(Number)
  for (let i = 0; i < 3; i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** Which server answers at an address. */
export async function identify(host: string, port: number): Promise<OracleIdentity> {
  const client = await connectRaw(port, host)
  try {
    client.command('INFO', 'server')
    client.command('ECHO', 'end-of-info')
    const info = await client.takeUntil('end-of-info\r\n')
    const [, valkey] = /valkey_version:([\d.]+)/.exec(info) ?? []
    const [, redis = ''] = /redis_version:([\d.]+)/.exec(info) ?? []
    return valkey === undefined
      ? { server: 'redis', version: redis }
      : { server: 'valkey', version: valkey }
  } finally {
    client.destroy()
  }
}
