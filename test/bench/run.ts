/**
 * Compares this server with others: one server at a time on one core, the load on another, in turns, several rounds.
 *
 * `npm run bench [-- --rounds N --only TEXT --skip TEXT --servers NAMES --against DIR --scale X --json FILE]`. Servers that are not
 * installed are left out. `--only` takes several texts, separated by `|`, and `--servers` parts of their names, separated by
 * commas. With `--against` the other servers are the build in that directory, one commit against another, and Valkey.
 * `--scale 0.2` sends a fifth of the messages, for many short rounds. Quote ratios: they hold where absolute figures of a shared
 * machine do not.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { SCENARIOS, type Contender, type Measure, type Scenario } from './scenarios.ts'
import {
  benchToken,
  isInstalled,
  LOAD_CPU,
  startBareNode,
  startGateway,
  startNats,
  startRedis,
  startRespcast,
  type BenchServer,
} from './servers.ts'

const PORTS = {
  respcast: 7410,
  http: 7480,
  against: 7411,
  againstHttp: 7481,
  gateway: 7412,
  gatewayHttp: 7482,
  upstream: 7421,
  valkey: 7420,
  redis: 7430,
  nats: 7440,
  natsWs: 7441,
  bare: 7450,
}

/** Output of the load generator. */
interface LoadResult {
  readonly published: number
  readonly deliveries: number
  readonly payload: number
  readonly server_cpu_s: number
  readonly connect_s: number
  readonly subs: number
  readonly kb_per_connection: number
  readonly bytes_per_subscription: number
  readonly latency_us?: { readonly p50: number; readonly p99: number; readonly p999: number }
}

/** Measures of which the smaller figure is the better one. */
const LESS_IS_BETTER: readonly Measure[] = ['p99', 'memory', 'subscription memory']

/** All figures of one scenario: by contender, one a round. */
type Figures = Map<Contender, number[]>

/** The root of the repository that holds this file. */
const OWN_ROOT = join(import.meta.dirname, '../..')

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
    skip: { type: 'string', default: '' },
    against: { type: 'string', default: '' },
    scale: { type: 'string', default: '1' },
    json: { type: 'string', default: '' },
    servers: { type: 'string', default: '' },
  },
})

function buildLoad(): string {
  const binary = join(mkdtempSync(join(tmpdir(), 'fanbench-')), 'fanbench')
  const source = join(import.meta.dirname, 'fanbench.c')
  const { status, stderr } = spawnSync('cc', ['-O2', '-o', binary, source])
  if (status !== 0) throw new Error(`cannot build the load generator: ${stderr.toString()}`)
  return binary
}

async function startFor(contender: Contender): Promise<BenchServer> {
  switch (contender) {
    case 'respcast tcp':
    case 'respcast ws':
    case 'respcast sse':
    case 'respcast http':
      return startRespcast(PORTS.respcast, PORTS.http, OWN_ROOT)
    case 'against tcp':
    case 'against ws':
      return startRespcast(PORTS.against, PORTS.againstHttp, options.against)
    case 'gateway tcp':
    case 'gateway ws':
      return startGateway(PORTS.gateway, PORTS.gatewayHttp, OWN_ROOT, PORTS.upstream)
    case 'valkey':
      return startRedis('valkey-server', PORTS.valkey)
    case 'redis':
      return startRedis('redis-server', PORTS.redis)
    case 'nats ws':
      return startNats(PORTS.nats, PORTS.natsWs)
    case 'bare node':
      return startBareNode(PORTS.bare)
  }
}

const PROGRAMS: Partial<Record<Contender, string>> = {
  valkey: 'valkey-server',
  'gateway tcp': 'valkey-server',
  'gateway ws': 'valkey-server',
  redis: 'redis-server',
  'nats ws': 'nats-server',
}

/** The servers to run: with `--against` both builds in turn and Valkey, else the scenario's own list. */
function contendersOf({ against }: Scenario): readonly Contender[] {
  const all = options.against === '' ? against : withBuild(against)
  const wanted = options.servers.split(',').filter((name) => name !== '')
  return wanted.length === 0 ? all : all.filter((one) => wanted.some((name) => one.includes(name)))
}

/** Both builds of Respcast, transport by transport, and the server that ratios are quoted to. */
function withBuild(contenders: readonly Contender[]): readonly Contender[] {
  const both: Contender[] = []
  if (contenders.includes('respcast tcp')) both.push('respcast tcp', 'against tcp')
  if (contenders.includes('respcast ws')) both.push('respcast ws', 'against ws')
  if (contenders.includes('valkey')) both.push('valkey')
  return both
}

function isAvailable(contender: Contender): boolean {
  const program = PROGRAMS[contender]
  return program === undefined || isInstalled(program)
}

function runLoad(
  binary: string,
  contender: Contender,
  server: BenchServer,
  load: readonly string[],
  token: string,
): LoadResult | undefined {
  const [, protocol = ''] = contender.split(' ')
  const speaks =
    contender === 'nats ws'
      ? ['--proto', 'natsws', '--port', String(server.port)]
      : ['ws', 'sse', 'http'].includes(protocol)
        ? ['--proto', protocol, '--port', String(server.httpPort), '--token', token]
        : ['--proto', 'resp3', '--port', String(server.port)]
  const args = ['-c', LOAD_CPU, binary, ...speaks, '--pid', String(server.pid), ...load]
  const { stdout, stderr } = spawnSync('taskset', args, { timeout: 120_000 })
  const line = stdout.toString().trim()
  if (line.startsWith('{')) return JSON.parse(line) as LoadResult
  process.stderr.write(`  ${contender}: ${stderr.toString().trim() || 'no result'}\n`)
  return undefined
}

/** The figure of one run; for CPU time the server's, in seconds. */
function figureOf(result: LoadResult, kind: Measure): number {
  const cpu = Math.max(result.server_cpu_s, 0.01)
  switch (kind) {
    case 'deliveries':
      return result.deliveries / cpu
    case 'publishes':
      return result.published / cpu
    case 'bytes':
      return (result.deliveries * result.payload) / cpu
    case 'p99':
      return result.latency_us?.p99 ?? Number.NaN
    case 'memory':
      return result.kb_per_connection
    case 'subscription memory':
      return result.bytes_per_subscription
    case 'connects':
      return result.subs / result.connect_s
  }
}

/** Brings the code to speed before a load that is measured; servers in C need none, and get the same. */
const WARM_UP = ['--subs', '50', '--pipeline', '64', '--messages', '60000']

/** Measures of memory, taken on a server that has just been started. */
const COLD: readonly Measure[] = ['memory', 'subscription memory']

/** The arguments of the load, its number of messages scaled. */
function loadOf({ load, messages }: Scenario, contender: Contender): readonly string[] {
  const at = load.indexOf('--messages')
  const count = messages?.[contender] ?? Number(load[at + 1])
  if (at < 0 || count <= 1) return load
  return [...load, '--messages', String(Math.ceil(count * Number(options.scale)))]
}

async function measure(
  binary: string,
  scenario: Scenario,
  rounds: number,
  token: string,
): Promise<Figures> {
  const figures: Figures = new Map()
  for (let round = 0; round < rounds; round++) {
    for (const contender of contendersOf(scenario)) {
      if (!isAvailable(contender)) continue
      const server = await startFor(contender)
      const load = loadOf(scenario, contender)
      try {
        if (!COLD.includes(scenario.measure)) {
          if (contender !== 'bare node' && contender !== 'respcast http')
            runLoad(binary, contender, server, WARM_UP, token)
          // Figures are those of a server that has run under this load: compiling for it takes half a second of its core.
          if (scenario.measure !== 'connects') runLoad(binary, contender, server, load, token)
        }
        const result = runLoad(binary, contender, server, load, token)
        const known = figures.get(contender) ?? []
        figures.set(contender, result ? [...known, figureOf(result, scenario.measure)] : known)
      } finally {
        await server.stop()
      }
    }
  }
  return figures
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

/** The round that others disturbed least: noise of a shared machine only ever makes a figure worse. */
function best(values: readonly number[], kind: Measure): number {
  return LESS_IS_BETTER.includes(kind) ? Math.min(...values) : Math.max(...values)
}

function format(value: number, kind: Measure): string {
  if (Number.isNaN(value)) return '-'
  if (kind === 'memory' || kind === 'p99') return value.toFixed(1)
  if (kind === 'subscription memory') return value.toFixed(0)
  if (kind === 'bytes') return `${(value / 1e6).toFixed(0)} MB`
  return value >= 1e6 ? `${(value / 1e6).toFixed(2)} M` : `${(value / 1e3).toFixed(0)} k`
}

function row(scenario: Scenario, figures: Figures): string {
  const cells = [...figures].map(([contender, values]) => {
    const value = median(values)
    const counterpart = contender === 'against ws' ? 'respcast ws' : 'respcast tcp'
    const ownValues = figures.get(counterpart) ?? figures.get('respcast ws') ?? []
    const ratioOf = (pick: typeof best): string =>
      (pick(ownValues, scenario.measure) / pick(values, scenario.measure)).toFixed(2)
    const isOwn =
      contender === 'respcast tcp' ||
      figures.size === 1 ||
      (options.against !== '' && contender === 'respcast ws')
    const ratio = isOwn ? '' : ` (ours ${ratioOf(median)}x, best rounds ${ratioOf(best)}x)`
    return `${contender} ${format(value, scenario.measure)}${ratio}`
  })
  return `${scenario.name.padEnd(50)} ${cells.join('   ')}`
}

const rounds = Number(options.rounds)
const binary = buildLoad()
const token = await benchToken()
const results: Record<string, Record<string, readonly number[]>> = {}
process.stdout.write(
  'Medians, and ratios of medians and of best rounds; deliveries, publishes and bytes per second of the server’s CPU time; the load on another core.\n',
)
for (const scenario of SCENARIOS) {
  if (!options.only.split('|').some((text) => scenario.name.includes(text))) continue
  if (options.skip !== '' && scenario.name.includes(options.skip)) continue
  const figures = await measure(binary, scenario, rounds, token)
  results[scenario.name] = Object.fromEntries(figures)
  process.stdout.write(`${row(scenario, figures)}\n`)
}
if (options.json !== '') writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`)
