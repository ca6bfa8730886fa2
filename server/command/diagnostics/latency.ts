import * as arg from '../argument.ts'
import type { Clock } from '../../clock.ts'
import type { Settings } from '../../config/settings.ts'
import type { ReplyWriter } from '../../resp/reply-writer.ts'
import type { Request } from '../../resp/request.ts'
import { textsFrom } from '../arguments.ts'
import { ADMIN, CONTAINER, helpOf } from '../container.ts'
import type { CommandContext, Services } from '../context.ts'
import type { CommandData } from '../spec.ts'
import type { Command } from '../table.ts'

/** Samples kept of one event, as in Redis. */
const KEPT_SAMPLES = 160

/** The worst latency within one second. */
interface LatencySample {
  /** Seconds since 1970. */
  readonly atSeconds: number
  latencyMs: number
}

/** The samples of one event. */
interface LatencyEvent {
  readonly name: string
  /** Oldest first. */
  readonly samples: readonly LatencySample[]
  /** Since the event was last reset. */
  readonly maxMs: number
}

/**
 * Samples of slow commands (LATENCY). Events are Redis' `command` and `fast-command`: the latter is for commands that
 * take the same time for all arguments.
 */
export class LatencyMonitor {
  /** Read for each command. */
  readonly settings: {
    /** `latency-monitor-threshold`; 0 is off. */
    readonly thresholdMs: number
    /** `latency-tracking`: histograms of commands. */
    readonly tracking: boolean
  }
  readonly #clock: Clock
  readonly #events = new Map<string, { name: string; samples: LatencySample[]; maxMs: number }>()

  constructor(settings: Settings, clock: Clock) {
    this.settings = settings.cached((now) => ({
      thresholdMs: now.integer('latency-monitor-threshold'),
      tracking: now.boolean('latency-tracking'),
    }))
    this.#clock = clock
  }

  /** Events with samples since they were last reset, oldest first. */
  get events(): readonly LatencyEvent[] {
    return [...this.#events.values()]
  }

  event(name: string): LatencyEvent | undefined {
    return this.#events.get(name)
  }

  /** Samples a command that took at least as long as `latency-monitor-threshold`. */
  noteCommand(command: Command, microseconds: number): void {
    const { thresholdMs } = this.settings
    if (thresholdMs === 0 || microseconds < thresholdMs * 1000) return
    const isFast = command.spec.flags.includes('fast')
    this.#add(isFast ? 'fast-command' : 'command', Math.floor(microseconds / 1000))
  }

  /** Forgets the events of these names, or all. @returns Their number. */
  reset(names: readonly string[]): number {
    const before = this.#events.size
    if (names.length === 0) this.#events.clear()
    for (const name of names) this.#events.delete(name)
    return before - this.#events.size
  }

  /** Adds a sample; of one second only the worst is kept. */
  #add(name: string, latencyMs: number): void {
    const atSeconds = Math.floor(this.#clock.wallMs() / 1000)
    let event = this.#events.get(name)
    if (!event) {
      event = { name, samples: [], maxMs: 0 }
      this.#events.set(name, event)
    }
    event.maxMs = Math.max(event.maxMs, latencyMs)
    const last = event.samples.at(-1)
    if (last?.atSeconds === atSeconds) {
      last.latencyMs = Math.max(last.latencyMs, latencyMs)
      return
    }
    event.samples.push({ atSeconds, latencyMs })
    if (event.samples.length > KEPT_SAMPLES) event.samples.shift()
  }
}

const GRAPH_ROWS = 4
const GRAPH_COLUMNS = 80

/** LATENCY GRAPH: a column for each of the last samples, with its age below. */
function graphText(event: LatencyEvent, nowSeconds: number): string {
  const samples = event.samples.slice(-GRAPH_COLUMNS)
  const values = samples.map(({ latencyMs }) => latencyMs)
  const high = Math.max(...values)
  const low = Math.min(...values)
  const rows: string[] = []
  for (let row = GRAPH_ROWS; row >= 1; row--) {
    rows.push(values.map((value) => ((value / high) * GRAPH_ROWS > row - 1 ? '#' : ' ')).join(''))
  }
  const ages = samples.map(({ atSeconds }) => age(nowSeconds - atSeconds))
  const longest = Math.max(...ages.map(({ length }) => length))
  for (let at = 0; at < longest; at++) rows.push(ages.map((text) => text[at] ?? ' ').join(''))
  const head = `${event.name} - high ${high} ms, low ${low} ms (all time high ${event.maxMs} ms)`
  return `${head}\n${'-'.repeat(GRAPH_COLUMNS)}\n${rows.join('\n')}\n`
}

function age(seconds: number): string {
  if (seconds < 60) return `${Math.max(0, seconds)}s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`
}

/** LATENCY DOCTOR. */
function doctorText({ settings, events }: LatencyMonitor): string {
  if (settings.thresholdMs === 0) {
    return (
      'Latency monitoring is off. CONFIG SET latency-monitor-threshold <milliseconds> makes commands that ' +
      'take as long be sampled.\n'
    )
  }
  if (events.length === 0) {
    return `No command has taken ${settings.thresholdMs} ms or more.\n`
  }
  const lines = events.map(({ name, samples, maxMs }) => {
    const sum = samples.reduce((total, { latencyMs }) => total + latencyMs, 0)
    const mean = (sum / samples.length).toFixed(1)
    return `${name}: ${samples.length} samples, mean ${mean} ms, worst ${maxMs} ms.`
  })
  const advice = [
    'Commands with very many arguments or subscribers take long: SLOWLOG GET names them, if',
    'slowlog-log-slower-than is not higher than the threshold.',
  ]
  return `${[...lines, '', ...advice].join('\n')}\n`
}

function latest({ reply, server }: CommandContext): void {
  const { events } = server.latency
  reply.array(events.length)
  for (const { name, samples, maxMs } of events) {
    const last = samples.at(-1)
    reply.array(4)
    reply.bulk(name)
    reply.integer(last?.atSeconds ?? 0)
    reply.integer(last?.latencyMs ?? 0)
    reply.integer(maxMs)
  }
}

function history({ reply, server }: CommandContext, request: Request): void {
  const samples = server.latency.event(request.text(2))?.samples ?? []
  reply.array(samples.length)
  for (const { atSeconds, latencyMs } of samples) {
    reply.array(2)
    reply.integer(atSeconds)
    reply.integer(latencyMs)
  }
}

function graph({ reply, server }: CommandContext, request: Request): void {
  const name = request.text(2)
  const event = server.latency.event(name)
  if (event) reply.verbatim(graphText(event, Math.floor(server.clock.wallMs() / 1000)))
  else reply.error(`ERR No samples available for event '${name}'`)
}

function reset({ reply, server }: CommandContext, request: Request): void {
  reply.integer(server.latency.reset(textsFrom(request, 2)))
}

/** LATENCY HISTOGRAM [command ...]: a container includes all its subcommands. */
function histogram({ reply, server }: CommandContext, request: Request): void {
  const commands = [...wantedCommands(server, request)].filter(hasHistogram)
  reply.map(commands.length)
  for (const command of commands) writeHistogram(reply, command)
}

function wantedCommands({ table }: Services, request: Request): Set<Command> {
  if (request.count === 2) return new Set(table.all())
  const wanted = new Set<Command>()
  for (let i = 2; i < request.count; i++) {
    const command = table.named(request.text(i))
    if (!command) continue
    wanted.add(command)
    for (const subcommand of command.subcommands.values()) wanted.add(subcommand)
  }
  return wanted
}

function hasHistogram({ histogram: counts }: Command): boolean {
  return counts.some((count) => count > 0)
}

/** Writes the number of calls, and how many of them took at most 1, 2, 4 ... microseconds. */
function writeHistogram(reply: ReplyWriter, { spec, histogram: counts }: Command): void {
  const steps: [microseconds: number, calls: number][] = []
  let calls = 0
  for (const [power, count] of counts.entries()) {
    if (count === 0) continue
    calls += count
    steps.push([2 ** power, calls])
  }
  reply.bulk(spec.name)
  reply.map(2)
  reply.bulk('calls')
  reply.integer(calls)
  reply.bulk('histogram_usec')
  reply.map(steps.length)
  for (const [microseconds, upToNow] of steps) {
    reply.integer(microseconds)
    reply.integer(upToNow)
  }
}

const COMMON = {
  ...ADMIN,
  since: '2.8.13',
  complexity: 'O(N) with N events or commands.',
} as const satisfies Partial<CommandData>

const REPORT = {
  ...COMMON,
  tips: ['nondeterministic_output', 'request_policy:all_nodes', 'response_policy:special'],
} as const satisfies Partial<CommandData>

/** LATENCY and its subcommands. */
export const latency: CommandData = {
  ...CONTAINER,
  group: 'server',
  since: '2.8.13',
  summary: 'Container of the commands about latency.',
  subcommands: {
    doctor: {
      ...REPORT,
      arity: 2,
      summary: 'Says in words what was slow.',
      handler: ({ reply, server }) => reply.verbatim(doctorText(server.latency)),
    },
    graph: {
      ...REPORT,
      arity: 3,
      syntax: '<event>',
      arguments: [arg.string('event')],
      summary: 'Draws the samples of an event.',
      handler: graph,
    },
    histogram: {
      ...REPORT,
      arity: -2,
      since: '7.0.0',
      syntax: '[<command> ...]',
      arguments: [arg.string('command', { optional: true, multiple: true })],
      summary: 'Answers how long commands took.',
      help: [
        'Answers how many calls of commands took at most how many microseconds (default: of all).',
      ],
      handler: histogram,
    },
    history: {
      ...REPORT,
      arity: 3,
      syntax: '<event>',
      arguments: [arg.string('event')],
      summary: 'Lists the samples of an event.',
      help: ['Lists the samples of an event: time and milliseconds.'],
      handler: history,
    },
    latest: {
      ...REPORT,
      arity: 2,
      summary: 'Lists the last sample of each event.',
      help: ['Lists the last sample of each event, and its worst.'],
      handler: latest,
    },
    reset: {
      ...COMMON,
      arity: -2,
      syntax: '[<event> ...]',
      arguments: [arg.string('event', { optional: true, multiple: true })],
      summary: 'Forgets the samples of events.',
      help: ['Forgets the samples of events (default: of all).'],
      tips: ['request_policy:all_nodes', 'response_policy:agg_sum'],
      handler: reset,
    },
    help: helpOf('latency', '2.8.13', [
      'doctor',
      'graph',
      'history',
      'latest',
      'reset',
      'histogram',
    ]),
  },
}
