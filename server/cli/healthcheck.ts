import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
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
  const url = readinessUrl(config.list('admin-bind'), port, config.boolean('http-tls'))
  try {
    const { status, text } = await ask(url, config)
    process.stdout.write(`${text}\n`)
    return status === 200 ? 0 : 1
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    process.stderr.write(`respcast healthcheck: ${url} does not answer (${code ?? 'timeout'})\n`)
    return 1
  }
}

/** @throws The system's error, or one without a code after the time. */
function ask(url: string, config: Config): Promise<{ status: number; text: string }> {
  const file = (name: 'tls-client-cert-file' | 'tls-client-key-file'): Buffer | undefined =>
    config.text(name) === '' ? undefined : readFileSync(config.path(name))
  const options = {
    signal: AbortSignal.timeout(TIMEOUT_MS),
    // The server is asked at an address that its certificate need not name. Nothing secret is sent, nothing believed but a status.
    rejectUnauthorized: false,
    cert: file('tls-client-cert-file'),
    key: file('tls-client-key-file'),
    passphrase: config.text('tls-client-key-file-pass') || undefined,
  }
  return new Promise((resolve, reject) => {
    const asked = url.startsWith('https:') ? https.get(url, options) : http.get(url, options)
    asked.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.name === 'AbortError' ? new Error('timeout') : error),
    )
    asked.once('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.once('error', reject)
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
  })
}

/**
 * The URL at which a server on this machine is asked whether it is ready.
 *
 * @param binds `admin-bind`.
 */
export function readinessUrl(
  [bind = '127.0.0.1']: readonly string[],
  port: number,
  isTls: boolean,
): string {
  const host = bind
    .replace(/^-/, '')
    .replace(/^(\*|0\.0\.0\.0)$/, '127.0.0.1')
    .replace(/^(::\*|::)$/, '::1')
  return `http${isTls ? 's' : ''}://${hostAndPort(host, port)}/readyz`
}
