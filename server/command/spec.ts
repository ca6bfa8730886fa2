import type { ChannelUse, KeyUse } from '../acl/catalog.ts'
import type { Category } from '../acl/categories.ts'
import type { PublishSpace } from '../pubsub/registry.ts'
import type { Space } from '../pubsub/subscriber.ts'
import type { Request } from '../resp/request.ts'
import type { Argument } from './argument.ts'
import type { CommandContext } from './context.ts'
import type { Later } from './deferred.ts'
import type { Refusal } from './error-texts.ts'

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
type CommandFlag = (typeof FLAGS)[number]

/** Groups of COMMAND DOCS. */
type CommandGroup = 'pubsub' | 'connection' | 'server' | 'transactions' | 'cluster' | 'generic'

/**
 * Writes the reply of a command that had to wait, or a part of it, which is sent. It runs in one go, with `context` set for
 * the client, and may have to wait again.
 */
export type Completion = (context: CommandContext) => void | Later<Completion>

/**
 * Executes a command: writes its reply to `context.reply` and returns, or returns the completion that writes it later: as a
 * promise, or as a `Deferred` where it has to run within an event. Until then the connection executes no other command.
 * It does not throw for anything that a peer did.
 */
export type Handler = (context: CommandContext, request: Request) => void | Later<Completion>

/** Positions of arguments of one kind; negative counts from the end, -1 being the last argument. */
export interface Positions {
  readonly first: number
  readonly last: number
  readonly step: number
}

/** Tips for cluster clients, as COMMAND INFO reports them. */
type CommandTip =
  | 'nondeterministic_output'
  | 'nondeterministic_output_order'
  | 'request_policy:all_nodes'
  | 'request_policy:all_shards'
  | 'response_policy:agg_min'
  | 'response_policy:agg_sum'
  | 'response_policy:all_succeeded'
  | 'response_policy:special'

/** One form of a subcommand that has several: its arguments, and the lines of HELP about it. */
type SyntaxForm = readonly [syntax: string, ...help: string[]]

/** Everything about a command but its name, which is its key in the family's record. */
export interface CommandData {
  /** Number of arguments with the name included; negative: at least that many. */
  readonly arity: number
  readonly flags: readonly CommandFlag[]
  readonly categories: readonly Category[]
  readonly group: CommandGroup
  /** First version of Redis (or of Respcast) that had it. */
  readonly since: string
  /** One sentence for COMMAND DOCS; HELP shows it too, unless `help` says more. */
  readonly summary: string
  /** For COMMAND DOCS, in O notation. */
  readonly complexity?: string
  /** The arguments after the name, if there are any. */
  readonly syntax?: string | readonly SyntaxForm[]
  /** The arguments after the name, for COMMAND DOCS. */
  readonly arguments?: readonly Argument[]
  /** Versions of Redis that changed it, and what they changed. */
  readonly history?: readonly (readonly [since: string, change: string])[]
  /** Of a deprecated command: the version that deprecated it, and what to use instead. */
  readonly deprecated?: { readonly since: string; readonly replacedBy: string }
  /** Nobody needs it but developers of servers. */
  readonly isSystemCommand?: true
  /** The lines of HELP about a subcommand, in place of its summary; none: HELP does not list it. */
  readonly help?: readonly string[]
  /** In the order of Redis 8.0. */
  readonly tips?: readonly CommandTip[]
  /** Arguments that are channels, which the ACL checks. */
  readonly channels?: ChannelUse
  readonly keys?: KeyUse
  /** Shard channels, which a cluster routes like keys. */
  readonly shardChannels?: Positions
  /** Arguments that MONITOR and the slow log redact: all from a position on, or those for which it holds. */
  readonly secret?: number | ((request: Request, index: number) => boolean)
  /** The space that it publishes to, with the arguments of PUBLISH. */
  readonly publishes?: PublishSpace
  /** The space that it subscribes in, to all its arguments. */
  readonly subscribes?: Space
  /** A pause of writes holds it although it writes no key: Redis would tell its replicas. */
  readonly mayReplicate?: boolean
  /** A RESP2 client with subscriptions may still send it. */
  readonly whileSubscribed?: boolean
  /** It may wait for the disk, and nothing else. Inside EXEC it is executed in its place, and the reply of EXEC waits. */
  readonly awaitsDisk?: true
  /** Inside MULTI it runs at once instead of being queued. */
  readonly notQueued?: boolean
  /** Returns the error with which it is refused inside MULTI, if it cannot wait for EXEC. */
  readonly refuseInMulti?: (context: CommandContext, request: Request) => Refusal | undefined
  /** The error with which it is refused after its arity, before any other check: nobody may use it. */
  readonly forbidden?: Refusal
  /** Absent for a container that does nothing by itself. */
  readonly handler?: Handler
  /** By name; each has all its fields itself, so that nothing is inherited. */
  readonly subcommands?: CommandRecord
}

/** Commands by name. */
export type CommandRecord = Readonly<Record<string, CommandData>>

/** A command as data. A subcommand's name is `container|subcommand`. */
export interface CommandSpec extends Omit<CommandData, 'subcommands'> {
  readonly name: string
}

/** Lists commands in the order of the record, each container followed by its subcommands. */
export function specsOf(commands: CommandRecord): CommandSpec[] {
  return Object.entries(commands).flatMap(([name, { subcommands = {}, ...spec }]) => [
    { ...spec, name },
    ...specsOf(subcommands).map((sub) => ({ ...sub, name: `${name}|${sub.name}` })),
  ])
}
