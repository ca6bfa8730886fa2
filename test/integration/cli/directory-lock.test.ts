import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import fastify from 'fastify'
import { expect, test } from 'vitest'
import { systemClock } from '../../../server/clock.ts'
import { DirectoryLock } from '../../../server/directory-lock.ts'
import { checkConfiguration } from '../../../server/cli/check.ts'
import { serve } from '../../../server/cli/serve.ts'
import { respcast as respcastPlugin } from '../../../server/embed.ts'
import { folderWith } from '../../support/folder.ts'
import { opener } from '../../support/opened.ts'
import { respcast, ROOT, type Run } from '../../support/process.ts'

const open = opener()

const ISSUER = {
  RESPCAST_CONF_JWT_ISSUER: 'iss',
  RESPCAST_CONF_JWT_AUDIENCE: 'aud',
  RESPCAST_CONF_JWT_SECRET: 'a-secret-of-at-least-thirty-two-bytes',
}

/** A server in a folder, which is its one listener. */
function start(cwd: string, ...more: string[]): Run {
  const off = ['--port', '0', '--http-port', '0', '--admin-port', '0', '--unixsocket', 'socket']
  return respcast(open, [...more, ...off], { cwd, env: ISSUER })
}

test('A second server in one dir refuses to start and names the first; after SIGKILL it starts', async () => {
  const cwd = folderWith({ key: ISSUER.RESPCAST_CONF_JWT_SECRET })
  const first = start(cwd)
  await first.says('ready')
  const files = readdirSync(cwd)
  const directives = {
    port: '0',
    dir: cwd,
    'http-bind': '127.0.0.1',
    'jwt-issuer': 'iss',
    'jwt-audience': 'aud',
    'jwt-secret-file': 'key',
  }
  const argv = Object.entries(directives).flatMap(([name, value]) => [`--${name}`, value])
  const refusal = {
    code: 'ERR_DIR_IN_USE',
    message: expect.stringMatching(
      new RegExp(`^dir: .* is in use by process ${first.child.pid} on .*held it since `),
    ),
  }
  await expect(serve(argv)).rejects.toMatchObject(refusal)
  const app = fastify()
  open.onEnd(() => app.close())
  const embedded = Promise.resolve(app.register(respcastPlugin, { directives }))
  await expect(embedded).rejects.toMatchObject(refusal)
  await checkConfiguration(argv)
  expect(readdirSync(cwd)).toEqual(files)

  first.child.kill('SIGKILL')
  await first.ended
  await start(cwd).says('ready')
})

const CONTENDER = `
const { DirectoryLock } = await import(process.env.LOCK)
const { systemClock } = await import(process.env.CLOCK)
process.on('message', async (folder) => {
  const lock = new DirectoryLock({ folder, clock: systemClock })
  const won = await lock.take().then(() => true, (error) => error.code)
  process.send(won)
})
process.send('ready')
`

test('Of several processes that start at once exactly one gets the dir, also after a crash', async () => {
  const folder = folderWith({ 'contender.mjs': CONTENDER })
  const built = (name: string): string => pathToFileURL(join(ROOT, 'dist/server', name)).href
  const env = { LOCK: built('directory-lock.js'), CLOCK: built('clock.js') }
  const children: ChildProcess[] = [1, 2, 3, 4].map(() =>
    fork(join(folder, 'contender.mjs'), { env, execArgv: [] }),
  )
  open.onEnd(async () => {
    for (const child of children) child.kill()
    await Promise.all(
      children.filter(({ exitCode }) => exitCode === null).map((child) => once(child, 'close')),
    )
  })
  await Promise.all(children.map((child) => once(child, 'message')))

  const crashed = lockOfCrashed()
  for (let round = 0; round < 20; round++) {
    const raced = join(folder, String(round))
    mkdirSync(raced)
    if (round % 2 === 1) writeFileSync(join(raced, 'respcast.lock.7'), crashed)
    const answers = children.map((child) => once(child, 'message'))
    for (const child of children) child.send(raced)
    const results = (await Promise.all(answers)).map(([answer]: unknown[]) => answer)
    expect(results.filter((result) => result === true)).toHaveLength(1)
    expect(results.filter((result) => result === 'ERR_DIR_IN_USE')).toHaveLength(3)
    expect(readdirSync(raced)).toEqual([`respcast.lock.${round % 2 === 1 ? 8 : 1}`])
  }
})

/** The lock of a process of this machine that has ended; whether it lives is known at once, so that nobody waits. */
function lockOfCrashed(): string {
  const folder = folderWith()
  const lock = new DirectoryLock({ folder, clock: systemClock })
  lock.takeNow()
  const holder: object = JSON.parse(readFileSync(join(folder, 'respcast.lock.1'), 'utf8'))
  lock.release()
  return JSON.stringify({ ...holder, pid: 2 ** 22 + 1 })
}
