import { authorize, denialText } from '../../acl/authorize.ts'
import { compileGlob } from '../../../shared/glob.ts'
import type { Space } from '../../pubsub/subscriber.ts'
import { ArgumentList, type Request } from '../../resp/request.ts'
import type { Backplane } from '../../upstream/backplane.ts'
import type { CommandContext } from '../context.ts'
import { Deferred, type Later } from '../deferred.ts'
import { channelTooLong } from '../error-texts.ts'
import { inNextTurn, inSlices, NAMES_PER_SLICE } from '../slices.ts'
import type { Completion, Handler } from '../spec.ts'
import type { ErrorLine } from '../../resp/reply-writer.ts'

/** Words of the confirmations, by space. */
const WORDS = {
  channel: { subscribe: 'subscribe', unsubscribe: 'unsubscribe' },
  pattern: { subscribe: 'psubscribe', unsubscribe: 'punsubscribe' },
  shard: { subscribe: 'ssubscribe', unsubscribe: 'sunsubscribe' },
} as const

const NOT_CONFIRMED = 'TRYAGAIN the upstream does not confirm the subscription'

function confirmedCount({ client, prepared }: CommandContext, space: Space): number {
  if (space === 'shard') return client.subscriptions.shardCount
  return client.subscriptions.count - (prepared?.earlyCount ?? 0)
}

function confirm(context: CommandContext, word: string, name: string | null, space: Space): void {
  const { reply } = context
  context.repliedByPush = true
  reply.push(3)
  reply.bulk(word)
  if (name === null) reply.null()
  else reply.bulk(name)
  reply.integer(confirmedCount(context, space))
}

/** The error line if these subscriptions exceed the limits of the transport; the whole command fails. */
function limitError(
  { client, server }: Pick<CommandContext, 'client' | 'server'>,
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

/** The error line if one of the names is reserved. A pattern is reserved if its literal head is. */
function reservedError(
  backplane: Backplane,
  space: Space,
  request: Request,
): ErrorLine | undefined {
  for (let i = 1; i < request.count; i++) {
    const name = request.text(i)
    const refused = backplane.refuses(space === 'pattern' ? compileGlob(name).literalHead : name)
    if (refused !== undefined) return refused
  }
  return undefined
}

/** The error line of a subscribing command that fails as a whole, before its names are looked at one by one. */
export function subscribeError(
  context: Pick<CommandContext, 'client' | 'server'>,
  space: Space,
  request: Request,
): ErrorLine | undefined {
  const { client, server } = context
  if (!client.limits.unlimited) {
    const error = limitError(context, space, request)
    if (error !== undefined) return error
  }
  return server.backplane.isAlone ? undefined : reservedError(server.backplane, space, request)
}

/** The command as it would be with the arguments `[first, last]` only. */
function withNames(request: Request, first: number, last: number): Request {
  const args = [request.bytes(0)]
  for (let i = first; i <= last; i++) args.push(request.bytes(i))
  return new ArgumentList(args)
}

/** SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE: all names or, if one is refused, none. Each is confirmed. */
export function subscribe(space: Space): Handler {
  return (context, request) => {
    const { reply, server } = context
    if (space === 'shard' && context.inTransaction) {
      reply.error("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client")
      return
    }
    const error = subscribeError(context, space, request)
    if (error !== undefined) {
      reply.error(error)
      return
    }
    if (!server.backplane.isAlone) {
      if (!context.inTransaction) return wantSlice(context, space, request, 0)
      subscribePrepared(context, space, request)
      return
    }
    return inSlices(context, request.count - 1, (current, from, to) => {
      // Between two slices permissions may have changed, or the client may have another identity.
      if (from > 0 && !isStillAllowed(current, space, withNames(request, from + 1, to))) {
        return false
      }
      subscribeNames(current, space, request, from, to)
      return true
    })
  }
}

/** Subscribes to the names `[from, to)`, and confirms them. */
function subscribeNames(
  context: CommandContext,
  space: Space,
  request: Request,
  from: number,
  to: number,
): void {
  const { client, server, prepared } = context
  const owner = client.identity.user.name
  const word = WORDS[space].subscribe
  for (let i = from + 1; i <= to; i++) {
    const name = request.text(i)
    server.registry.subscribe(space, client, name, owner)
    prepared?.confirmed(space, name)
    confirm(context, word, name, space)
  }
}

/** Asks the client's user again. @returns False, and answers the denial, if a name is not allowed any more. */
function isStillAllowed(
  { client, reply, server }: CommandContext,
  space: Space,
  names: Request,
): boolean {
  const entry = server.table.catalog.get(WORDS[space].subscribe)
  const denial = authorize(client.identity, client.overlay, entry, names)
  if (denial) reply.error(denialText(client.identity.user, denial))
  return denial === undefined
}

/**
 * Subscribes to the names from `from` on, in slices, each as soon as the upstream has confirmed its names: within the event
 * that brings the confirmation, so that the next message is received.
 */
function wantSlice(
  context: CommandContext,
  space: Space,
  request: Request,
  from: number,
): void | Later<Completion> {
  const { client, server } = context
  const to = Math.min(from + NAMES_PER_SLICE, request.count - 1)
  const names: string[] = []
  for (let i = from + 1; i <= to; i++) names.push(request.text(i))

  const finish = (
    current: CommandContext,
    failure: ErrorLine | undefined,
  ): void | Later<Completion> => {
    // Meanwhile permissions may have changed, the client may have another identity, and others have subscribed too.
    const part = withNames(request, from + 1, to)
    const error = failure ?? subscribeError(current, space, part)
    if (error !== undefined) {
      current.reply.error(error)
      return
    }
    if (!isStillAllowed(current, space, part)) return
    subscribeNames(current, space, request, from, to)
    if (to === request.count - 1) return
    return inNextTurn(current, (later) => wantSlice(later, space, request, to))
  }

  const completion = new Deferred<Completion>()
  const pending = server.backplane.want(space, names, (failure) => {
    client.pendingNames = undefined
    completion.settle((later) => finish(later, failure))
  })
  if (pending === undefined || typeof pending === 'string') return finish(context, pending)
  client.pendingNames = pending
  return completion
}

/** Subscribes within EXEC: the names were asked for before it ran. */
function subscribePrepared(context: CommandContext, space: Space, request: Request): void {
  const { prepared, reply } = context
  const failure = prepared?.wanted.has(request) ? prepared.wanted.get(request) : NOT_CONFIRMED
  if (failure === undefined) subscribeNames(context, space, request, 0, request.count - 1)
  else reply.error(failure)
}

/** UNSUBSCRIBE, PUNSUBSCRIBE and SUNSUBSCRIBE: the names given, or all. Each is confirmed; none at all, by null. */
export function unsubscribe(space: Space): Handler {
  const word = WORDS[space].unsubscribe
  return (context, request) => {
    const { client, prepared, server } = context
    const isAll = request.count === 1
    // EXEC subscribes before it runs; a name whose command is still to come does not count.
    const isHeld = (name: string): boolean => !prepared?.isEarly(space, name)
    const held = isAll ? [...client.subscriptions.names(space).keys()].filter(isHeld) : []
    const count = isAll ? held.length : request.count - 1
    if (count === 0) confirm(context, word, null, space)
    return inSlices(context, count, (current, from, to) => {
      for (let i = from; i < to; i++) {
        const name = isAll ? (held[i] as string) : request.text(i + 1)
        if (isHeld(name)) server.registry.unsubscribe(space, client, name)
        confirm(current, word, name, space)
      }
      return true
    })
  }
}
