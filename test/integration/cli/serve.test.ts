import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { connect as connectSocket, createServer, type AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { healthcheck } from '../../../server/cli/healthcheck.ts'
import { checkConfiguration } from '../../../server/cli/check.ts'
import { serve as serveHere } from '../../../server/cli/serve.ts'
import { RespcastError } from '../../../server/errors.ts'
import { respcast, runHere } from '../../support/process.ts'
import { freePort } from '../../support/free-port.ts'
import { connectRaw, connectWebSocket, type RawClient, push } from '../../support/resp-client.ts'
import { opener } from '../../support/opened.ts'
import { folderWith } from '../../support/folder.ts'
import { startServer } from '../../support/server.ts'

const open = opener()

/** Ends at once when it is told to. */
const AT_ONCE = ['--drain-grace-seconds', '0', '--drain-seconds', '0']

/** A server on ports of its own that is ready. */
async function serve(more: readonly string[] = [], cwd = folderWith()) {
  const [port, http, admin] = await Promise.all([freePort(), freePort(), freePort()])
  const args = ['--bind', '127.0.0.1', '--port', `${port}`, '--http-port', `${http}`]
  const run = respcast(open, [...args, '--admin-port', `${admin}`, ...AT_ONCE, ...more], {
    cwd,
    env: {
      RESPCAST_CONF_JWT_ISSUER: 'iss',
      RESPCAST_CONF_JWT_AUDIENCE: 'aud',
      RESPCAST_CONF_JWT_SECRET: 'a-secret-of-at-least-thirty-two-bytes',
    },
  })
  await run.says('ready to accept connections')
  return { ...run, cwd, port, http, admin }
}

async function connect(port: number): Promise<RawClient> {
  const client = await connectRaw(port)
  open.onEnd(() => client.destroy())
  return client
}

async function connectBrowser(port: number, token?: string): Promise<RawClient> {
  const options = token === undefined ? {} : { token }
  const client = await connectWebSocket(`ws://127.0.0.1:${port}/ws`, options)
  open.onEnd(() => client.destroy())
  return client
}

describe('a process that serves', () => {
  test('on SIGTERM closes WebSockets with 4503, lets TCP read what is its own, and exits 0', async () => {
    const server = await serve()
    const backend = await connect(server.port)
    const browser = await connectBrowser(server.http)
    await backend.subscribe('a', 1, 2)
    server.child.kill('SIGTERM')
    const { code, reason } = await browser.closed
    expect(code).toBe(4503)
    expect(reason).toMatch(/^draining\|\d+\|the server is going away$/)
    await backend.closed
    expect(await server.ended).toMatchObject({ code: 0, errors: '' })
    expect(server.output()).toContain('stopped')
  })

  test('on SHUTDOWN ends in the same way, at once whatever a drain would take', async () => {
    const server = await serve(['--drain-grace-seconds', '60', '--drain-seconds', '60'])
    const backend = await connect(server.port)
    const browser = await connectBrowser(server.http)
    backend.command('SHUTDOWN')
    expect((await browser.closed).code).toBe(4503)
    await backend.closed
    expect(backend.takeAll()).toBe('')
    expect((await server.ended).code).toBe(0)
  })

  test('sends what is published before the signal to a client that reads late', async () => {
    const server = await serve()
    const reader = await connect(server.port)
    const publisher = await connect(server.port)
    await reader.subscribe('a', 1, 2)
    reader.pause()
    const payload = Buffer.alloc(16 * 1_048_576, 'x')
    publisher.command('PUBLISH', 'a', payload)
    await publisher.takeExactly(':1\r\n')
    server.child.kill('SIGTERM')
    await publisher.closed
    reader.resume()
    await reader.takeExactly(push(2, 'message', 'a', payload))
    expect((await server.ended).code).toBe(0)
  })

  test("answers /livez and /readyz on the administrators' listener alone, and healthcheck", async () => {
    const server = await serve()
    const live = await fetch(`http://127.0.0.1:${server.admin}/livez`)
    expect([live.status, await live.json()]).toEqual([200, { status: 'alive' }])
    const ready = await fetch(`http://127.0.0.1:${server.admin}/readyz`)
    expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready', problems: [] }])
    for (const path of ['/livez', '/readyz', '/metrics']) {
      expect((await fetch(`http://127.0.0.1:${server.http}${path}`)).status).toBe(404)
    }
    const check = (port: number) =>
      runHere(server.cwd, () => healthcheck(['--admin-port', `${port}`]))
    expect(await check(server.admin)).toMatchObject({ code: 0, errors: '' })
    expect(await check(await freePort())).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/does not answer \(ECONNREFUSED\)\n$/) as unknown,
    })
  })

  test('keeps its process id in pidfile while it runs', async () => {
    const cwd = folderWith()
    const pidFile = join(cwd, 'pid')
    const server = await serve(['--pidfile', pidFile], cwd)
    expect(readFileSync(pidFile, 'utf8')).toBe(`${server.child.pid}\n`)
    server.child.kill('SIGINT')
    expect((await server.ended).code).toBe(0)
    expect(existsSync(pidFile)).toBe(false)
  })

  test('reads a redis.conf, and lets environment and command line win', async () => {
    const conf = 'maxclients 11\ntimeout 12\ntcp-keepalive 13\nappendonly no\nsave 3600 1\n'
    const port = await freePort()
    const args = ['redis.conf', '--port', `${port}`, '--http-port', '0', '--admin-port', '0']
    const run = respcast(open, [...args, '--tcp-keepalive', '33'], {
      cwd: folderWith({ 'redis.conf': conf }),
      env: { RESPCAST_CONF_TIMEOUT: '22', RESPCAST_CONF_TCP_KEEPALIVE: '23' },
    })
    await run.says('ready to accept connections')
    expect(run.output()).toContain('without effect')
    const client = await connect(port)
    for (const [name, value] of [
      ['maxclients', '11'],
      ['timeout', '22'],
      ['tcp-keepalive', '33'],
    ] as const) {
      const reply = `*2\r\n$${name.length}\r\n${name}\r\n$2\r\n${value}\r\n`
      await client.assertReply(['CONFIG', 'GET', name], reply)
    }
  })
})

describe('a process that cannot serve', () => {
  test.each(['port', 'http-port', 'admin-port'])(
    'says that the port of %s is in use, and what to pass instead',
    async (directive) => {
      const holder = createServer().listen(0, '127.0.0.1')
      await once(holder, 'listening')
      open.onEnd(() => new Promise<void>((resolve) => void holder.close(() => resolve())))
      const taken = `${(holder.address() as AddressInfo).port}`
      const args = ['--bind', '127.0.0.1', '--port', '0', '--http-port', '0', '--admin-port', '0']
      args[args.indexOf(`--${directive}`) + 1] = taken
      const { code, errors } = await respcast(open, args).ended
      expect(code).toBe(1)
      expect(errors.split('\n')).toHaveLength(2)
      expect(errors).toContain(`127.0.0.1:${taken}`)
      expect(errors).toContain('EADDRINUSE')
      expect(errors).toContain(`--${directive} <port>`)
    },
  )

  test('has answered nobody, not over RESP whose port was free either', async () => {
    const holder = createServer().listen(0, '127.0.0.1')
    await once(holder, 'listening')
    open.onEnd(() => new Promise<void>((resolve) => void holder.close(() => resolve())))
    const port = await freePort()
    const { port: taken } = holder.address() as AddressInfo
    const args = ['--bind', '127.0.0.1', '--port', `${port}`, '--http-port', '0']
    const { ended } = respcast(open, [...args, '--admin-port', `${taken}`])
    const seen = { isOver: false, connected: 0, heard: '' }
    void ended.then(() => (seen.isOver = true))
    while (!seen.isOver) {
      const socket = connectSocket(port, '127.0.0.1')
      socket.on('data', (chunk: Buffer) => (seen.heard += chunk.toString()))
      socket.on('connect', () => seen.connected++).on('error', () => {})
      socket.end('PING\r\n')
      await new Promise((resolve) => socket.once('close', resolve))
    }
    expect((await ended).code).toBe(1)
    expect(seen.heard).toBe('')
    expect(seen.connected).toBeGreaterThan(0)
  })

  test('serves on both loopback addresses by default', async () => {
    const server = await startServer({ directives: { 'http-bind': '127.0.0.1 -::1' } })
    open.onEnd(() => server.stop())
    expect((await fetch(`${server.url}/nowhere`)).status).toBe(404)
    if (!networkInterfaces()['lo']?.some(({ address }) => address === '::1')) return
    expect((await fetch(`http://[::1]:${server.httpPort}/nowhere`)).status).toBe(404)
  })

  test.each([{ flag: [] }, { flag: ['--check'] }])(
    'writes one line to standard error and exits with 1: respcast $flag',
    async ({ flag }) => {
      const { code, output, errors } = await respcast(open, [...flag, '--port', 'abc']).ended
      expect([code, output]).toEqual([1, ''])
      expect(errors).toMatch(/^respcast: command line: --port abc: .*from 0 to 65535\.\n$/)
    },
  )

  /** Returns the one line with which a run refuses its configuration. Nothing is written to standard output or error. */
  async function refusal(
    run: (argv: readonly string[]) => Promise<unknown>,
    cwd: string,
    args: readonly string[],
  ): Promise<string> {
    let reason = ''
    const outcome = await runHere(cwd, async () => {
      try {
        await run([...args, '--logfile', 'log'])
      } catch (error) {
        if (!(error instanceof RespcastError)) throw error
        reason = error.message
      }
      return 0
    })
    expect(outcome).toEqual({ code: 0, output: '', errors: '' })
    expect(reason).not.toContain('\n')
    return reason
  }

  test.each([
    [['--port', 'abc'], /command line: --port abc: .*Give a whole number from 0 to 65535\.$/],
    [
      ['--prot', '1'],
      /neither Redis, Valkey nor Respcast know a directive 'prot'\. Did you mean 'port'\?$/,
    ],
    [['nowhere.conf'], /nowhere\.conf/],
    [['--http-bind', '0.0.0.0'], /http-bind listens beyond loopback without a token issuer/],
    [['--jwt-issuer', 'x', '--jwt-audience', 'y'], /no key source is set/],
    [['--jwt-secret', 'x'], /jwt-secret/],
    [['--aclfile', 'nowhere.acl'], /aclfile/],
    [['--ws-token-cookie', 'c'], /ws-allowed-origins/],
  ])('%j is refused with one line by a start and by --check', async (args, reason) => {
    const cwd = folderWith()
    expect(await refusal(serveHere, cwd, args)).toMatch(reason)
    expect(await refusal(checkConfiguration, cwd, args)).toMatch(reason)
    const log = join(cwd, 'log')
    expect(existsSync(log) ? readFileSync(log, 'utf8') : '').toBe('')
  })

  test.each([
    [
      'shop secret 0123456789abcdef0123456789abcdef\nissuer shop ceiling nobody',
      /no ACL user 'nobody'\. Make it first\.$/,
    ],
    ['shop jwks-file nowhere.json\nissuer shop algorithms ES256', /nowhere\.json: cannot be read/],
  ])('an issuer %j is refused with one line by a start and by --check', async (line, reason) => {
    const shop = 'issuer shop issuer https://shop.example\nissuer shop audience app\n'
    const conf = `port 0\nhttp-port 0\n${shop}issuer ${line}\n`
    const cwd = folderWith({ 'a.conf': conf })
    expect(await refusal(serveHere, cwd, ['a.conf'])).toMatch(reason)
    expect(await refusal(checkConfiguration, cwd, ['a.conf'])).toMatch(reason)
  })

  test('--check says that a good configuration is good, starts nothing and fetches nothing', async () => {
    const issuer =
      'jwt-issuer i\njwt-audience a\njwt-jwks-url http://127.0.0.1:1/keys\njwt-algorithms ES256\n'
    const users = 'user default off\nuser most off +@all allchannels\njwt-ceiling most\n'
    const cwd = folderWith({ 'a.conf': `port 1\n${users}${issuer}` })
    chmodSync(join(cwd, 'a.conf'), 0o600)
    expect(await respcast(open, ['--check', '--strict', 'a.conf'], { cwd }).ended).toEqual({
      code: 0,
      output: 'The configuration is good.\n',
      errors: '',
    })
  })

  test('--check says that a server without an issuer lets no browser in', async () => {
    const cwd = folderWith({ 'a.conf': 'user default off\n' })
    const { code, output } = await respcast(open, ['--check', 'a.conf'], { cwd }).ended
    expect(code).toBe(0)
    expect(output).toContain('No issuer is configured: browsers cannot log in.')
  })

  test.each([
    ['version', /^respcast \d+\.\d+\.\d+\n$/],
    ['help', /^Respcast: Redis Pub\/Sub that browsers can join\./],
    ['man', /^\.TH RESPCAST 1 /],
    ['--version', /^respcast \d+\.\d+\.\d+\n$/],
    ['--help', /^Respcast: Redis Pub\/Sub that browsers can join\./],
  ])('%s answers and ends', async (flag, text) => {
    const { code, output } = await respcast(open, [flag]).ended
    expect(code).toBe(0)
    expect(output).toMatch(text)
  })
})

describe('the development profile', () => {
  test('starts with nothing but ports, on loopback, and prints how to try it', async () => {
    const [port, http, admin] = await Promise.all([freePort(), freePort(), freePort()])
    const ports = ['--port', `${port}`, '--http-port', `${http}`, '--admin-port', `${admin}`]
    const run = respcast(open, ports)
    await run.says('Ctrl-C ends it.')
    const text = run.output()
    const token = /http:\/\/127\.0\.0\.1:(\d+)\/#token=(\S+)/.exec(text)
    expect(token?.[1]).toBe(`${http}`)
    expect(text).toContain(`RESP    127.0.0.1:${port}`)
    expect(text).toMatch(/admin +http:\/\/127\.0\.0\.1:\d+\/ +\(user admin, password \S+\)/)
    for (const word of [
      'PUBLISH news hello',
      'token mint --sub 42',
      'ACL SETUSER role:demo resetchannels',
    ]) {
      expect(text).toContain(word)
    }
    const browser = await connectBrowser(http, token?.[2])
    await browser.takeAccepted('jwt:demo')
    await browser.subscribe('news')
    const backend = await connect(port)
    await backend.assertReply(['PUBLISH', 'news', 'hello'], ':1\r\n')
    await browser.takeExactly(push(3, 'message', 'news', 'hello'))
    await backend.assertReply(['ACL', 'SETUSER', 'role:demo', 'resetchannels'], '+OK\r\n')
    expect((await browser.closed).code).toBe(4403)
    await backend.assertPong()
    run.child.kill('SIGTERM')
    expect((await run.ended).code).toBe(0)
  })

  test('rehearses first, unless it is told not to', async () => {
    const ports = ['--port', '0', '--http-port', '0', '--admin-port', '0', '--loglevel', 'debug']
    const spans = []
    for (const answer of ['yes', 'no']) {
      const run = respcast(open, [...ports, '--unixsocket', 's', '--warm-up', answer])
      await run.says('Ctrl-C ends it.')
      spans.push(run.output().includes('"rehearsed"'))
      run.child.kill('SIGKILL')
    }
    expect(spans).toEqual([true, false])
  })
})
