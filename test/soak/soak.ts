import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../../server/clock.ts'
import { mintToken } from '../../server/token/mint.ts'
import { ROOT } from '../support/process.ts'
import { freePort } from '../support/free-port.ts'
import { TEST_AUDIENCE, TEST_ISSUER, TEST_SECRET } from '../support/server.ts'
import { HonestClients, type Complaint } from './honest.ts'
import type { Target } from './peer.ts'

const HEAP_MEGABYTES = 256

export interface SoakOptions {
  readonly seconds: number
  readonly seed: number
  /** Longest wait for the memory of the attacks to come back. */
  readonly recoverySeconds: number
  /** Only attacks whose names contain it. */
  readonly only?: string
}

/** Outcome of a soak. */
export interface SoakReport {
  /** What honest clients missed; empty is as it has to be. */
  readonly complaints: readonly Complaint[]
  /** How the server ended, if it did. */
  readonly crash: string | undefined
  /** Rounds of each attack. */
  readonly rounds: Readonly<Record<string, number>>
  readonly published: number
  /** Round trips of an honest PING under attack, in ms. */
  readonly ping: { readonly median: number; readonly p99: number; readonly worst: number }
  /** Resident memory of the server in MB: before the attacks, at most, and once they are over. */
  readonly megabytes: { readonly before: number; readonly most: number; readonly after: number }
  readonly logLinesPerSecond: number
}

/** Attacks a server whose heap is small, while honest clients count what they get. Needs a build. */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { seconds, seed, recoverySeconds, only = '' } = options
  const folder = mkdtempSync(join(tmpdir(), 'respcast-soak-'))
  const target = { respPort: await freePort(), httpPort: await freePort() }
  const logFile = join(folder, 'log')
  const server = startServer(target, folder, logFile)
  let crash: string | undefined
  server.once('exit', (code, signal) => (crash = `code ${code}, ${signal ?? 'no signal'}`))
  const stopped = new Promise((resolve) => void server.once('exit', resolve))
  const honest = new HonestClients()
  try {
    await isReady(logFile, () => crash)
    await honest.start(target, await tokenFor('honest', 'honest'))
    await wait(500)
    const before = residentMegabytes(server)
    honest.pings.length = 0
    const hostile = await startHostile(target, seed, only)
    let most = before
    const watch = setInterval(() => (most = Math.max(most, residentMegabytes(server))), 50)
    const endMs = performance.now() + seconds * 1000
    while (performance.now() < endMs && isAlive(server)) await wait(50)
    const pings = honest.pings.toSorted((a, b) => a - b)
    const rounds = await hostile.stop()
    await honest.finish()
    clearInterval(watch)
    const after = await memoryAfterwards(server, before, recoverySeconds)
    const lines = readFileSync(logFile, 'latin1').split('\n').length
    return {
      complaints: honest.complaints.slice(0, 20),
      crash:
        crash === undefined
          ? undefined
          : `${crash}: ${readFileSync(logFile, 'latin1').slice(-500)}`,
      rounds,
      published: honest.published,
      ping: { median: at(pings, 0.5), p99: at(pings, 0.99), worst: at(pings, 1) },
      megabytes: { before, most, after },
      logLinesPerSecond: Math.round(lines / seconds),
    }
  } finally {
    server.kill('SIGKILL')
    await stopped
    rmSync(folder, { recursive: true, force: true })
  }
}

function isAlive({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

function startServer(
  { respPort, httpPort }: Target,
  folder: string,
  logFile: string,
): ChildProcess {
  const log = openSync(logFile, 'a')
  const args = [
    '--bind',
    '127.0.0.1',
    '--port',
    `${respPort}`,
    '--http-port',
    `${httpPort}`,
    '--admin-port',
    '0',
  ]
  const child = spawn(
    process.execPath,
    [
      `--max-old-space-size=${HEAP_MEGABYTES}`,
      join(ROOT, 'dist/server/main.js'),
      ...args,
      '--dir',
      folder,
    ],
    {
      stdio: ['ignore', log, log],
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        RESPCAST_CONF_JWT_ISSUER: TEST_ISSUER,
        RESPCAST_CONF_JWT_AUDIENCE: TEST_AUDIENCE,
        RESPCAST_CONF_JWT_SECRET: TEST_SECRET.toString(),
      },
    },
  )
  closeSync(log)
  return child
}

async function isReady(logFile: string, crash: () => string | undefined): Promise<void> {
  while (!readFileSync(logFile, 'latin1').includes('ready to accept connections')) {
    if (crash() !== undefined)
      throw new Error(`the server did not start: ${readFileSync(logFile, 'latin1')}`)
    await wait(20)
  }
}

/** A token that may do what it wants on a channel, or on those of a pattern. */
function tokenFor(sub: string, channel: string): Promise<string> {
  const grants = { channels: [channel] }
  const request = {
    iss: TEST_ISSUER,
    aud: TEST_AUDIENCE,
    sub,
    claim: 'respcast',
    lifetimeSeconds: 3600,
    grants,
  }
  return mintToken(TEST_SECRET, request, systemClock)
}

async function startHostile(
  target: Target,
  seed: number,
  only: string,
): Promise<{ stop(): Promise<Record<string, number>> }> {
  const tokens = await Promise.all(
    Array.from({ length: 20 }, (_, i) => tokenFor(`hostile:${i}`, 'h:*')),
  )
  const child = spawn(
    process.execPath,
    [
      '--import',
      'tsx',
      join(import.meta.dirname, 'hostile.ts'),
      JSON.stringify({ target, tokens, seed, only }),
    ],
    { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] },
  )
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = new Promise((resolve) => void child.once('close', resolve))
  // It says so when it begins.
  await new Promise((resolve) => void child.stdout.once('data', resolve))
  output = ''
  return {
    stop: async () => {
      child.stdin.end()
      const timer = setTimeout(() => child.kill('SIGKILL'), 60_000)
      await ended
      clearTimeout(timer)
      return JSON.parse(output || '{}') as Record<string, number>
    },
  }
}

function residentMegabytes({ pid }: ChildProcess): number {
  try {
    const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? []
    return Math.round(Number(kilobytes ?? 0) / 1024)
  } catch {
    return 0
  }
}

/** The least that is resident within some seconds: memory comes back when the garbage collector has time. */
async function memoryAfterwards(
  server: ChildProcess,
  before: number,
  seconds: number,
): Promise<number> {
  let least = residentMegabytes(server)
  const endMs = performance.now() + seconds * 1000
  while (performance.now() < endMs && least > before * 1.2) {
    await wait(100)
    least = Math.min(least, residentMegabytes(server))
  }
  return least
}
