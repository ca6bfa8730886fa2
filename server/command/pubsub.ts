import { compileGlob } from '../../shared/glob.ts'
import type { Client } from '../client/client.ts'
import type { Message } from '../pubsub/entry.ts'
import type { PublishSpace } from '../pubsub/registry.ts'
import type { Space } from '../pubsub/subscriptions.ts'
import type { ReplyWriter } from '../resp/reply-writer.ts'
import type { Request } from '../resp/request.ts'
import type { CommandContext } from './context.ts'
import { subcommandArity } from './error-texts.ts'
import { helpSpec } from './help.ts'
import type { CommandSpec, Handler } from './spec.ts'

/** The words of the confirmations, by space. */
const WORDS = {
  channel: { subscribe: 'subscribe', unsubscribe: 'unsubscribe' },
  pattern: { subscribe: 'psubscribe', unsubscribe: 'punsubscribe' },
  shard: { subscribe: 'ssubscribe', unsubscribe: 'sunsubscribe' },
} as const

function confirmedCount(client: Client, space: Space): number {
  return space === 'shard' ? client.subscriptions.shardCount : client.subscriptions.count
}

function confirm(context: CommandContext, word: string, name: string | null, space: Space): void {
  const { reply, client } = context
  context.repliedByPush = true
  reply.push(3)
  reply.bulk(word)
  if (name === null) reply.null()
  else reply.bulk(name)
  reply.integer(confirmedCount(client, space))
}

/** Why a client may not have these subscriptions, by the limits of its transport; the whole command fails. */
function limitError(client: Client, space: Space, request: Request): string | undefined {
  const { limits, subscriptions } = client
  const names = request.count - 1
  if (names > limits.maxNamesPerCommand) {
    return `ERR at most ${limits.maxNamesPerCommand} names in one command are allowed on this connection`
  }
  const maxBytes = space === 'pattern' ? limits.maxPatternBytes : limits.maxChannelBytes
  const held = subscriptions.names(space)
  const added = new Set<string>()
  for (let i = 1; i < request.count; i++) {
    if (request.length(i) > maxBytes) {
      const what = space === 'pattern' ? 'pattern' : 'channel name'
      return `ERR a ${what} of more than ${maxBytes} bytes is not allowed on this connection`
    }
    if (!held.has(request.text(i))) added.add(request.text(i))
  }
  if (space === 'pattern') {
    if (held.size + added.size <= limits.maxPatterns) return undefined
    return `ERR at most ${limits.maxPatterns} patterns are allowed on this connection`
  }
  const channels = subscriptions.names('channel').size + subscriptions.shardCount
  if (channels + added.size <= limits.maxSubscriptions) return undefined
  return `ERR at most ${limits.maxSubscriptions} subscriptions are allowed on this connection`
}

function subscribe(space: Space): Handler {
  const word = WORDS[space].subscribe
  return (context, request) => {
    const { client, server, reply } = context
    if (space === 'shard' && context.inTransaction) {
      reply.error("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client")
      return
    }
    if (!client.limits.unlimited) {
      const error = limitError(client, space, request)
      if (error !== undefined) {
        reply.error(error)
        return
      }
    }
    const owner = client.identity.user.name
    for (let i = 1; i < request.count; i++) {
      const name = request.text(i)
      server.registry.subscribe(space, client, name, owner)
      confirm(context, word, name, space)
    }
  }
}

function unsubscribe(space: Space): Handler {
  const word = WORDS[space].unsubscribe
  return (context, request) => {
    const { client, server } = context
    const all = request.count === 1
    const names = all ? [...client.subscriptions.names(space).keys()] : argumentsFrom(request, 1)
    if (names.length === 0) confirm(context, word, null, space)
    for (const name of names) {
      server.registry.unsubscribe(space, client, name)
      confirm(context, word, name, space)
    }
  }
}

/** PUBLISH's message, whose bytes become buffers only if somebody is to get them. */
class RequestMessage implements Message {
  readonly #request: Request
  #channel: Buffer | undefined
  #payload: Buffer | undefined

  constructor(request: Request) {
    this.#request = request
  }

  get channel(): Buffer {
    return (this.#channel ??= this.#request.bytes(1))
  }

  get payload(): Buffer {
    return (this.#payload ??= this.#request.bytes(2))
  }
}

function publish(space: PublishSpace): Handler {
  return ({ server, reply }, request) => {
    const { counters } = server
    const message = new RequestMessage(request)
    const receivers = server.backplane.publish(space, request.text(1), message)
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

function argumentsFrom(request: Request, first: number): string[] {
  const names: string[] = []
  for (let i = first; i < request.count; i++) names.push(request.text(i))
  return names
}

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
