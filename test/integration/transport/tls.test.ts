import { once } from 'node:events'
import { connect as connectPlain } from 'node:net'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import { join } from 'node:path'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { healthcheck } from '../../../server/cli/healthcheck.ts'
import { reloadConfiguration } from '../../../server/cli/configuration.ts'
import { loadConfig } from '../../../server/config/load.ts'
import { Config } from '../../../server/config/store.ts'
import { Gateway } from '../../../server/gateway.ts'
import { silentLog } from '../../../server/log.ts'
import { makeCertificates, type Certificates, type KeyPair } from '../../support/certificates.ts'
import { folderWith } from '../../support/folder.ts'
import { eventually, opener } from '../../support/opened.ts'
import { runHere } from '../../support/process.ts'
import { freePort } from '../../support/free-port.ts'
import { argvOf, type Directives } from '../../support/settings.ts'
import { startServer } from '../../support/server.ts'

const open = opener()
let certificates: Certificates

beforeAll(() => {
  certificates = makeCertificates()
})

afterAll(() => certificates.remove())

/** A server that speaks TLS on every listener. */
async function serve(more: Directives = {}) {
  const tlsPort = await freePort()
  const { cert, key } = certificates.server
  const server = await open.server({
    directives: {
      'tls-port': String(tlsPort),
      'tls-cert-file': cert,
      'tls-key-file': key,
      'tls-auth-clients': 'no',
      'http-tls': 'yes',
      ...more,
    },
  })
  const ports = { resp: tlsPort, public: server.httpPort, admin: server.adminPort }
  return {
    ...server,
    tlsPort,
    ports,
    set: (...pairs: [string, string][]) => server.core.config.set(pairs),
  }
}

const pemOf = ({ cert, key }: KeyPair) => ({ cert: readFileSync(cert), key: readFileSync(key) })

/** Connects, sends PING, and hears the answer; empty where the server closes. */
function ping(port: number, options: ConnectionOptions = {}): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
    let answer = ''
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString()
      socket.destroy()
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer))
    socket.write('PING\r\n')
  })
}

/** The status of a request over HTTPS; 0 where the server closes. */
function get(port: number, path: string, options: https.RequestOptions = {}): Promise<number> {
  return new Promise((resolve) => {
    const asked = https.get(
      { port, host: '127.0.0.1', path, rejectUnauthorized: false, agent: false, ...options },
      (response) => {
        response.resume()
        response.on('close', () => resolve(response.statusCode ?? 0))
      },
    )
    asked.on('error', () => resolve(0))
  })
}

/** The common name in the certificate of a listener. */
function nameOf(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect(
      { port, host: '127.0.0.1', rejectUnauthorized: false },
      () => {
        resolve(String(socket.getPeerCertificate().subject.CN))
        socket.destroy()
      },
    )
    socket.on('error', reject)
  })
}

describe('tls-auth-clients', () => {
  test.each(['tls-ca-cert-file', 'tls-ca-cert-dir'])(
    'yes with %s: none without a certificate of it is answered',
    async (directive) => {
      const folder = folderWith()
      copyFileSync(certificates.ca, join(folder, 'ca.pem'))
      const { tlsPort } = await serve({
        'tls-auth-clients': 'yes',
        [directive]: directive === 'tls-ca-cert-dir' ? folder : certificates.ca,
      })
      expect(await ping(tlsPort)).toBe('')
      expect(await ping(tlsPort, pemOf(certificates.stranger))).toBe('')
      expect(await ping(tlsPort, pemOf(certificates.client))).toBe('+PONG\r\n')
    },
  )

  test('optional: a client may have none, but no certificate of another authority', async () => {
    const { tlsPort } = await serve({
      'tls-auth-clients': 'optional',
      'tls-ca-cert-file': certificates.ca,
    })
    expect(await ping(tlsPort)).toBe('+PONG\r\n')
    expect(await ping(tlsPort, pemOf(certificates.stranger))).toBe('')
    expect(await ping(tlsPort, pemOf(certificates.client))).toBe('+PONG\r\n')
  })

  test.each([
    ['tls-auth-clients', 'yes'],
    ['tls-auth-clients', 'optional'],
    ['http-tls-auth-clients', 'yes'],
    ['admin-tls-auth-clients', 'optional'],
  ])('%s %s without an authority is refused at the start', async (directive, choice) => {
    await expect(serve({ [directive]: choice })).rejects.toThrow(
      `${directive} ${choice} needs the authorities that certificates of clients come from; set tls-ca-cert-file or ` +
        `tls-ca-cert-dir, or ${directive} no to ask for none`,
    )
  })

  test('without a word about it Redis requires certificates, so the start needs an authority', async () => {
    const { cert, key } = certificates.server
    const directives = { 'tls-port': '1', 'tls-cert-file': cert, 'tls-key-file': key }
    await expect(startServer({ directives })).rejects.toThrow(/tls-auth-clients yes needs the auth/)
  })

  test('CONFIG SET takes effect on the open listener, in both directions', async () => {
    const { tlsPort, set } = await serve({ 'tls-ca-cert-file': certificates.ca })
    const answers: string[] = []
    for (const choice of ['yes', 'no', 'yes', 'optional']) {
      expect(set(['tls-auth-clients', choice])).toBeUndefined()
      answers.push(`${choice} ${await ping(tlsPort)}`.trim())
    }
    expect(answers).toEqual(['yes', 'no +PONG', 'yes', 'optional +PONG'])
    expect(await ping(tlsPort, pemOf(certificates.stranger))).toBe('')
  })

  test.each([
    ['public', 'http-tls-auth-clients', '/nothing', 404],
    ['admin', 'admin-tls-auth-clients', '/livez', 200],
  ] as const)(
    'has its like for the %s HTTP listener',
    async (listener, directive, path, status) => {
      const { ports, set } = await serve({ 'tls-ca-cert-file': certificates.ca })
      const port = ports[listener]
      expect(await get(port, path)).toBe(status)
      expect(set([directive, 'yes'])).toBeUndefined()
      expect(await get(port, path)).toBe(0)
      expect(await get(port, path, pemOf(certificates.stranger))).toBe(0)
      expect(await get(port, path, pemOf(certificates.client))).toBe(status)
      expect(set([directive, 'optional'])).toBeUndefined()
      expect(await get(port, path)).toBe(status)
      expect(await get(port, path, pemOf(certificates.stranger))).toBe(0)
      expect(set([directive, 'no'])).toBeUndefined()
      expect(await get(port, path)).toBe(status)
    },
  )

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'a session from before is not resumed under stricter rules: %s',
    async (maxVersion) => {
      const { tlsPort, set } = await serve({ 'tls-ca-cert-file': certificates.ca })
      const session = await new Promise<Buffer>((resolve) => {
        const socket = connect({
          port: tlsPort,
          host: '127.0.0.1',
          rejectUnauthorized: false,
          maxVersion,
        })
        socket.on('session', (ticket) => {
          resolve(ticket)
          socket.destroy()
        })
        socket.write('PING\r\n')
      })
      expect(await ping(tlsPort, { session, maxVersion })).toBe('+PONG\r\n')
      expect(set(['tls-auth-clients', 'yes'])).toBeUndefined()
      expect(await ping(tlsPort, { session, maxVersion })).toBe('')
    },
  )
})

describe('A renewed certificate', () => {
  test('reaches every listener by CONFIG SET', async () => {
    const { ports, set } = await serve()
    const names = () => Promise.all(Object.values(ports).map(nameOf))
    expect(await names()).toEqual(['server', 'server', 'server'])
    const { cert, key } = certificates.renewed
    expect(set(['tls-cert-file', cert], ['tls-key-file', key])).toBeUndefined()
    expect(await names()).toEqual(['renewed', 'renewed', 'renewed'])
  })

  test('reaches every listener by SIGHUP, if all of the configuration can be used', async () => {
    const folder = folderWith()
    const [cert, key, file] = ['cert', 'key', 'a.conf'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ]
    const install = (pair: KeyPair): void => {
      copyFileSync(pair.cert, cert)
      copyFileSync(pair.key, key)
    }
    install(certificates.server)
    const conf =
      `bind 127.0.0.1\nport 0\ntls-port 0\nhttp-tls yes\ntls-auth-clients no\ndir ${folder}\n` +
      `tls-cert-file ${cert}\ntls-key-file ${key}\n`
    writeFileSync(file, conf)
    const input = {
      argv: [file, ...argvOf({ 'http-port': '0', 'admin-port': '0' })],
      env: {},
      cwd: folder,
    }
    const config = new Config(loadConfig(input))
    const gateway = new Gateway({ config, log: silentLog(), anyPort: true })
    open.onEnd(() => gateway.stop())
    const { http = 0, admin = 0 } = await gateway.start()
    const names = () => Promise.all([http, admin].map(nameOf))
    install(certificates.renewed)
    // The issuer lacks everything, so nothing of the file counts, the certificate neither.
    writeFileSync(file, `${conf}jwt-issuer i\n`)
    reloadConfiguration(config, silentLog(), input)
    expect(await names()).toEqual(['server', 'server'])
    writeFileSync(file, conf)
    reloadConfiguration(config, silentLog(), input)
    expect(await names()).toEqual(['renewed', 'renewed'])
  })
})

test.each([
  [['tls-cert-file', '/nowhere']],
  [['tls-key-file', '/nowhere']],
  [['tls-ca-cert-dir', '/nowhere']],
  [['tls-ca-cert-file', '']],
  [['tls-ciphers', 'NONSENSE']],
  [['tls-protocols', 'TLSv1.1']],
  [['tls-protocols', 'TLSv9']],
] as [[string, string]][])('CONFIG SET %j is an error and changes nothing', async (pair) => {
  const { ports, set, core } = await serve({
    'tls-auth-clients': 'yes',
    'tls-ca-cert-file': certificates.ca,
  })
  const before = core.config.get(['tls-*'])
  expect(set(pair)).toMatch(/^CONFIG SET failed \(possibly related to argument 'tls-/)
  expect(core.config.get(['tls-*'])).toEqual(before)
  expect(await nameOf(ports.public)).toBe('server')
  expect(await ping(ports.resp)).toBe('')
  expect(await ping(ports.resp, pemOf(certificates.client))).toBe('+PONG\r\n')
})

test('CONFIG SET tls-protocols and tls-ciphers reach open listeners', async () => {
  const { ports, set } = await serve()
  const older = { maxVersion: 'TLSv1.2' } as const
  expect(await ping(ports.resp, older)).toBe('+PONG\r\n')
  expect(await get(ports.public, '/nothing', older)).toBe(404)
  expect(set(['tls-protocols', 'TLSv1.3'])).toBeUndefined()
  expect(await ping(ports.resp, older)).toBe('')
  expect(await get(ports.public, '/nothing', older)).toBe(0)
  expect(set(['tls-protocols', ''])).toBeUndefined()
  const ciphers = 'ECDHE-ECDSA-AES256-GCM-SHA384'
  expect(set(['tls-ciphers', ciphers])).toBeUndefined()
  const other = { ...older, ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' }
  expect(await ping(ports.resp, other)).toBe('')
  expect(await ping(ports.resp, { ...older, ciphers })).toBe('+PONG\r\n')
})

test('tls-session-caching no lets nobody resume', async () => {
  const { tlsPort } = await serve({ 'tls-session-caching': 'no' })
  const resumed = (session?: Buffer): Promise<[boolean, Buffer | undefined]> =>
    new Promise((resolve) => {
      let ticket: Buffer | undefined
      const socket = connect({
        ...{ port: tlsPort, host: '127.0.0.1', rejectUnauthorized: false },
        ...(session === undefined ? {} : { session }),
      })
      socket.on('session', (given) => (ticket = given))
      socket.on('data', () => {
        resolve([socket.isSessionReused(), ticket])
        socket.destroy()
      })
      socket.write('PING\r\n')
    })
  const [, ticket] = await resumed()
  expect((await resumed(ticket))[0]).toBe(false)
})

test('healthcheck asks over TLS, with a certificate where the listener wants one', async () => {
  const { ports, dir } = await serve({
    'tls-ca-cert-file': certificates.ca,
    'admin-tls-auth-clients': 'yes',
  })
  const ask = (...more: string[]) =>
    runHere(dir, () =>
      healthcheck(['--http-tls', 'yes', '--admin-port', String(ports.admin), ...more]),
    )
  const { cert, key } = certificates.client
  expect((await ask()).code).toBe(1)
  expect(await ask('--tls-client-cert-file', cert, '--tls-client-key-file', key)).toMatchObject({
    code: 0,
    output: '{"status":"ready","problems":[]}\n',
  })
})

describe('A connection of an HTTP listener', () => {
  test('is counted once from its handshake on, and no longer when it is closed', async () => {
    const { core, ports } = await serve()
    const { http } = core.counters
    const socket = connect({ port: ports.public, host: '127.0.0.1', rejectUnauthorized: false })
    socket.on('error', () => {})
    open.onEnd(() => void socket.destroy())
    await once(socket, 'secureConnect')
    await eventually('one is counted', () => http.public.open === 1)
    socket.destroy()
    await eventually('none is counted', () => http.public.open === 0)
    expect(http.public.evicted).toBe(0)
  })

  test('that never shakes hands gives way to one that does', async () => {
    const { core, ports } = await serve({ 'http-max-connections': '1' })
    const silent = connectPlain(ports.public, '127.0.0.1')
    silent.on('error', () => {})
    open.onEnd(() => void silent.destroy())
    const closed = new Promise((resolve) => silent.once('close', resolve))
    await eventually('it is counted', () => core.counters.http.public.open === 1)
    expect(await get(ports.public, '/nowhere')).toBe(404)
    await closed
  })

  test('of RESP that never shakes hands gives way as well', async () => {
    const { core, tlsPort } = await serve({ maxclients: '16' })
    const silent = connectPlain(tlsPort, '127.0.0.1')
    silent.on('error', () => {})
    open.onEnd(() => void silent.destroy())
    const closed = new Promise((resolve) => silent.once('close', resolve))
    await once(silent, 'connect')
    expect(await ping(tlsPort)).toBe('+PONG\r\n')
    await closed
    expect(core.counters.connectionsReceived).toBe(1)
  })
})
