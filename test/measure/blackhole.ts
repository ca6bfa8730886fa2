/**
 * Cuts the line of a browser in silence, and prints how long the server takes to find out. As root, after `npm run build:server`:
 * `node --import tsx test/measure/blackhole.ts [--interval 25 --timeout 10]`.
 *
 * Two network namespaces with a cable between them: its end at the browser is pulled, so that nobody is told anything. The server is
 * watched through a Unix socket, which is in no network.
 */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { systemClock } from '../../server/clock.ts'
import { mintToken } from '../../server/token/mint.ts'
import { ROOT } from '../support/process.ts'
import { connectRaw } from '../support/resp-client.ts'
import { TEST_AUDIENCE, TEST_ISSUER, TEST_SECRET } from '../support/server.ts'

const { values } = parseArgs({
  options: {
    interval: { type: 'string', default: '25' },
    timeout: { type: 'string', default: '10' },
  },
})

/** Names of this process's own, so that nothing of anybody else is taken away. */
const SERVER = `respcast-s${process.pid}`
const BROWSER = `respcast-b${process.pid}`

const ip = (...words: string[]): void => void execFileSync('ip', words)

function connectNamespaces(): void {
  for (const space of [SERVER, BROWSER]) ip('netns', 'add', space)
  ip(
    'link',
    'add',
    'cable',
    'netns',
    SERVER,
    'type',
    'veth',
    'peer',
    'name',
    'cable',
    'netns',
    BROWSER,
  )
  for (const [space, address] of [
    [SERVER, '10.99.0.1/24'],
    [BROWSER, '10.99.0.2/24'],
  ] as const) {
    ip('-n', space, 'addr', 'add', address, 'dev', 'cable')
    for (const link of ['cable', 'lo']) ip('-n', space, 'link', 'set', link, 'up')
  }
}

const BROWSER_PROGRAM = `
  import { WebSocket } from 'ws'
  new WebSocket('ws://10.99.0.1:8080/ws', ['resp3', 'bearer.' + process.env.TOKEN])
  setInterval(() => {}, 1000)
`

const folder = mkdtempSync(join(tmpdir(), 'respcast-blackhole-'))
const inside = (space: string, args: readonly string[], env: object) =>
  spawn('ip', ['netns', 'exec', space, process.execPath, ...args], {
    cwd: ROOT,
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], ...env },
  })

connectNamespaces()
const socketPath = join(folder, 'socket')
const server = inside(
  SERVER,
  [
    join(ROOT, 'dist/server/main.js'),
    ...[
      '--port',
      '0',
      '--unixsocket',
      socketPath,
      '--http-bind',
      '10.99.0.1',
      '--admin-port',
      '0',
      '--dir',
      folder,
    ],
    ...['--ws-allowed-origins', 'https://app.example'],
    ...['--ws-ping-interval', values.interval, '--ws-pong-timeout', values.timeout],
  ],
  {
    RESPCAST_CONF_JWT_ISSUER: TEST_ISSUER,
    RESPCAST_CONF_JWT_AUDIENCE: TEST_AUDIENCE,
    RESPCAST_CONF_JWT_SECRET: TEST_SECRET.toString(),
  },
)
const token = await mintToken(
  TEST_SECRET,
  {
    iss: TEST_ISSUER,
    aud: TEST_AUDIENCE,
    sub: '1',
    claim: 'respcast',
    lifetimeSeconds: 3600,
    grants: {},
  },
  systemClock,
)
const processes = [server]
try {
  while (!existsSync(socketPath)) {
    if (server.exitCode !== null) throw new Error('the server did not start')
    await wait(50)
  }
  processes.push(inside(BROWSER, ['--input-type=module', '-e', BROWSER_PROGRAM], { TOKEN: token }))
  const backend = await connectRaw(socketPath)
  const isThere = async (): Promise<boolean> =>
    (await backend.askBulk('CLIENT', 'LIST')).includes('user=jwt:1')
  while (!(await isThere())) await wait(50)
  ip('-n', BROWSER, 'link', 'set', 'cable', 'down')
  const cutMs = performance.now()
  while (await isThere()) await wait(100)
  console.log(
    `R39  a browser whose line was cut is found after ${((performance.now() - cutMs) / 1000).toFixed(1)} s (ws-ping-interval ${values.interval}, ws-pong-timeout ${values.timeout})`,
  )
  backend.destroy()
} finally {
  for (const child of processes) child.kill('SIGKILL')
  for (const space of [SERVER, BROWSER]) ip('netns', 'delete', space)
  rmSync(folder, { recursive: true, force: true })
}
