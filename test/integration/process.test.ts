import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { connectRaw, connectWebSocket } from '../support/resp-client.ts'
import {
  assertPong,
  assertReads,
  assertReply,
  opener,
  push,
  takeAccepted,
} from './support/opened.ts'

const open = opener()

const MAIN = fileURLToPath(new URL('../../server/main.ts', import.meta.url))
const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href

/** How long a process may take to start, on a busy machine. */
const PATIENCE_MS = 20_000

interface Run {
  readonly child: ChildProcess
  /** Everything written so far. */
  readonly output: () => string
  readonly errors: () => string
  /** Settles with the exit code. */
  readonly exited: Promise<number | null>
  /** Waits until the output has `text`. */
  says(text: string): Promise<void>
}

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'respcast-'))
  open.onEnd(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** Runs `respcast ...args` in a folder of its own, with nothing of this process's environment that configures it. */
function respcast(args: readonly string[], options: { cwd?: string; env?: object } = {}): Run {
  const env: NodeJS.ProcessEnv = { PATH: process.env['PATH'], ...options.env }
  const child = spawn(process.execPath, ['--import', TSX, MAIN, ...args], {
    cwd: options.cwd ?? folder(),
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  let wake: () => void = () => {}
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    wake()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  let isOver = false
  const exited = new Promise<number | null>((resolve) => {
    child.on('close', (code) => {
      isOver = true
      wake()
      resolve(code)
    })
  })
  open.onEnd(async () => {
    if (!isOver) child.kill('SIGKILL')
    await exited
  })
  return {
    child,
    exited,
    output: () => output,
    errors: () => errors,
    says: async (text) => {
      const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
      while (!output.includes(text)) {
        if (isOver) throw new Error(`ended without saying '${text}': ${output}${errors}`)
        await new Promise<void>((resolve) => (wake = resolve))
      }
      clearTimeout(timer)
    },
  }
}

/** Ports that nobody listens on. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  const ports: number[] = []
  for (const server of servers) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    ports.push((server.address() as AddressInfo).port)
  }
  for (const server of servers) await new Promise((resolve) => void server.close(resolve))
  return ports
}

/** A server on ports of its own that is ready. */
async function serve(more: readonly string[] = [], cwd = folder()) {
  const [port = 0, http = 0, admin = 0] = await freePorts(3)
  const secret = 'a-secret-of-at-least-thirty-two-bytes'
  const args = ['--bind', '127.0.0.1', '--port', `${port}`, '--http-port', `${http}`]
  const run = respcast([...args, '--admin-port', `${admin}`, ...more], {
    cwd,
    env: {
      RESPCAST_CONF_JWT_ISSUER: 'iss',
      RESPCAST_CONF_JWT_AUDIENCE: 'aud',
      RESPCAST_CONF_JWT_SECRET: secret,
    },
  })
  await run.says('ready to accept connections')
  return { ...run, cwd, port, http, admin }
}

describe('a process that serves', () => {
  test('on SIGTERM closes WebSockets with 4503, lets TCP read what is its own, and exits 0', async () => {
    const server = await serve()
    const backend = await connectRaw(server.port)
    const browser = await connectWebSocket(`ws://127.0.0.1:${server.http}/ws`)
    open.onEnd(() => [backend, browser].forEach((client) => client.destroy()))
    await assertReply(backend, ['SUBSCRIBE', 'a'], push(2, 'subscribe', 'a', 1).toString('latin1'))
    server.child.kill('SIGTERM')
    const { code, reason } = await browser.closed
    expect(code).toBe(4503)
    expect(reason).toMatch(/^draining\|\d+\|the server is going away$/)
    await backend.closed
    expect(await server.exited).toBe(0)
    expect(server.output()).toContain('stopped')
    expect(server.errors()).toBe('')
  })

  test('on SHUTDOWN ends in the same way', async () => {
    const server = await serve()
    const backend = await connectRaw(server.port)
    const browser = await connectWebSocket(`ws://127.0.0.1:${server.http}/ws`)
    open.onEnd(() => [backend, browser].forEach((client) => client.destroy()))
    backend.command('SHUTDOWN')
    expect((await browser.closed).code).toBe(4503)
    await backend.closed
    expect(backend.takeAll()).toBe('')
    expect(await server.exited).toBe(0)
  })

  test('sends what is published before the signal to a client that reads late', async () => {
    const server = await serve()
    const reader = await connectRaw(server.port)
    const publisher = await connectRaw(server.port)
    open.onEnd(() => [reader, publisher].forEach((client) => client.destroy()))
    await assertReply(reader, ['SUBSCRIBE', 'a'], push(2, 'subscribe', 'a', 1).toString('latin1'))
    reader.pause()
    const payload = Buffer.alloc(16 * 1_048_576, 'x')
    publisher.command('PUBLISH', 'a', payload)
    await assertReads(publisher, ':1\r\n')
    server.child.kill('SIGTERM')
    await publisher.closed
    reader.resume()
    await assertReads(reader, push(2, 'message', 'a', payload))
    expect(await server.exited).toBe(0)
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
    const check = respcast(['healthcheck', '--admin-port', `${server.admin}`])
    expect(await check.exited).toBe(0)
    const [nobody = 0] = await freePorts(1)
    const vain = respcast(['healthcheck', '--admin-port', `${nobody}`])
    expect(await vain.exited).toBe(1)
    expect(vain.errors()).toMatch(/does not answer \(ECONNREFUSED\)\n$/)
  })

  test("answers no foreign Host on the administrators' listener", async () => {
    const server = await serve()
    const client = await connectRaw(server.admin)
    open.onEnd(() => client.destroy())
    client.send('GET /readyz HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n')
    await client.closed
    expect(client.takeAll()).toMatch(/^HTTP\/1\.1 403 /)
  })

  test('keeps its process id in pidfile while it runs', async () => {
    const cwd = folder()
    const pidFile = join(cwd, 'pid')
    const server = await serve(['--pidfile', pidFile], cwd)
    expect(readFileSync(pidFile, 'utf8')).toBe(`${server.child.pid}\n`)
    server.child.kill('SIGINT')
    expect(await server.exited).toBe(0)
    expect(existsSync(pidFile)).toBe(false)
  })

  test('reads a redis.conf, and lets environment and command line win', async () => {
    const cwd = folder()
    writeFileSync(
      join(cwd, 'redis.conf'),
      'maxclients 11\ntimeout 12\ntcp-keepalive 13\nappendonly no\nsave 3600 1\n',
    )
    const [port = 0] = await freePorts(1)
    const args = ['redis.conf', '--port', `${port}`, '--http-port', '0', '--admin-port', '0']
    const run = respcast([...args, '--tcp-keepalive', '33'], {
      cwd,
      env: { RESPCAST_CONF_TIMEOUT: '22', RESPCAST_CONF_TCP_KEEPALIVE: '23' },
    })
    await run.says('ready to accept connections')
    expect(run.output()).toContain('without effect')
    const client = await connectRaw(port)
    open.onEnd(() => client.destroy())
    for (const [name, value] of [
      ['maxclients', '11'],
      ['timeout', '22'],
      ['tcp-keepalive', '33'],
    ] as const) {
      const reply = `*2\r\n$${name.length}\r\n${name}\r\n$2\r\n${value}\r\n`
      await assertReply(client, ['CONFIG', 'GET', name], reply)
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
      const run = respcast(args)
      expect(await run.exited).toBe(1)
      const line = run.errors()
      expect(line.split('\n')).toHaveLength(2)
      expect(line).toContain(`127.0.0.1:${taken}`)
      expect(line).toContain('EADDRINUSE')
      expect(line).toContain(`--${directive} <port>`)
    },
  )

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
  ])('%j refuses to start with one line, and so says --check', async (args, reason) => {
    const cwd = folder()
    const [run, check] = [respcast(args, { cwd }), respcast(['--check', ...args], { cwd })]
    for (const each of [run, check]) {
      expect(await each.exited).toBe(1)
      expect(each.output()).toBe('')
      expect(each.errors().split('\n')).toHaveLength(2)
      expect(each.errors().trimEnd()).toMatch(reason)
    }
  })

  test.each([
    [
      'shop secret 0123456789abcdef0123456789abcdef\nissuer shop ceiling nobody',
      /no ACL user 'nobody'\. Make it first\.$/,
    ],
    ['shop jwks-file nowhere.json\nissuer shop algorithms ES256', /nowhere\.json: cannot be read/],
  ])(
    'with an issuer %j refuses to start with one line, and so says --check',
    async (line, reason) => {
      const cwd = folder()
      const shop = 'issuer shop issuer https://shop.example\nissuer shop audience app\n'
      writeFileSync(join(cwd, 'a.conf'), `port 0\nhttp-port 0\n${shop}issuer ${line}\n`)
      for (const args of [['a.conf'], ['--check', 'a.conf']]) {
        const run = respcast(args, { cwd })
        expect(await run.exited).toBe(1)
        expect(run.errors().split('\n')).toHaveLength(2)
        expect(run.errors().trimEnd()).toMatch(reason)
      }
    },
  )

  test('--check says that a good configuration is good, starts nothing and fetches nothing', async () => {
    const cwd = folder()
    const issuer =
      'jwt-issuer i\njwt-audience a\njwt-jwks-url http://127.0.0.1:1/keys\njwt-algorithms ES256\n'
    writeFileSync(join(cwd, 'a.conf'), `port 1\nuser u on >p +@all\n${issuer}`)
    const run = respcast(['--check', 'a.conf'], { cwd })
    expect(await run.exited).toBe(0)
    expect(run.output()).toBe('The configuration is good.\n')
  })

  test.each([
    ['--version', /^respcast \d+\.\d+\.\d+\n$/],
    ['--help', /^Respcast: Redis Pub\/Sub that browsers can join\./],
  ])('%s answers and ends', async (flag, text) => {
    const run = respcast([flag])
    expect(await run.exited).toBe(0)
    expect(run.output()).toMatch(text)
  })
})

/** Whether nobody listens on the ports that the development profile uses. */
async function defaultPortsAreFree(): Promise<boolean> {
  for (const port of [6380, 8080, 8081]) {
    const server = createServer().listen(port, '127.0.0.1')
    const opened = await new Promise<boolean>((resolve) => {
      server.once('listening', () => resolve(true))
      server.once('error', () => resolve(false))
    })
    if (!opened) return false
    await new Promise((resolve) => void server.close(resolve))
  }
  return true
}

const canUseDefaultPorts = await defaultPortsAreFree()

describe('the development profile', () => {
  test('mints tokens that its configuration accepts', async () => {
    const cwd = folder()
    const minted = respcast(['token', 'mint', '--sub', '42', '--role', 'demo'], { cwd })
    expect(await minted.exited).toBe(0)
    const token = minted.output().trim()
    expect(token.split('.')).toHaveLength(3)
    expect(statSync(join(cwd, '.respcast', 'dev-key')).mode & 0o777).toBe(0o600)
    const good = respcast(['token', 'verify', token], { cwd })
    expect(await good.exited).toBe(0)
    expect(JSON.parse(good.output())).toMatchObject({ accepted: true })
    const bad = respcast(['token', 'verify', `${token.slice(0, -8)}AAAAAAAA`], { cwd })
    expect(await bad.exited).toBe(1)
    expect(JSON.parse(bad.output())).toMatchObject({
      accepted: false,
      reply: 'WRONGPASS invalid token',
    })
  })

  test('a token that cannot be minted is refused with the flag that is wrong', async () => {
    const run = respcast(['token', 'mint', '--role', 'demo'])
    expect(await run.exited).toBe(2)
    expect(run.errors()).toMatch(/^respcast token mint: --sub is required\n/)
  })

  test.runIf(canUseDefaultPorts)(
    'starts without any configuration, on loopback, and prints how to try it',
    async () => {
      const cwd = folder()
      const run = respcast([], { cwd })
      await run.says('Ctrl-C ends it.')
      const text = run.output()
      const token = /http:\/\/127\.0\.0\.1:8080\/#token=(\S+)/.exec(text)?.[1] ?? ''
      expect(text).toMatch(/RESP +127\.0\.0\.1:6380/)
      expect(text).toMatch(/admin +http:\/\/127\.0\.0\.1:8081\/ +\(user admin, password \S+\)/)
      for (const word of [
        'PUBLISH news hello',
        'token mint --sub 42',
        'ACL SETUSER role:demo resetchannels',
      ]) {
        expect(text).toContain(word)
      }
      const browser = await connectWebSocket('ws://127.0.0.1:8080/ws', { token })
      open.onEnd(() => browser.destroy())
      await takeAccepted(browser, 'jwt:demo')
      browser.command('SUBSCRIBE', 'news')
      await assertReads(browser, push(3, 'subscribe', 'news', 1))
      const backend = await connectRaw(6380)
      open.onEnd(() => backend.destroy())
      await assertReply(backend, ['PUBLISH', 'news', 'hello'], ':1\r\n')
      await assertReads(browser, push(3, 'message', 'news', 'hello'))
      await assertReply(backend, ['ACL', 'SETUSER', 'role:demo', 'resetchannels'], '+OK\r\n')
      expect((await browser.closed).code).toBe(4403)
      await assertPong(backend)
      run.child.kill('SIGTERM')
      expect(await run.exited).toBe(0)
    },
  )
})
