import { connect, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { respcast } from '../../support/process.ts'
import { freePort } from '../../support/free-port.ts'
import { opener } from '../../support/opened.ts'
import { openUpgrade } from '../../support/raw-upgrade.ts'
import { connectRaw } from '../../support/resp-client.ts'

const open = opener()

const OPEN_FILES = 128

/** A server of its own process that may have 128 open files. */
async function startShort() {
  const [port, httpPort, adminPort] = await Promise.all([freePort(), freePort(), freePort()])
  const args = ['--port', `${port}`, '--http-port', `${httpPort}`, '--admin-port', `${adminPort}`]
  const run = respcast(
    open,
    [...args, '--bind', '127.0.0.1', '--requirepass', 'secret', '--tcp-max-unauthenticated', '10'],
    {
      openFiles: OPEN_FILES,
    },
  )
  await run.says('ready to accept connections')
  return { run, port, httpPort, adminPort }
}

/** Opens a connection that says something, and nothing more. It may be refused or closed. */
function idle(port: number, text: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  open.onEnd(() => void socket.destroy())
  socket.on('error', () => {})
  return new Promise((resolve) => {
    socket.once('close', () => resolve(socket))
    socket.once('connect', () => socket.write(text, () => resolve(socket)))
    if (text !== '') socket.once('data', () => resolve(socket))
  })
}

const ABUSES: Readonly<
  Record<string, (ports: { httpPort: number; port: number }) => Promise<unknown>>
> = {
  'keep-alive connections to an unknown path': ({ httpPort }) =>
    idle(httpPort, 'GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n'),
  'HTTP connections that say nothing': ({ httpPort }) => idle(httpPort, ''),
  'RESP connections that say nothing': ({ port }) => idle(port, ''),
  'WebSockets that do not log in': async ({ httpPort }) => {
    const upgraded = await openUpgrade(httpPort).catch(() => undefined)
    open.onEnd(() => upgraded?.destroy())
  },
}

// Its own process has to start, and all its connections are made over the loopback: slow on a busy machine.
describe('A server with 128 open files', { timeout: 90_000 }, () => {
  test('says what it lowered, survives 150 connections of every kind, and serves others afterwards', async () => {
    const { run, port, httpPort, adminPort } = await startShort()
    expect(run.output()).toContain('You requested maxclients of 10000 requiring at least')
    for (const abuse of Object.values(ABUSES)) {
      await Promise.all(Array.from({ length: 150 }, () => abuse({ httpPort, port })))
      // While they are all there: the public listener and the administrators' serve others.
      expect((await openUpgrade(httpPort)).status).toBe(101)
      const health = await fetch(`http://127.0.0.1:${adminPort}/readyz`)
      expect(health.status).toBe(200)
    }
    const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
    const figure = (name: string) =>
      Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(metrics)?.[1] ?? 'none')
    expect(figure('process_open_fds')).toBeLessThan(OPEN_FILES)
    expect(
      figure('respcast_http_connections{listener="public"}'.replace(/[{}]/g, '\\$&')),
    ).toBeLessThan(9)
    expect(run.child.exitCode).toBeNull()
  })

  test('keeps places for RESP while strangers hold WebSockets', async () => {
    const { port, httpPort } = await startShort()
    for (let at = 0; at < 40; at++) {
      const upgraded = await openUpgrade(httpPort)
      open.onEnd(() => upgraded.destroy())
      expect(upgraded.status).toBe(101)
    }
    const admin = await connectRaw(port)
    open.onEnd(() => admin.destroy())
    await admin.assertReply(['AUTH', 'secret'], '+OK\r\n')
    admin.command('CONFIG', 'SET', 'maxclients', '10000')
    expect(await admin.takeLine()).toMatch(
      /^-ERR CONFIG SET failed .* - The operating system is not able to handle the specified number of clients, try with \d+$/,
    )
  })
})
