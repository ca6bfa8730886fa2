import * as arg from '../argument.ts'
import { compileGlob } from '../../../shared/glob.ts'
import type { Control } from '../../control/control.ts'
import type { PublishSpace } from '../../pubsub/registry.ts'
import type { ReplyWriter } from '../../resp/reply-writer.ts'
import type { CommandContext } from '../context.ts'
import { subcommandArity } from '../error-texts.ts'
import { CONTAINER, helpOf } from '../container.ts'
import { writeBulks } from '../replies.ts'
import type { CommandData, CommandRecord, Handler } from '../spec.ts'
import { publish } from './publish.ts'
import { subscribe, unsubscribe } from './subscribe.ts'

/** Who is asked about all gateways; undefined alone, and within EXEC, which runs in one go and counts this gateway. */
function fleetOf({ server, inTransaction }: CommandContext): Control['questions'] {
  return inTransaction ? undefined : server.control.questions
}

function channels(space: PublishSpace): Handler {
  return (context, request) => {
    const { server, reply } = context
    if (request.count > 3) {
      reply.error(subcommandArity(request))
      return undefined
    }
    const pattern = request.count === 3 ? request.text(2) : undefined
    const fleet = fleetOf(context)
    if (fleet !== undefined) {
      return fleet.names(space, pattern).then((names) => (later) => {
        writeBulks(later.reply, [...names])
      })
    }
    const glob = pattern === undefined ? undefined : compileGlob(pattern)
    const names: string[] = []
    for (const name of server.registry.channelNames(space)) {
      if (!glob || glob.matches(name)) names.push(name)
    }
    writeBulks(reply, names)
    return undefined
  }
}

function numSub(space: PublishSpace): Handler {
  return (context, request) => {
    const { server, reply } = context
    const names: string[] = []
    for (let i = 2; i < request.count; i++) names.push(request.text(i))
    const fleet = names.length === 0 ? undefined : fleetOf(context)
    if (fleet !== undefined) {
      return fleet.counts(space, names).then((counts) => (later) => {
        writeCounts(later.reply, names, counts)
      })
    }
    const counts = names.map((name) => server.registry.countOf(space, name))
    writeCounts(reply, names, counts)
    return undefined
  }
}

function writeCounts(
  reply: ReplyWriter,
  names: readonly string[],
  counts: readonly number[],
): void {
  reply.array(names.length * 2)
  for (const [at, name] of names.entries()) {
    reply.bulk(name)
    reply.integer(counts[at] ?? 0)
  }
}

const numPat: Handler = (context) => {
  const fleet = fleetOf(context)
  if (fleet !== undefined) {
    return fleet.patterns().then(
      (count) =>
        ({ reply }) =>
          reply.integer(count),
    )
  }
  context.reply.integer(context.server.registry.patternCount)
  return undefined
}

const PUBLISHER = {
  arity: 3,
  flags: ['pubsub', 'loading', 'stale', 'fast'],
  categories: ['pubsub', 'fast'],
  group: 'pubsub',
  channels: { kind: 'publish', first: 1, last: 1 },
  mayReplicate: true,
} as const satisfies Partial<CommandData>

const SUBSCRIBER = {
  flags: ['pubsub', 'noscript', 'loading', 'stale'],
  categories: ['pubsub', 'slow'],
  group: 'pubsub',
  whileSubscribed: true,
} as const satisfies Partial<CommandData>

const UNSUBSCRIBER = {
  ...SUBSCRIBER,
  arity: -1,
  channels: { kind: 'none', first: 1, last: -1 },
} as const satisfies Partial<CommandData>

const INSPECTOR = {
  flags: ['pubsub', 'loading', 'stale'],
  categories: ['pubsub', 'slow'],
  group: 'pubsub',
  complexity: 'O(N) with N channels.',
} as const satisfies Partial<CommandData>

const ALL_ARGUMENTS = { first: 1, last: -1, step: 1 }

/** PUBSUB: reads the registries of all gateways, and asks the upstream. */
const pubsub: CommandData = {
  ...CONTAINER,
  group: 'pubsub',
  since: '2.8.0',
  summary: 'Container of the commands that look into Pub/Sub.',
  subcommands: {
    channels: {
      ...INSPECTOR,
      arity: -2,
      since: '2.8.0',
      syntax: '[<pattern>]',
      arguments: [arg.pattern('pattern', { optional: true })],
      summary: 'Lists the channels that have subscribers.',
      help: ['Lists the channels that have subscribers, all or those that match (default: *).'],
      handler: channels('channel'),
    },
    numpat: {
      ...INSPECTOR,
      arity: 2,
      since: '2.8.0',
      summary: 'Counts the distinct patterns that are subscribed to.',
      complexity: 'O(1)',
      handler: numPat,
    },
    numsub: {
      ...INSPECTOR,
      arity: -2,
      since: '2.8.0',
      syntax: '[<channel> ...]',
      arguments: [arg.string('channel', { optional: true, multiple: true })],
      summary: 'Counts the subscribers of channels.',
      help: ['Counts the subscribers of channels, patterns not included (default: none).'],
      handler: numSub('channel'),
    },
    shardchannels: {
      ...INSPECTOR,
      arity: -2,
      since: '7.0.0',
      syntax: '[<pattern>]',
      arguments: [arg.pattern('pattern', { optional: true })],
      summary: 'Lists the shard channels that have subscribers.',
      help: [
        'Lists the shard channels that have subscribers, all or those that match (default: *).',
      ],
      complexity: 'O(N) with N shard channels.',
      handler: channels('shard'),
    },
    shardnumsub: {
      ...INSPECTOR,
      arity: -2,
      since: '7.0.0',
      syntax: '[<shardchannel> ...]',
      arguments: [arg.string('shardchannel', { optional: true, multiple: true })],
      summary: 'Counts the subscribers of shard channels.',
      help: ['Counts the subscribers of shard channels (default: none).'],
      complexity: 'O(N) with N shard channels.',
      handler: numSub('shard'),
    },
    help: { ...helpOf('pubsub', '6.2.0'), group: 'pubsub' },
  },
}

/** Commands of the group `pubsub`. */
export const PUBSUB_COMMANDS: CommandRecord = {
  publish: {
    ...PUBLISHER,
    since: '2.0.0',
    syntax: '<channel> <message>',
    arguments: [arg.string('channel'), arg.string('message')],
    summary: 'Sends a message to the subscribers of a channel and of the patterns that match it.',
    complexity: 'O(N+M): N subscribers of the channel, M subscriptions of patterns that match.',
    publishes: 'channel',
    handler: publish('channel'),
  },
  subscribe: {
    ...SUBSCRIBER,
    arity: -2,
    since: '2.0.0',
    syntax: '<channel> [<channel> ...]',
    arguments: [arg.string('channel', { multiple: true })],
    summary: 'Receives the messages of channels from now on.',
    complexity: 'O(N) with N channels.',
    channels: { kind: 'subscribe', first: 1, last: -1 },
    subscribes: 'channel',
    handler: subscribe('channel'),
  },
  psubscribe: {
    ...SUBSCRIBER,
    arity: -2,
    since: '2.0.0',
    syntax: '<pattern> [<pattern> ...]',
    arguments: [arg.pattern('pattern', { multiple: true })],
    summary: 'Receives the messages of all channels that match patterns from now on.',
    complexity: 'O(N) with N patterns.',
    channels: { kind: 'pattern', first: 1, last: -1 },
    subscribes: 'pattern',
    handler: subscribe('pattern'),
  },
  unsubscribe: {
    ...UNSUBSCRIBER,
    since: '2.0.0',
    syntax: '[<channel> ...]',
    arguments: [arg.string('channel', { optional: true, multiple: true })],
    summary: 'Receives no more messages of the channels named, or of any.',
    complexity: 'O(N) with N channels.',
    handler: unsubscribe('channel'),
  },
  punsubscribe: {
    ...UNSUBSCRIBER,
    since: '2.0.0',
    syntax: '[<pattern> ...]',
    arguments: [arg.pattern('pattern', { optional: true, multiple: true })],
    summary: 'Receives no more messages through the patterns named, or through any.',
    complexity: 'O(N) with N patterns.',
    handler: unsubscribe('pattern'),
  },
  ssubscribe: {
    ...SUBSCRIBER,
    arity: -2,
    since: '7.0.0',
    syntax: '<shardchannel> [<shardchannel> ...]',
    arguments: [arg.string('shardchannel', { multiple: true })],
    summary: 'Receives the messages of shard channels from now on.',
    complexity: 'O(N) with N shard channels.',
    channels: { kind: 'subscribe', first: 1, last: -1 },
    shardChannels: ALL_ARGUMENTS,
    subscribes: 'shard',
    handler: subscribe('shard'),
  },
  sunsubscribe: {
    ...UNSUBSCRIBER,
    since: '7.0.0',
    syntax: '[<shardchannel> ...]',
    arguments: [arg.string('shardchannel', { optional: true, multiple: true })],
    summary: 'Receives no more messages of the shard channels named, or of any.',
    complexity: 'O(N) with N shard channels.',
    shardChannels: ALL_ARGUMENTS,
    handler: unsubscribe('shard'),
  },
  spublish: {
    ...PUBLISHER,
    since: '7.0.0',
    syntax: '<shardchannel> <message>',
    arguments: [arg.string('shardchannel'), arg.string('message')],
    summary: 'Sends a message to the subscribers of a shard channel.',
    complexity: 'O(N) with N subscribers of the shard channel.',
    shardChannels: { first: 1, last: 1, step: 1 },
    publishes: 'shard',
    handler: publish('shard'),
  },
  pubsub,
}
