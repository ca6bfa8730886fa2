import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { systemClock } from '../../server/clock.ts'
import { mintToken } from '../../server/token/mint.ts'
import { connectRaw } from '../support/resp-client.ts'
import { ask } from './support/ask.ts'
import { eventually, opener } from './support/opened.ts'

const open = opener()

const MAIN = fileURLToPath(new URL('../../server/main.ts', import.meta.url))
const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href

/** A port that nobody listens on. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => void server.close(resolve))
  return port
}

test('SIGHUP makes a running server read its configuration and its key files again', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'respcast-sighup-'))
  open.onEnd(() => rmSync(dir, { recursive: true, force: true }))
  const port = await freePort()
  const log = join(dir, 'log')
  const file = join(dir, 'respcast.conf')
  const configure = (...lines: string[]): void => {
    const base = [`dir ${dir}`, `port ${port}`, 'bind 127.0.0.1', 'http-port 0', 'admin-port 0']
    const issuer = ['jwt-issuer https://issuer.test', 'jwt-audience test', 'jwt-secret-file secret']
    writeFileSync(file, [...base, 'logfile log', ...issuer, ...lines, ''].join('\n'))
  }
  const [first, second] = ['a', 'b'].map((letter) => letter.repeat(32)) as [string, string]
  const login = async (secret: string) => {
    const request = { iss: 'https://issuer.test', aud: 'test', sub: '1', claim: 'respcast' }
    const token = await mintToken(
      Buffer.from(secret),
      { ...request, lifetimeSeconds: 600, grants: {} },
      systemClock,
    )
    const client = await connectRaw(port)
    open.onEnd(() => client.destroy())
    return { client, reply: await ask(client, 'AUTH', 'jwt', token) }
  }
  const logged = (text: string): number => readFileSync(log, 'utf8').split(text).length - 1

  writeFileSync(join(dir, 'secret'), first)
  configure()
  const child = spawn(process.execPath, ['--import', TSX, MAIN, file], {
    cwd: dir,
    env: { PATH: process.env['PATH'] },
    stdio: 'ignore',
  })
  const exited = new Promise((resolve) => child.on('close', resolve))
  open.onEnd(async () => {
    child.kill('SIGKILL')
    await exited
  })
  writeFileSync(log, '', { flag: 'a' })
  await eventually('the server is ready', () => logged('ready to accept') === 1)

  const old = await login(first)
  expect(old.reply).toBe('OK')

  writeFileSync(join(dir, 'secret'), 'too short')
  child.kill('SIGHUP')
  await eventually('it says that it changes nothing', () => logged('nothing was changed') === 1)
  expect((await login(first)).reply).toBe('OK')

  writeFileSync(join(dir, 'secret'), second)
  configure('timeout 77', 'tcp-backlog 99')
  child.kill('SIGHUP')
  await eventually('it has read again', () => logged('count from the next start on') === 1)
  await old.client.closed
  expect((await login(first)).reply).toBe('-WRONGPASS invalid token')
  const { client, reply } = await login(second)
  expect(reply).toBe('OK')
  const admin = await connectRaw(port)
  open.onEnd(() => admin.destroy())
  expect(await ask(admin, 'CONFIG', 'GET', 'timeout')).toEqual(['timeout', '77'])
  expect(await ask(admin, 'CONFIG', 'GET', 'tcp-backlog')).toEqual(['tcp-backlog', '511'])
  expect(readFileSync(log, 'utf8')).not.toContain(second)
  client.destroy()
})
