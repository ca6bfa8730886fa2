import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SignJWT } from 'jose'

/** The server's core, and the load's. */
export const SERVER_CPU = '0'
export const LOAD_CPU = '1'

const SECRET = '0123456789abcdef0123456789abcdef'

/** Longest time that a server may take to start, in ms. */
const START_MS = 60_000

/** A server under load. */
export interface BenchServer {
  readonly name: 'respcast' | 'valkey' | 'redis' | 'nats' | 'bare node'
  readonly pid: number
  /** RESP, or for NATS its WebSocket. */
  readonly port: number
  /** HTTP port of Respcast. */
  readonly httpPort: number
  readonly version: string
  stop(): Promise<void>
}

/** Reports whether a program is installed. */
export function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
}

/** A token for the WebSocket scenarios. */
export async function benchToken(): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  return new SignJWT({ respcast: { roles: ['bench'] }, iss: 'bench', aud: 'bench', sub: 'bench' })
    .setIssuedAt(now)
    .setExpirationTime(now + 6 * 3600)
    .setProtectedHeader({ alg: 'HS256' })
    .sign(Buffer.from(SECRET))
}

/**
 * Starts the Respcast that is built in the directory `root`, with large limits, as a Redis has them.
 *
 * @param upstreamPort Port of the upstream on 127.0.0.1; 0: it runs alone.
 */
export function startRespcast(
  port: number,
  httpPort: number,
  root: string,
  upstreamPort = 0,
): Promise<BenchServer> {
  const dir = mkdtempSync(join(tmpdir(), 'respcast-bench-'))
  const file = join(dir, 'respcast.conf')
  writeFileSync(
    file,
    [
      `port ${port}`,
      `http-port ${httpPort}`,
      'admin-port 0',
      `dir ${dir}`,
      'maxclients 60000',
      'loglevel warning',
      'ws-ping-interval 0',
      'ws-max-patterns 0',
      'ws-max-subscriptions 0',
      'ws-max-payload 8mb',
      'client-output-buffer-limit websocket 64mb 0 0',
      'user role:bench off allchannels +subscribe +psubscribe +publish',
      'jwt-issuer bench',
      'jwt-audience bench',
      `jwt-secret ${SECRET}`,
      ...(upstreamPort === 0 ? [] : [`upstream redis://127.0.0.1:${upstreamPort}`]),
      '',
    ].join('\n'),
  )
  const main = join(root, 'dist/server/main.js')
  return start('respcast', process.execPath, [main, file], port, httpPort, '--version')
}

/** Starts a gateway before a Valkey, both on the server's core: on the other one the Valkey would wait for the load. */
export async function startGateway(
  port: number,
  httpPort: number,
  root: string,
  upstreamPort: number,
): Promise<BenchServer> {
  const valkey = await startRedis('valkey-server', upstreamPort, SERVER_CPU)
  const gateway = await startRespcast(port, httpPort, root, upstreamPort)
  await publishes(port)
  return {
    ...gateway,
    stop: async () => {
      await gateway.stop()
      await valkey.stop()
    },
  }
}

/** Waits until a gateway hands messages to its upstream. */
async function publishes(port: number): Promise<void> {
  const deadline = Date.now() + START_MS
  for (;;) {
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write('PUBLISH ready x\r\n'))
      socket.once('data', (bytes) => resolve(bytes.toString()))
      socket.once('error', () => resolve(''))
      socket.once('data', () => socket.destroy())
    })
    if (answer.startsWith(':')) return
    if (Date.now() > deadline) throw new Error(`port ${port} publishes nothing: ${answer}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Starts a Redis or a Valkey without persistence. @param cpu Its core. */
export function startRedis(
  program: 'valkey-server' | 'redis-server',
  port: number,
  cpu = SERVER_CPU,
): Promise<BenchServer> {
  const name = program === 'valkey-server' ? 'valkey' : 'redis'
  const args = [
    '--port',
    String(port),
    '--save',
    '',
    '--appendonly',
    'no',
    '--maxclients',
    '60000',
    '--protected-mode',
    'no',
    '--client-output-buffer-limit',
    'pubsub 0 0 0',
  ]
  return start(name, program, args, port, 0, '--version', cpu)
}

/** Starts the program that only answers: what the runtime itself costs. */
export function startBareNode(port: number): Promise<BenchServer> {
  const args = ['--import', 'tsx', join(import.meta.dirname, 'bare-node.ts'), String(port)]
  return start('bare node', process.execPath, args, port, 0, '--version')
}

/** Starts a NATS with a WebSocket listener without TLS. */
export function startNats(port: number, webSocketPort: number): Promise<BenchServer> {
  const dir = mkdtempSync(join(tmpdir(), 'nats-bench-'))
  const file = join(dir, 'nats.conf')
  writeFileSync(file, `port: ${port}\nwebsocket { port: ${webSocketPort}, no_tls: true }\n`)
  return start('nats', 'nats-server', ['-c', file], webSocketPort, 0, '--version')
}

async function start(
  name: BenchServer['name'],
  program: string,
  args: readonly string[],
  port: number,
  httpPort: number,
  versionFlag: string,
  cpu = SERVER_CPU,
): Promise<BenchServer> {
  const version = spawnSync(
    program,
    name === 'respcast' ? [args[0] ?? '', versionFlag] : [versionFlag],
  )
  const child = spawn('taskset', ['-c', cpu, program, ...args], { stdio: 'ignore' })
  await listening(port, child)
  if (httpPort > 0) await listening(httpPort, child)
  return {
    name,
    pid: child.pid ?? 0,
    port,
    httpPort,
    version: version.stdout.toString().trim().split('\n', 1)[0] ?? '',
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve())
        // Without a drain: nobody is connected any more.
        child.kill('SIGINT')
      }),
  }
}

async function listening(port: number, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + START_MS
  for (;;) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('connect', () => resolve(true))
      socket.once('error', () => resolve(false))
      socket.once('close', () => socket.destroy())
      socket.once('connect', () => socket.destroy())
    })
    if (isOpen) return
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error(`nobody listens on ${port}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
