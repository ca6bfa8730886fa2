import type { Client } from '../../client/client.ts'
import { describeClient } from '../../client/describe.ts'
import { clientType, isOfType, killClients, type KillOrder } from '../../client/kill.ts'
import type { Request } from '../../resp/request.ts'
import { noteRedirect } from './tracking.ts'
import type { CommandContext } from '../context.ts'
import { SYNTAX_ERROR } from '../error-texts.ts'
import { parseInteger } from '../arguments.ts'
import type { ErrorLine } from '../../resp/reply-writer.ts'

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
export function kill(context: CommandContext, request: Request): void {
  if (request.count === 3) killByAddress(context, request.text(2))
  else killByFilters(context, request)
}

/** Clients of a Unix socket all have its address. */
function killByAddress({ reply, server }: CommandContext, addr: string): void {
  if (killClients(server.clients, { addr }, server.clock.monotonicMs()) > 0) reply.ok()
  else reply.error('ERR No such client')
}

function killByFilters({ client, reply, server }: CommandContext, request: Request): void {
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
  reply.integer(killClients(server.clients, order, server.clock.monotonicMs()))
}

function readFilter(option: string, value: string, server: CommandContext['server']): ReadFilter {
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

function userFilter(name: string, { users, clients }: CommandContext['server']): ReadFilter {
  if (!users.get(name) && clients.ofUser(name).size === 0) {
    return { error: `ERR No such user '${name}'` }
  }
  return { filter: { user: name } }
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
