import { hostAndPort } from '../addresses.ts'
import { loadConfig } from '../config/load.ts'
import { Config } from '../config/store.ts'

/** Time for the answer, in ms. */
const TIMEOUT_MS = 3_000

/**
 * `respcast healthcheck [file] [--directive value ...]`: asks the administrators' listener of a running server whether it is
 * ready; for containers and service managers.
 *
 * @returns The exit code: 0 if it is.
 */
export async function healthcheck(argv: readonly string[]): Promise<number> {
  const config = new Config(loadConfig({ argv, env: process.env, cwd: process.cwd() }))
  const port = config.integer('admin-port')
  if (port === 0) {
    process.stderr.write('respcast healthcheck: admin-port is 0, there is nobody to ask\n')
    return 2
  }
  const url = readinessUrl(config.list('admin-bind'), port)
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    process.stdout.write(`${await response.text()}\n`)
    return response.ok ? 0 : 1
  } catch (error) {
    const { cause } = error as { cause?: NodeJS.ErrnoException }
    process.stderr.write(
      `respcast healthcheck: ${url} does not answer (${cause?.code ?? 'timeout'})\n`,
    )
    return 1
  }
}

/**
 * The URL at which a server on this machine is asked whether it is ready.
 *
 * @param binds `admin-bind`.
 */
export function readinessUrl([bind = '127.0.0.1']: readonly string[], port: number): string {
  const host = bind.replace(/^-/, '').replace(/^(\*|0\.0\.0\.0)$/, '127.0.0.1')
  return `http://${hostAndPort(host, port)}/readyz`
}
