import type { CatalogEntry, ChannelUse, KeyUse } from '../acl/catalog.ts'
import type { Category } from '../acl/categories.ts'
import type { Request } from '../resp/request.ts'
import type { CommandContext } from './context.ts'

/** Flags as COMMAND INFO reports them, in its order. */
export const FLAGS = [
  'write',
  'readonly',
  'denyoom',
  'module',
  'admin',
  'pubsub',
  'noscript',
  'blocking',
  'loading',
  'stale',
  'skip_monitor',
  'skip_slowlog',
  'asking',
  'fast',
  'no_auth',
  'no_mandatory_keys',
  'no_async_loading',
  'no_multi',
  'movablekeys',
  'allow_busy',
] as const

/** A flag of COMMAND INFO. */
export type CommandFlag = (typeof FLAGS)[number]

/** Groups of COMMAND DOCS. */
export type CommandGroup =
  | 'pubsub'
  | 'connection'
  | 'server'
  | 'transactions'
  | 'cluster'
  | 'generic'

/**
 * Writes the reply of a command that had to wait, or a part of it. Runs in one go, with `context` set for the client; what it
 * writes is sent. It may have to wait again.
 */
export type Completion = (context: CommandContext) => void | Promise<Completion>

/**
 * Executes a command: writes its reply to `context.reply` and returns, or returns a promise of what will write it. In
 * that case the connection executes nothing behind it until then. It does not throw for anything a peer did.
 */
export type Handler = (context: CommandContext, request: Request) => void | Promise<Completion>

/** Where arguments of one kind stand; negative counts from the end, -1 being the last argument. */
export interface Positions {
  readonly first: number
  readonly last: number
  readonly step: number
}

/** A command as data. Its full name for a subcommand is `container|subcommand`. */
export interface CommandSpec {
  readonly name: string
  /** Number of arguments with the name included; negative: at least so many. */
  readonly arity: number
  readonly flags: readonly CommandFlag[]
  readonly categories: readonly Category[]
  readonly group: CommandGroup
  /** Version of Redis (or of Respcast) that had it first. */
  readonly since: string
  /** One sentence for COMMAND DOCS. */
  readonly summary: string
  /** For COMMAND DOCS, in O notation. */
  readonly complexity?: string
  /** Which arguments are channels; what the ACL checks. */
  readonly channels?: ChannelUse
  readonly keys?: KeyUse
  /** Shard channels, which a cluster routes like keys though they are none. */
  readonly shardChannels?: Positions
  /** Held by a pause of writes although it writes no key: it would be told to replicas. */
  readonly mayReplicate?: boolean
  /** A RESP2 client with subscriptions may still send it. */
  readonly whileSubscribed?: boolean
  /** Inside MULTI it runs at once instead of being queued. */
  readonly notQueued?: boolean
  /** The error line with which it is refused inside MULTI, if it cannot wait for EXEC. */
  readonly refuseInMulti?: (context: CommandContext, request: Request) => string | undefined
  /** Whether an argument is a secret, or names one: shown nowhere. */
  readonly isSecret?: (request: Request, index: number) => boolean
  /** Absent for a container. */
  readonly handler?: Handler
}

/** A command in the table, with what is counted of it (INFO commandstats). */
export class Command {
  readonly spec: CommandSpec
  readonly acl: CatalogEntry
  readonly container: Command | undefined
  readonly subcommands = new Map<string, Command>()
  readonly noAuth: boolean
  readonly noMulti: boolean
  /** A pause of writes holds it. */
  readonly replicates: boolean
  /** It reads or changes data, or would be told to replicas: what a client in MONITOR may not do. */
  readonly touchesData: boolean
  /** The arguments by which a cluster routes it. */
  readonly slots: Positions | undefined
  calls = 0
  /** Time spent on it, from the end of what the server did before. */
  microseconds = 0
  /** Calls by time: index n counts those of less than 2^n microseconds and at least half of that. */
  readonly histogram = new Float64Array(33)
  rejectedCalls = 0
  failedCalls = 0

  constructor(spec: CommandSpec, acl: CatalogEntry, container: Command | undefined) {
    this.spec = spec
    this.acl = acl
    this.container = container
    this.noAuth = spec.flags.includes('no_auth')
    this.noMulti = spec.flags.includes('no_multi')
    this.replicates = spec.mayReplicate === true || spec.flags.includes('write')
    this.touchesData = this.replicates || spec.flags.includes('readonly')
    this.slots = spec.shardChannels ?? spec.keys
  }

  /** Counts the time of one call. @param tracked In the histogram too (`latency-tracking`). */
  addTime(microseconds: number, tracked = true): void {
    this.microseconds += microseconds
    if (!tracked) return
    const slot = 32 - Math.clz32(microseconds)
    this.histogram[slot] = (this.histogram[slot] as number) + 1
  }

  /** CONFIG RESETSTAT. */
  resetStatistics(): void {
    this.calls = this.microseconds = this.rejectedCalls = this.failedCalls = 0
    this.histogram.fill(0)
  }

  /** Whether `count` arguments, the name included, are right. */
  accepts(count: number): boolean {
    const { arity } = this.spec
    return arity >= 0 ? count === arity : count >= -arity
  }
}
