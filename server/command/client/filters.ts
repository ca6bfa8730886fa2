import type { Client } from '../../client/client.ts'
import { describeClient } from '../../client/describe.ts'
import { clientType, isOfType, killClients, type KillOrder } from '../../client/kill.ts'
import type { CommitOutcome } from '../../control/control.ts'
import type { Request } from '../../resp/request.ts'
import { noteRedirect } from './tracking.ts'
import { actorOf, ALL_SOON, notConfirmedText } from '../commit.ts'
import type { CommandContext, Services } from '../context.ts'
import { SYNTAX_ERROR } from '../error-texts.ts'
import { parseInteger } from '../arguments.ts'
import { utf8Bytes } from '../replies.ts'
import type { Completion } from '../spec.ts'
import type { ErrorLine, ReplyWriter } from '../../resp/reply-writer.ts'

/** One option of CLIENT KILL: a filter, an error line, or SKIPME. */
type ReadFilter =
  | { readonly filter: KillOrder }
  | { readonly error: ErrorLine }
  | { readonly skipMe: boolean }

/** CLIENT LIST [TYPE type] [ID id ...]. */
export function list({ reply, server }: CommandContext, request: Request): void {
  let clients: Iterable<Client> = server.clients.all()
  const option = request.count > 2 ? request.text(2).toLowerCase() : ''
  if (option === 'type' && request.count === 4) {
    const type = clientType(request.text(3))
    if (!type) {
      reply.error(unknownType(request.text(3)))
      return
    }
    clients = [...clients].filter((client) => isOfType(client, type))
  } else if (option === 'id' && request.count > 3) {
    const chosen: Client[] = []
    for (let i = 3; i < request.count; i++) {
      const id = parseInteger(request.text(i))
      if (id === undefined) {
        reply.error('ERR Invalid client ID')
        return
      }
      const client = server.clients.get(id)
      if (client) chosen.push(client)
    }
    clients = chosen
  } else if (request.count > 2) {
    reply.error(SYNTAX_ERROR)
    return
  }
  const nowMs = server.clock.monotonicMs()
  const lines: string[] = []
  for (const client of clients) {
    noteRedirect(client, server)
    lines.push(describeClient(client, nowMs))
  }
  reply.verbatimLines(lines)
}

/** CLIENT KILL, in its old form by address and its new form by filters. */
export function kill(context: CommandContext, request: Request): void | Promise<Completion> {
  if (request.count > 3) return killByFilters(context, request)
  // Clients of a Unix socket all have its address.
  return execute(context, { addr: request.text(2) }, (reply, killed) => {
    if (killed > 0) reply.ok()
    else reply.error('ERR No such client')
  })
}

function killByFilters(context: CommandContext, request: Request): void | Promise<Completion> {
  const { client, reply, server } = context
  // Of an option that is given again the last value counts.
  let order: KillOrder = {}
  let skipMe = true
  for (let i = 2; i < request.count; i += 2) {
    const option = request.text(i).toLowerCase()
    const read: ReadFilter =
      i + 1 < request.count
        ? readFilter(option, request.text(i + 1), server)
        : { error: SYNTAX_ERROR }
    if ('error' in read) {
      reply.error(read.error)
      return
    }
    if ('skipMe' in read) skipMe = read.skipMe
    else order = { ...order, ...read.filter }
  }
  if (skipMe) order = { ...order, skip: client.id }
  return execute(context, order, (later, killed) => {
    const { user } = order
    if (killed > 0 || user === undefined || isKnown(user, server)) later.integer(killed)
    else later.error(noSuchUser(user))
  })
}

/** Closes the clients of this gateway at once, then those of others, and answers the number of all. */
function execute(
  context: CommandContext,
  order: KillOrder,
  answer: (reply: ReplyWriter, killed: number) => void,
): void | Promise<Completion> {
  const { client, inTransaction, reply, server } = context
  const { clients, clock, control } = server
  const here = killClients(clients, order, clock.monotonicMs())
  // An id is that of one connection.
  if (control.isAlone || (order.id !== undefined && here > 0)) {
    answer(reply, here)
    return
  }
  const committed = control.commit({
    changes: [],
    order: { part: 'k', value: JSON.stringify(order) },
    actor: actorOf(context),
    enforced: Promise.resolve(here),
    wait: ALL_SOON,
  })
  // EXEC does not wait, and whoever has closed itself does not either.
  if (inTransaction || client.closed) {
    answer(reply, here)
    return
  }
  return committed.then((outcome) => ({ reply: later }) => {
    const error = killError(outcome, here)
    if (error !== undefined) later.error(error)
    else answer(later, outcome.state === 'committed' ? outcome.sessions : here)
  })
}

/** The error line about an order that other gateways may not have carried out. */
function killError(outcome: CommitOutcome, here: number): ErrorLine | undefined {
  switch (outcome.state) {
    case 'committed':
      if (outcome.missing.length === 0) return undefined
      return `NOREPLICAS closed ${outcome.sessions}, ${notConfirmedText(outcome.missing)}`
    case 'unreachable':
      return `NOREPLICAS closed ${here} here alone: the upstream does not answer`
    case 'refused':
      return `NOREPLICAS closed ${here} here alone: ${utf8Bytes(outcome.problem)}`
    case 'conflict':
      return undefined
  }
}

function readFilter(option: string, value: string, server: Services): ReadFilter {
  switch (option) {
    case 'id':
      return idFilter(value)
    case 'type': {
      const type = clientType(value)
      return type ? { filter: { type } } : { error: unknownType(value) }
    }
    case 'addr':
      return { filter: { addr: value } }
    case 'laddr':
      return { filter: { laddr: value } }
    case 'user':
      return userFilter(value, server)
    case 'skipme': {
      const word = value.toLowerCase()
      return word === 'yes' || word === 'no' ? { skipMe: word === 'yes' } : { error: SYNTAX_ERROR }
    }
    case 'maxage':
      return maxAgeFilter(value)
    case 'jwt-sub':
      return { filter: { sub: value } }
    case 'jwt-jti':
      return { filter: { jti: value } }
    case 'jwt-iss':
      return { filter: { iss: value } }
    case 'transport':
      return { filter: { transport: value.toLowerCase() } }
    default:
      return { error: SYNTAX_ERROR }
  }
}

function idFilter(value: string): ReadFilter {
  const id = parseInteger(value)
  if (id === undefined || id < 1) return { error: 'ERR client-id should be greater than 0' }
  return { filter: { id } }
}

/** A token session of a user whom nobody has here may be at another gateway. */
function userFilter(user: string, server: Services): ReadFilter {
  const isRefused = server.control.isAlone && !isKnown(user, server)
  return isRefused ? { error: noSuchUser(user) } : { filter: { user } }
}

function isKnown(user: string, { users, clients }: Services): boolean {
  return users.get(user) !== undefined || clients.ofUser(user).size > 0
}

function noSuchUser(user: string): ErrorLine {
  return `ERR No such user '${user}'`
}

function maxAgeFilter(value: string): ReadFilter {
  const maxAge = parseInteger(value)
  if (maxAge === undefined) return { error: 'ERR maxage is not an integer or out of range' }
  if (maxAge <= 0) return { error: 'ERR maxage should be greater than 0' }
  return { filter: { maxAge } }
}

function unknownType(word: string): ErrorLine {
  return `ERR Unknown client type '${word}'`
}
