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
import { SHARED_SEATS, type Seats } from './processor.ts'
import type { RoundTrip } from './round-trips.ts'

const HEAP_MEGABYTES = 256
const MEGABYTE = 1_048_576

export interface SoakOptions {
  /** Of all floods together. */
  readonly seconds: number
  /** Number of floods, one after the other. */
  readonly floods: number
  readonly seed: number
  /** Between two floods. */
  readonly restSeconds: number
  /** Only attacks whose names contain it. */
  readonly only?: string
  /** All processors for everybody by default. */
  readonly seats?: Seats
}

interface Percentiles {
  readonly median: number
  readonly p99: number
  readonly worst: number
}

/** Answer of the probe in the server. */
interface Probed {
  readonly turnMs: number
  readonly usedBytes: number
  /** What the longest turns executed, if that was sampled. */
  readonly told?: readonly string[]
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
  readonly ping: Percentiles
  /** The same without the time for which others had the processor. */
  readonly ownPing: Percentiles
  /** Longest turn of the server's event loop, in ms of processor time. */
  readonly longestTurnMs: number
  /** What the longest turns executed, in lines of text; none unless the environment has SOAK_PROFILE. */
  readonly longTurns: readonly string[]
  /** Resident memory of the server in MB: before the attacks, at most, and after each flood and the rest that follows it. */
  readonly megabytes: {
    readonly before: number
    readonly most: number
    readonly afterFloods: readonly number[]
  }
  /** Heap and buffers in use after a full collection, in MB: before the attacks, and once they are over. */
  readonly usedMegabytes: { readonly before: number; readonly after: number }
  readonly logLinesPerSecond: number
}

/** Attacks a server whose heap is small, while honest clients count what they get. Needs a build. */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { seconds, floods, seed, restSeconds, only = '', seats = SHARED_SEATS } = options
  const folder = mkdtempSync(join(tmpdir(), 'respcast-soak-'))
  const target = { respPort: await freePort(), httpPort: await freePort() }
  const logFile = join(folder, 'log')
  const server = startServer(target, folder, logFile, seats)
  let crash: string | undefined
  server.once('exit', (code, signal) => (crash = `code ${code}, ${signal ?? 'no signal'}`))
  const stopped = new Promise((resolve) => void server.once('exit', resolve))
  const honest = new HonestClients()
  try {
    await isReady(logFile, () => crash)
    seats.preferServer(server)
    await honest.start(target, await tokenFor('honest', 'honest'), server.pid, seats)
    await wait(500)
    const { usedBytes: usedBefore } = await probe(server, 'look')
    const before = residentMegabytes(server)
    let most = before
    const watch = setInterval(() => (most = Math.max(most, residentMegabytes(server))), 50)
    const pings: RoundTrip[] = []
    const rounds: Record<string, number> = {}
    const afterFloods: number[] = []
    for (let flood = 0; flood < floods && isAlive(server); flood++) {
      await honest.takeRoundTrips()
      const hostile = await startHostile(target, seed + flood, only, seats)
      const endMs = performance.now() + (seconds / floods) * 1000
      while (performance.now() < endMs && isAlive(server)) await wait(50)
      pings.push(...(await honest.takeRoundTrips()))
      for (const [name, count] of Object.entries(await hostile.stop()))
        rounds[name] = (rounds[name] ?? 0) + count
      await wait(restSeconds * 1000)
      afterFloods.push(residentMegabytes(server))
    }
    await honest.finish()
    clearInterval(watch)
    const { turnMs, usedBytes, told = [] } = await probe(server, 'last')
    const lines = readFileSync(logFile, 'latin1').split('\n').length
    return {
      complaints: honest.complaints.slice(0, 20),
      crash:
        crash === undefined
          ? undefined
          : `${crash}: ${readFileSync(logFile, 'latin1').slice(-500)}`,
      rounds,
      published: honest.published,
      ping: percentiles(pings.map(({ ms }) => ms)),
      ownPing: percentiles(pings.map(({ ownMs }) => ownMs)),
      longestTurnMs: turnMs,
      longTurns: told,
      megabytes: { before, most, afterFloods },
      usedMegabytes: { before: usedBefore / MEGABYTE, after: usedBytes / MEGABYTE },
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

/** Asks the probe in the server, which forgets what it told. NaN if the server has ended. */
async function probe(server: ChildProcess, what: 'look' | 'last'): Promise<Probed> {
  const ended = { turnMs: Number.NaN, usedBytes: Number.NaN }
  if (!isAlive(server)) return ended
  return new Promise((resolve) => {
    server.once('message', (answer) => resolve(answer as Probed))
    server.once('exit', () => resolve(ended))
    server.send(what)
  })
}

function percentiles(values: readonly number[]): Percentiles {
  const sorted = values.toSorted((a, b) => a - b)
  return { median: at(sorted, 0.5), p99: at(sorted, 0.99), worst: at(sorted, 1) }
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

function startServer(
  { respPort, httpPort }: Target,
  folder: string,
  logFile: string,
  seats: Seats,
): ChildProcess {
  const log = openSync(logFile, 'a')
  const listeners = [
    '--bind',
    '127.0.0.1',
    '--port',
    `${respPort}`,
    '--http-port',
    `${httpPort}`,
    '--admin-port',
    '0',
  ]
  const [program, ...args] = seats.server([
    process.execPath,
    `--max-old-space-size=${HEAP_MEGABYTES}`,
    '--expose-gc',
    '--import',
    join(import.meta.dirname, 'probe.mjs'),
    join(ROOT, 'dist/server/main.js'),
    ...listeners,
    '--dir',
    folder,
  ])
  const child = spawn(program, args, {
    stdio: ['ignore', log, log, 'ipc'],
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      ...(process.env['SOAK_PROFILE'] === undefined ? {} : { SOAK_PROFILE: '1' }),
      RESPCAST_CONF_JWT_ISSUER: TEST_ISSUER,
      RESPCAST_CONF_JWT_AUDIENCE: TEST_AUDIENCE,
      RESPCAST_CONF_JWT_SECRET: TEST_SECRET.toString(),
    },
  })
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
  seats: Seats,
): Promise<{ stop(): Promise<Record<string, number>> }> {
  const tokens = await Promise.all(
    Array.from({ length: 20 }, (_, i) => tokenFor(`hostile:${i}`, 'h:*')),
  )
  const [program, ...args] = seats.others([
    process.execPath,
    '--import',
    'tsx',
    join(import.meta.dirname, 'hostile.ts'),
    JSON.stringify({ target, tokens, seed, only }),
  ])
  const child = spawn(program, args, { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] })
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
