import { authorize, denialText } from '../../acl/authorize.ts'
import type { Client } from '../../client/client.ts'
import type { Space } from '../../pubsub/subscriber.ts'
import { ArgumentList, type Request } from '../../resp/request.ts'
import type { CommandContext } from '../context.ts'
import { channelTooLong } from '../error-texts.ts'
import { inSlices } from '../slices.ts'
import type { Handler } from '../spec.ts'
import type { ErrorLine } from '../../resp/reply-writer.ts'

/** Words of the confirmations, by space. */
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

/** The error line if these subscriptions exceed the limits of the transport; the whole command fails. */
function limitError(
  { client, server }: CommandContext,
  space: Space,
  request: Request,
): ErrorLine | undefined {
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
      return space === 'pattern'
        ? `ERR a pattern of more than ${maxBytes} bytes is not allowed on this connection`
        : channelTooLong(maxBytes)
    }
    if (!held.has(request.text(i))) added.add(request.text(i))
  }
  if (space === 'pattern') {
    if (held.size + added.size > limits.maxPatterns) {
      return `ERR at most ${limits.maxPatterns} patterns are allowed on this connection`
    }
    let distinct = server.registry.meteredPatternCount
    for (const name of added) if (server.registry.countOf('pattern', name) === 0) distinct++
    if (distinct <= limits.maxMeteredPatterns) return undefined
    return `ERR at most ${limits.maxMeteredPatterns} distinct patterns of WebSockets are allowed on this server`
  }
  const subscribed = subscriptions.names('channel').size + subscriptions.shardCount
  if (subscribed + added.size <= limits.maxSubscriptions) return undefined
  return `ERR at most ${limits.maxSubscriptions} subscriptions are allowed on this connection`
}

/** The command as it would be with the arguments `[first, last]` only. */
function withNames(request: Request, first: number, last: number): Request {
  const args = [request.bytes(0)]
  for (let i = first; i <= last; i++) args.push(request.bytes(i))
  return new ArgumentList(args)
}

/** SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE: all names or, if one is refused, none. Each is confirmed. */
export function subscribe(space: Space): Handler {
  const word = WORDS[space].subscribe
  return (context, request) => {
    const { client, server, reply } = context
    if (space === 'shard' && context.inTransaction) {
      reply.error("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client")
      return
    }
    if (!client.limits.unlimited) {
      const error = limitError(context, space, request)
      if (error !== undefined) {
        reply.error(error)
        return
      }
    }
    const entry = server.table.catalog.get(word)
    return inSlices(context, request.count - 1, (current, from, to) => {
      // Between two slices permissions may have changed, or the client may have another identity.
      if (from > 0) {
        const rest = withNames(request, from + 1, to)
        const denial = authorize(client.identity, client.overlay, entry, rest)
        if (denial) {
          current.reply.error(denialText(client.identity.user, denial))
          return false
        }
      }
      const owner = client.identity.user.name
      for (let i = from + 1; i <= to; i++) {
        const name = request.text(i)
        server.registry.subscribe(space, client, name, owner)
        confirm(current, word, name, space)
      }
      return true
    })
  }
}

/** UNSUBSCRIBE, PUNSUBSCRIBE and SUNSUBSCRIBE: the names given, or all. Each is confirmed; none at all, by null. */
export function unsubscribe(space: Space): Handler {
  const word = WORDS[space].unsubscribe
  return (context, request) => {
    const { client, server } = context
    const isAll = request.count === 1
    const held = isAll ? [...client.subscriptions.names(space).keys()] : []
    const count = isAll ? held.length : request.count - 1
    if (count === 0) confirm(context, word, null, space)
    return inSlices(context, count, (current, from, to) => {
      for (let i = from; i < to; i++) {
        const name = isAll ? (held[i] as string) : request.text(i + 1)
        server.registry.unsubscribe(space, client, name)
        confirm(current, word, name, space)
      }
      return true
    })
  }
}
