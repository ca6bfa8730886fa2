import { spawn, type ChildProcess } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { freePort } from './free-port.ts'
import { connectRaw } from './resp-client.ts'

/** A server of another make that this process started. */
export interface RunningServer {
  readonly host: string
  readonly port: number
  readonly pid: number
  stop(): Promise<void>
}

/** Where the first installed program of these names is, or undefined. */
export function findProgram(...names: readonly string[]): string | undefined {
  for (const name of names) {
    for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
      const path = join(folder, name)
      try {
        accessSync(path, constants.X_OK)
        return path
      } catch {
        continue
      }
    }
  }
  return undefined
}

/**
 * Starts `redis-server` or `valkey-server` without persistence on a free port, and waits until it answers PING.
 *
 * @param directives More of its command line: `['--aclfile', '/...']`.
 * @throws Error It ended, or took another server's port, three times.
 */
export async function startRedisServer(
  program: string,
  directives: readonly string[] = [],
): Promise<RunningServer> {
  let problem: unknown
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      return await startOn(program, await freePort(), directives)
    } catch (error) {
      problem = error
    }
  }
  throw new Error(`${program} does not start`, { cause: problem })
}

async function startOn(
  program: string,
  port: number,
  directives: readonly string[],
): Promise<RunningServer> {
  const dir = mkdtempSync(join(tmpdir(), 'respcast-oracle-'))
  const flags = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir]
  const inMemory = ['--save', '', '--appendonly', 'no']
  const child = spawn(program, [...flags, ...inMemory, ...directives], { stdio: 'ignore' })
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
    rmSync(dir, { recursive: true, force: true })
  }
  try {
    await answersPing(child, port)
    return { host: '127.0.0.1', port, pid: child.pid ?? 0, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function answersPing(child: ChildProcess, port: number): Promise<void> {
  const deadline = performance.now() + 10_000
  while (child.exitCode === null && performance.now() < deadline) {
    try {
      const client = await connectRaw(port)
      client.command('PING')
      await client.takeUntil('+PONG\r\n')
      client.destroy()
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  throw new Error('the server did not answer PING')
}
