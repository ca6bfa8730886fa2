import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../../server/clock.ts'
import { mintToken } from '../../../server/token/mint.ts'
import { respcast } from '../../support/process.ts'
import { freePort } from '../../support/free-port.ts'
import { connectRaw } from '../../support/resp-client.ts'
import { ask } from '../../support/ask.ts'
import { eventually, opener } from '../../support/opened.ts'
import { folderWith } from '../../support/folder.ts'

const open = opener()

test('SIGHUP makes a running server read its configuration and its key files again', async () => {
  const dir = folderWith()
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
  const { child } = respcast(open, [file], { cwd: dir })
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

test('SIGHUP opens a log that was renamed anew, and no line is lost', async () => {
  const dir = folderWith()
  const port = await freePort()
  const log = join(dir, 'log')
  const directives = {
    dir,
    port,
    bind: '127.0.0.1',
    'http-port': 0,
    'admin-port': 0,
    'drain-grace-seconds': 0,
    logfile: 'log',
  }
  const args = Object.entries(directives).flatMap(([name, value]) => [`--${name}`, String(value)])
  const { child } = respcast(open, [...args, '--loglevel', 'verbose'], { cwd: dir })
  const lines = (file: string): string[] => {
    try {
      return readFileSync(file, 'utf8').split('\n')
    } catch {
      return []
    }
  }
  const has = (file: string, text: string): boolean => lines(file).some((one) => one.includes(text))
  await eventually('the server is ready', () => has(log, 'ready to accept'))
  const before = lines(log).length

  renameSync(log, `${log}.1`)
  child.kill('SIGHUP')
  await eventually(
    'the new file has what it says about the configuration',
    () => lines(log).length > 1,
  )
  expect(lines(`${log}.1`)).toHaveLength(before)
  child.kill('SIGTERM')
  await eventually('the new file has its end', () => has(log, '"stopped"'))
  expect(has(log, 'ready to accept')).toBe(false)
})
