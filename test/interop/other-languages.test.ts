import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeCertificates, type Certificates } from '../support/certificates.ts'
import { findProgram } from '../support/redis-servers.ts'
import { eventually } from './collect.ts'
import { Endpoint, requireInCi, WAYS, type Way } from './endpoint.ts'
import { endProgram, runProgram } from './run-program.ts'

const PYTHON = '/usr/bin/python3'
const hasOpenssl = requireInCi(findProgram('openssl') !== undefined, 'openssl')
const hasHiredis = requireInCi(
  findProgram('cc') !== undefined && existsSync('/usr/include/hiredis/hiredis.h'),
  'hiredis with its headers (libhiredis-dev), or a C compiler',
)
const hasRedisPy = requireInCi(
  spawnSync(PYTHON, ['-c', 'import redis']).status === 0,
  "Python's redis (python3-redis)",
)

let certificates: Certificates
let dir: string

beforeAll(() => {
  if (hasOpenssl) certificates = makeCertificates()
  dir = mkdtempSync(join(tmpdir(), 'respcast-hiredis-'))
})

afterAll(() => {
  if (hasOpenssl) certificates.remove()
  rmSync(dir, { recursive: true, force: true })
})

/** Starts the client with `subscribe` or `publish` and what follows. */
type Start = (...args: readonly string[]) => ReturnType<typeof runProgram>

async function publishing(start: Start, message: string): Promise<string> {
  const publisher = start('publish', 'news', message)
  await publisher.ended
  return publisher.output()
}

/** Subscribes, publishes, restarts the server, publishes again and ends the subscriber by a message. */
async function expectSession(endpoint: Endpoint, start: Start): Promise<void> {
  const subscriber = start('subscribe', 'news')
  const control = await endpoint.control()
  await eventually(
    () => control.ask('PUBSUB', 'NUMSUB', 'news'),
    (reply) => reply.endsWith(':1\r\n'),
  )
  control.close()
  expect(await publishing(start, 'one')).toBe('1\n')
  await eventually(
    async () => subscriber.output(),
    (text) => text === 'message one\n',
  )
  await endpoint.stop()
  await endpoint.start()
  const again = await endpoint.control()
  await eventually(
    () => again.ask('PUBLISH', 'news', 'two'),
    (reply) => reply === ':1\r\n',
  )
  again.close()
  expect(await publishing(start, 'quit')).toBe('1\n')
  expect(await subscriber.ended).toBe(0)
  expect(subscriber.output()).toBe('message one\nmessage two\nmessage quit\n')
  await endProgram(subscriber)
}

describe.skipIf(!hasHiredis || !hasOpenssl)('hiredis', () => {
  let program: string

  beforeAll(() => {
    program = join(dir, 'hiredis-client')
    const source = join(import.meta.dirname, 'hiredis-client.c')
    execFileSync('cc', ['-O1', '-Wall', '-o', program, source, '-lhiredis'], { stdio: 'pipe' })
  })

  test.each(['TCP', 'a Unix socket'] as const)(
    'subscribes, publishes, and subscribes again after a restart: RESP2 over %s',
    async (way) => {
      const endpoint = await Endpoint.open(certificates)
      const address =
        way === 'TCP' ? ['tcp', String(endpoint.tcpPort)] : ['unix', endpoint.socketPath]
      await expectSession(endpoint, (action = '', ...args) =>
        runProgram(program, [action, ...address, ...args]),
      )
      await endpoint.close()
    },
  )
})

describe.skipIf(!hasRedisPy || !hasOpenssl)("Python's redis", () => {
  const script = join(import.meta.dirname, 'redis_py_client.py')

  function addressOf(endpoint: Endpoint, way: Way, certified = false): string {
    const { ca, client } = endpoint.certificates
    const own = certified ? { ssl_certfile: client.cert, ssl_keyfile: client.key } : {}
    const tls = { host: '127.0.0.1', port: endpoint.tlsPort, ssl: true, ssl_ca_certs: ca, ...own }
    if (way === 'TLS') return JSON.stringify(tls)
    return JSON.stringify(
      way === 'TCP'
        ? { host: '127.0.0.1', port: endpoint.tcpPort }
        : { unix_socket_path: endpoint.socketPath },
    )
  }

  function starter(address: string): Start {
    return (action = '', ...args) => runProgram(PYTHON, [script, action, address, ...args])
  }

  test.each(WAYS)(
    'subscribes, publishes, and subscribes again after a restart: RESP2 over %s',
    async (way) => {
      const endpoint = await Endpoint.open(certificates)
      await expectSession(endpoint, starter(addressOf(endpoint, way)))
      await endpoint.close()
    },
  )

  test('shows its certificate where TLS asks for one, and is refused without', async () => {
    const endpoint = await Endpoint.open(certificates, true)
    expect(await publishing(starter(addressOf(endpoint, 'TLS', true)), 'x')).toBe('0\n')
    expect(await publishing(starter(addressOf(endpoint, 'TLS')), 'x')).toMatch(/Error/)
    await endpoint.close()
  })
})
