import { compileGlob } from '../../../shared/glob.ts'
import type { Payload } from '../../delivery/payload.ts'
import type { PublishSpace } from '../../pubsub/registry.ts'
import type { ReplyWriter } from '../../resp/reply-writer.ts'
import type { Request } from '../../resp/request.ts'
import { subcommandArity } from '../error-texts.ts'
import { helpSpec } from '../help.ts'
import type { CommandSpec, Handler } from '../spec.ts'
import { subscribe, unsubscribe } from './subscribe.ts'

/** PUBLISH's message: its bytes lie in the request, and become a buffer only where one has to be kept. */
class RequestPayload implements Payload {
  readonly length: number
  readonly #request: Request
  #kept: Buffer | undefined

  constructor(request: Request) {
    this.#request = request
    this.length = request.length(2)
  }

  copy(target: Buffer, at: number): void {
    this.#request.copy(2, target, at)
  }

  kept(): Buffer {
    return (this.#kept ??= this.#request.kept(2))
  }
}

function publish(space: PublishSpace): Handler {
  return ({ server, reply }, request) => {
    const { counters } = server
    const payload = new RequestPayload(request)
    const receivers = server.backplane.publish(space, request.name(1), payload)
    counters.messagesPublished++
    counters.messagesDelivered += receivers
    reply.integer(receivers)
  }
}

function channels(space: PublishSpace): Handler {
  return ({ server, reply }, request) => {
    if (request.count > 3) {
      reply.error(subcommandArity(request))
      return
    }
    const glob = request.count === 3 ? compileGlob(request.text(2)) : undefined
    const names: string[] = []
    for (const name of server.registry.channelNames(space)) {
      if (!glob || glob.matches(name)) names.push(name)
    }
    writeBulks(reply, names)
  }
}

function numSub(space: PublishSpace): Handler {
  return ({ server, reply }, request) => {
    reply.array((request.count - 2) * 2)
    for (let i = 2; i < request.count; i++) {
      const name = request.text(i)
      reply.bulk(name)
      reply.integer(server.registry.countOf(space, name))
    }
  }
}

function writeBulks(reply: ReplyWriter, values: readonly string[]): void {
  reply.array(values.length)
  for (const value of values) reply.bulk(value)
}

const ALL_ARGUMENTS = { first: 1, last: -1, step: 1 }

const SUBSCRIBER_FLAGS = ['pubsub', 'noscript', 'loading', 'stale'] as const
const PUBLISHER_FLAGS = ['pubsub', 'loading', 'stale', 'fast'] as const
const INSPECTOR_FLAGS = ['pubsub', 'loading', 'stale'] as const

/** Commands of the group `pubsub`. */
export const PUBSUB_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'publish',
    arity: 3,
    flags: PUBLISHER_FLAGS,
    categories: ['pubsub', 'fast'],
    group: 'pubsub',
    since: '2.0.0',
    summary: 'Sends a message to the subscribers of a channel and of the patterns that match it.',
    complexity: 'O(N+M): N subscribers of the channel, M subscriptions of patterns that match.',
    channels: { kind: 'publish', first: 1, last: 1 },
    mayReplicate: true,
    handler: publish('channel'),
  },
  {
    name: 'subscribe',
    arity: -2,
    flags: SUBSCRIBER_FLAGS,
    categories: ['pubsub', 'slow'],
    group: 'pubsub',
    since: '2.0.0',
    summary: 'Receives the messages of channels from now on.',
    complexity: 'O(N) with N channels.',
    channels: { kind: 'subscribe', first: 1, last: -1 },
    whileSubscribed: true,
    handler: subscribe('channel'),
  },
  {
    name: 'psubscribe',
    arity: -2,
    flags: SUBSCRIBER_FLAGS,
    categories: ['pubsub', 'slow'],
    group: 'pubsub',
    since: '2.0.0',
    summary: 'Receives the messages of all channels that match patterns from now on.',
    complexity: 'O(N) with N patterns.',
    channels: { kind: 'pattern', first: 1, last: -1 },
    whileSubscribed: true,
    handler: subscribe('pattern'),
  },
  {
    name: 'unsubscribe',
    arity: -1,
    flags: SUBSCRIBER_FLAGS,
    categories: ['pubsub', 'slow'],
    group: 'pubsub',
    since: '2.0.0',
    summary: 'Receives no more messages of the channels named, or of any.',
    complexity: 'O(N) with N channels.',
    channels: { kind: 'none', first: 1, last: -1 },
    whileSubscribed: true,
    handler: unsubscribe('channel'),
  },
  {
    name: 'punsubscribe',
    arity: -1,
    flags: SUBSCRIBER_FLAGS,
    categories: ['pubsub', 'slow'],
    group: 'pubsub',
    since: '2.0.0',
    summary: 'Receives no more messages through the patterns named, or through any.',
    complexity: 'O(N) with N patterns.',
    channels: { kind: 'none', first: 1, last: -1 },
    whileSubscribed: true,
    handler: unsubscribe('pattern'),
  },
  {
    name: 'ssubscribe',
    arity: -2,
    flags: SUBSCRIBER_FLAGS,
    categories: ['pubsub', 'slow'],
    group: 'pubsub',
    since: '7.0.0',
    summary: 'Receives the messages of shard channels from now on.',
    complexity: 'O(N) with N shard channels.',
    channels: { kind: 'subscribe', first: 1, last: -1 },
    shardChannels: ALL_ARGUMENTS,
    whileSubscribed: true,
    handler: subscribe('shard'),
  },
  {
    name: 'sunsubscribe',
    arity: -1,
    flags: SUBSCRIBER_FLAGS,
    categories: ['pubsub', 'slow'],
    group: 'pubsub',
    since: '7.0.0',
    summary: 'Receives no more messages of the shard channels named, or of any.',
    complexity: 'O(N) with N shard channels.',
    channels: { kind: 'none', first: 1, last: -1 },
    shardChannels: ALL_ARGUMENTS,
    whileSubscribed: true,
    handler: unsubscribe('shard'),
  },
  {
    name: 'spublish',
    arity: 3,
    flags: PUBLISHER_FLAGS,
    categories: ['pubsub', 'fast'],
    group: 'pubsub',
    since: '7.0.0',
    summary: 'Sends a message to the subscribers of a shard channel.',
    complexity: 'O(N) with N subscribers of the shard channel.',
    channels: { kind: 'publish', first: 1, last: 1 },
    shardChannels: { first: 1, last: 1, step: 1 },
    mayReplicate: true,
    handler: publish('shard'),
  },
  {
    name: 'pubsub',
    arity: -2,
    flags: [],
    categories: ['slow'],
    group: 'pubsub',
    since: '2.8.0',
    summary: 'Container of the commands that look into Pub/Sub.',
  },
  {
    name: 'pubsub|channels',
    arity: -2,
    flags: INSPECTOR_FLAGS,
    categories: ['pubsub', 'slow'],
    group: 'pubsub',
    since: '2.8.0',
    summary: 'Lists the channels that have subscribers.',
    complexity: 'O(N) with N channels.',
    handler: channels('channel'),
  },
  {
    name: 'pubsub|numpat',
    arity: 2,
    flags: INSPECTOR_FLAGS,
    categories: ['pubsub', 'slow'],
    group: 'pubsub',
    since: '2.8.0',
    summary: 'Counts the distinct patterns that are subscribed to.',
    complexity: 'O(1)',
    handler: ({ server, reply }) => reply.integer(server.registry.patternCount),
  },
  {
    name: 'pubsub|numsub',
    arity: -2,
    flags: INSPECTOR_FLAGS,
    categories: ['pubsub', 'slow'],
    group: 'pubsub',
    since: '2.8.0',
    summary: 'Counts the subscribers of channels.',
    complexity: 'O(N) with N channels.',
    handler: numSub('channel'),
  },
  {
    name: 'pubsub|shardchannels',
    arity: -2,
    flags: INSPECTOR_FLAGS,
    categories: ['pubsub', 'slow'],
    group: 'pubsub',
    since: '7.0.0',
    summary: 'Lists the shard channels that have subscribers.',
    complexity: 'O(N) with N shard channels.',
    handler: channels('shard'),
  },
  {
    name: 'pubsub|shardnumsub',
    arity: -2,
    flags: INSPECTOR_FLAGS,
    categories: ['pubsub', 'slow'],
    group: 'pubsub',
    since: '7.0.0',
    summary: 'Counts the subscribers of shard channels.',
    complexity: 'O(N) with N shard channels.',
    handler: numSub('shard'),
  },
  helpSpec(
    'pubsub',
    'pubsub',
    '6.2.0',
    ['slow'],
    [
      [
        'CHANNELS [<pattern>]',
        'Lists the channels that have subscribers, all or those that match (default: *).',
      ],
      ['NUMPAT', 'Counts the distinct patterns that are subscribed to.'],
      [
        'NUMSUB [<channel> ...]',
        'Counts the subscribers of channels, patterns not included (default: none).',
      ],
      [
        'SHARDCHANNELS [<pattern>]',
        'Lists the shard channels that have subscribers, all or those that match (default: *).',
      ],
      [
        'SHARDNUMSUB [<shardchannel> ...]',
        'Counts the subscribers of shard channels (default: none).',
      ],
    ],
  ),
]
