import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { requireInCi } from '../../interop/endpoint.ts'
import { endProgram, runProgram, type Running } from '../../interop/run-program.ts'
import { folderWith } from '../../support/folder.ts'
import { freePort } from '../../support/free-port.ts'
import { eventually } from '../../support/opened.ts'
import { ROOT } from '../../support/process.ts'
import { connectRaw } from '../../support/resp-client.ts'

const PYTHON = '/usr/bin/python3'
const hasPython = requireInCi(existsSync(PYTHON), 'python3')

/** The configuration of all servers here: its ports are others than those of the sockets. */
const DIRECTIVES = '--drain-grace-seconds 0 --drain-seconds 0 --loglevel notice'.split(' ')

/** Hands sockets over to a server. @param rounds How often it is started again after a good end. */
function handOver(
  places: readonly string[],
  names: string,
  directives: readonly string[] = [],
  rounds = 1,
): Running {
  const running = runProgram(PYTHON, [
    join(ROOT, 'test/support/hand-over.py'),
    places.join(','),
    names,
    String(rounds),
    process.execPath,
    join(ROOT, 'dist/server/main.js'),
    ...['--dir', folderWith(), ...DIRECTIVES, ...directives],
  ])
  onTestFinished(async () => {
    const pid = pidOf(running)
    if (pid !== undefined && !running.output().endsWith('ended 0\n')) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has ended by itself.
      }
    }
    await endProgram(running)
  })
  return running
}

/** The process of the server that was started last. */
function pidOf(running: Running): number | undefined {
  const started = [...running.output().matchAll(/^started (\d+)$/gm)].at(-1)
  return started === undefined ? undefined : Number(started[1])
}

const READY = 'ready to accept connections'

/** Waits until a server has said that it is ready. */
function ready(running: Running): Promise<void> {
  return eventually('it is ready', () => running.output().includes(READY))
}

async function assertAnswers(port: number): Promise<void> {
  const client = await connectRaw(port)
  onTestFinished(() => client.destroy())
  await client.assertPong()
}

describe.runIf(hasPython)('A server whose sockets were handed over', () => {
  test('serves RESP, browsers and administrators on them, and opens no other port for these', async () => {
    const [resp, http, admin] = [await freePort(), await freePort(), await freePort()]
    const others = [await freePort(), await freePort(), await freePort()]
    const running = handOver(
      [`127.0.0.1:${resp}`, `127.0.0.1:${http}`, `127.0.0.1:${admin}`],
      'resp:http:admin',
      others.flatMap((port, at) => [
        ['--port', '--http-port', '--admin-port'][at] ?? '',
        `${port}`,
      ]),
    )
    await ready(running)
    expect(running.output()).toContain(
      `"resp":["127.0.0.1:${resp}"],"http":${http},"admin":${admin}`,
    )
    await assertAnswers(resp)
    expect((await fetch(`http://127.0.0.1:${http}/client/client.js`)).status).toBe(200)
    expect((await fetch(`http://127.0.0.1:${admin}/readyz`)).status).toBe(200)
    for (const port of others) {
      await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toMatchObject({
        cause: { code: 'ECONNREFUSED' },
      })
    }
  })

  test('may have several for one listener', async () => {
    const [one, two] = [await freePort(), await freePort()]
    const running = handOver([`127.0.0.1:${one}`, `127.0.0.1:${two}`], 'resp:resp', [
      ...['--http-port', '0', '--admin-port', '0'],
    ])
    await ready(running)
    await assertAnswers(one)
    await assertAnswers(two)
  })

  test('leaves newcomers waiting while it restarts, instead of having them refused', async () => {
    const [resp, http] = [await freePort(), await freePort()]
    const places = [`127.0.0.1:${resp}`, `127.0.0.1:${http}`]
    const running = handOver(places, 'resp:http', ['--admin-port', '0'], 2)
    await ready(running)
    process.kill(pidOf(running) ?? 0, 'SIGTERM')
    await eventually('it has ended', () => running.output().includes('ended 0'))
    const page = fetch(`http://127.0.0.1:${http}/client/client.js`)
    await assertAnswers(resp)
    expect((await page).status).toBe(200)
    expect(running.output().match(/^started/gm)).toHaveLength(2)
  })

  test.each<[string, string, string, readonly string[]]>([
    ['a name that no listener has', '127.0.0.1', 'redis', []],
    ['a listener that is off', '127.0.0.1', 'resp', ['--port', '0']],
    ['beyond loopback, where http-bind is on it', '0.0.0.0', 'http', []],
    ['beyond loopback, where admin-bind is on it', '0.0.0.0', 'admin', []],
    ['beyond loopback, where bind is on it', '0.0.0.0', 'resp', ['--bind', '127.0.0.1']],
  ])('does not start with %s', async (_what, host, name, directives) => {
    const port = await freePort()
    const ports = ['--http-port', '--admin-port'].flatMap((directive) =>
      directive.includes(name) ? [] : [directive, '0'],
    )
    const running = handOver([`${host}:${port}`], name, [...ports, ...directives])
    expect(await running.ended).toBe(1)
    const expected = {
      redis:
        "a socket for 'redis'. Set FileDescriptorName in its .socket unit to one of resp, http, admin.",
      resp:
        directives[0] === '--port'
          ? `port: the socket 'resp' on 127.0.0.1:${port} was handed over, and 0 turns this listener off. Set port ${port}.`
          : `bind: the socket 'resp' on 0.0.0.0:${port} was handed over, which is beyond loopback. Set bind 0.0.0.0`,
      http: `http-bind: the socket 'http' on 0.0.0.0:${port} was handed over, which is beyond loopback. Set http-bind 0.0.0.0`,
      admin: `admin-bind: the socket 'admin' on 0.0.0.0:${port} was handed over, which is beyond loopback. Set admin-bind 0.0.0.0`,
    }[name]
    expect(running.output()).toContain(expected)
  })
})
