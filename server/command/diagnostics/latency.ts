import type { Category } from '../../acl/categories.ts'
import type { ReplyWriter } from '../../resp/reply-writer.ts'
import type { Request } from '../../resp/request.ts'
import type { CommandContext, Services } from '../context.ts'
import { helpSpec } from '../help.ts'
import { doctorText, graphText } from './latency-report.ts'
import type { Command, CommandFlag, CommandSpec } from '../spec.ts'
import { subcommandsOf } from '../subcommand.ts'

const ADMIN: readonly CommandFlag[] = ['admin', 'noscript', 'loading', 'stale']
const ADMIN_CATEGORIES: readonly Category[] = ['admin', 'slow', 'dangerous']

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
  const names: string[] = []
  for (let i = 2; i < request.count; i++) names.push(request.text(i))
  reply.integer(server.latency.reset(names))
}

/** LATENCY HISTOGRAM [command ...]: a container stands for all its subcommands. */
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

/** The number of calls, and how many of them took at most so many microseconds, by powers of two. */
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

const sub = subcommandsOf('latency', {
  flags: ADMIN,
  categories: ADMIN_CATEGORIES,
  group: 'server',
  complexity: 'O(N) with N events or commands.',
})

/** LATENCY and its subcommands. */
export const LATENCY_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'latency',
    arity: -2,
    flags: [],
    categories: ['slow'],
    group: 'server',
    since: '2.8.13',
    summary: 'Container of the commands about latency.',
  },
  sub('doctor', 2, '2.8.13', 'Says in words what was slow.', ({ reply, server }) => {
    reply.verbatim(doctorText(server.latency))
  }),
  sub('graph', 3, '2.8.13', 'Draws the samples of an event.', graph),
  sub('histogram', -2, '7.0.0', 'Answers how long commands took.', histogram),
  sub('history', 3, '2.8.13', 'Lists the samples of an event.', history),
  sub('latest', 2, '2.8.13', 'Lists the last sample of each event.', latest),
  sub('reset', -2, '2.8.13', 'Forgets the samples of events.', reset),
  helpSpec(
    'latency',
    'server',
    '2.8.13',
    ['slow'],
    [
      ['DOCTOR', 'Says in words what was slow.'],
      ['GRAPH <event>', 'Draws the samples of an event.'],
      ['HISTORY <event>', 'Lists the samples of an event: time and milliseconds.'],
      ['LATEST', 'Lists the last sample of each event, and its worst.'],
      ['RESET [<event> ...]', 'Forgets the samples of events (default: of all).'],
      [
        'HISTOGRAM [<command> ...]',
        'Answers how many calls of commands took at most how many microseconds (default: of all).',
      ],
    ],
  ),
]
