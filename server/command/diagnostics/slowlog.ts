import * as arg from '../argument.ts'
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock.ts'
import type { Settings } from '../../config/settings.ts'
import type { Request } from '../../resp/request.ts'
import { parseInteger } from '../arguments.ts'
import { ADMIN, CONTAINER, helpOf } from '../container.ts'
import type { CommandContext } from '../context.ts'
import { subcommandArity } from '../error-texts.ts'
import { writeBulks } from '../replies.ts'
import type { CommandData } from '../spec.ts'
import type { Command } from '../table.ts'

/** Most arguments of a command that are kept, and most bytes of each. */
const KEPT_ARGUMENTS = 32
const KEPT_BYTES = 128

/** One slow command. */
interface SlowLogEntry {
  readonly id: number
  /** Seconds since 1970. */
  readonly atSeconds: number
  readonly microseconds: number
  /** Byte strings, cut. */
  readonly args: readonly string[]
  readonly address: string
  readonly clientName: string
}

/** The slow log: commands that took long, newest first. */
export class SlowLog {
  readonly #settings: Settings
  /** Read for each command: microseconds, negative is off. */
  readonly #bound: { readonly slowerThan: number }
  #entries: SlowLogEntry[] = []
  #nextId = 0

  readonly #clock: Clock

  constructor(settings: Settings, clock: Clock) {
    this.#settings = settings
    this.#bound = settings.cached((now) => ({
      slowerThan: now.integer('slowlog-log-slower-than'),
    }))
    this.#clock = clock
  }

  get length(): number {
    return this.#entries.length
  }

  /** Records a command that took at least as long as `slowlog-log-slower-than`. */
  note(client: Client, command: Command, request: Request, microseconds: number): void {
    const { slowerThan } = this.#bound
    if (slowerThan < 0 || microseconds < slowerThan) return
    if (command.spec.flags.includes('skip_slowlog')) return
    const maxLength = this.#settings.integer('slowlog-max-len')
    if (maxLength > 0) {
      this.#entries.unshift({
        id: this.#nextId++,
        atSeconds: Math.floor(this.#clock.wallMs() / 1000),
        microseconds: Math.floor(microseconds),
        args: keptArguments(command, request),
        address: client.origin.address,
        clientName: client.name,
      })
    }
    if (this.#entries.length > maxLength) this.#entries.length = maxLength
  }

  /** The newest entries; -1 is all. */
  list(count: number): readonly SlowLogEntry[] {
    return count < 0 ? this.#entries : this.#entries.slice(0, count)
  }

  reset(): void {
    this.#entries = []
  }
}

function keptArguments(command: Command, request: Request): string[] {
  const args: string[] = []
  const most = request.count > KEPT_ARGUMENTS ? KEPT_ARGUMENTS - 1 : request.count
  for (let i = 0; i < most; i++) {
    const text = command.shown(request, i)
    const more = text.length - KEPT_BYTES
    args.push(more > 0 ? `${text.slice(0, KEPT_BYTES)}... (${more} more bytes)` : text)
  }
  if (most < request.count) args.push(`... (${request.count - most} more arguments)`)
  return args
}

/** Entries that SLOWLOG GET answers without a count. */
const DEFAULT_COUNT = 10

function get({ reply, server }: CommandContext, request: Request): void {
  if (request.count > 3) {
    reply.error(subcommandArity(request))
    return
  }
  const count = request.count === 3 ? parseInteger(request.text(2)) : DEFAULT_COUNT
  if (count === undefined || count < -1) {
    reply.error('ERR count should be greater than or equal to -1')
    return
  }
  const entries = server.slowLog.list(count)
  reply.array(entries.length)
  for (const { id, atSeconds, microseconds, args, address, clientName } of entries) {
    reply.array(6)
    reply.integer(id)
    reply.integer(atSeconds)
    reply.integer(microseconds)
    writeBulks(reply, args)
    reply.bulk(address)
    reply.bulk(clientName)
  }
}

const COMMON = {
  ...ADMIN,
  flags: ['admin', 'loading', 'stale'],
  since: '2.2.12',
  complexity: 'O(N) with N entries.',
} as const satisfies Partial<CommandData>

/** SLOWLOG and its subcommands. */
export const slowlog: CommandData = {
  ...CONTAINER,
  group: 'server',
  since: '2.2.12',
  summary: 'Container of the commands about the slow log.',
  subcommands: {
    get: {
      ...COMMON,
      arity: -2,
      syntax: '[<count>]',
      arguments: [arg.integer('count', { optional: true })],
      history: [['4.0.0', 'Address, port and name of the client.']],
      summary: 'Lists commands that took long, newest first.',
      help: [
        'Lists commands that took long, newest first (default: 10, -1 is all). An entry has:',
        'id, time, microseconds, arguments, address and name of the client.',
      ],
      tips: ['request_policy:all_nodes', 'nondeterministic_output'],
      handler: get,
    },
    len: {
      ...COMMON,
      arity: 2,
      summary: 'Counts the entries of the slow log.',
      help: ['Counts the entries.'],
      tips: ['request_policy:all_nodes', 'response_policy:agg_sum', 'nondeterministic_output'],
      handler: ({ reply, server }) => reply.integer(server.slowLog.length),
    },
    reset: {
      ...COMMON,
      arity: 2,
      summary: 'Forgets all entries.',
      tips: ['request_policy:all_nodes', 'response_policy:all_succeeded'],
      handler: ({ reply, server }) => {
        server.slowLog.reset()
        reply.ok()
      },
    },
    help: helpOf('slowlog', '6.2.0'),
  },
}
