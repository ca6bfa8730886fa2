import type { AuditEntry } from '../../token/revoke/audit.ts'
import { checkRules } from '../../token/explain/rules.ts'
import type { ReplyWriter } from '../../resp/reply-writer.ts'
import type { Request } from '../../resp/request.ts'
import type { CommandContext } from '../context.ts'
import { NOT_AN_INTEGER, SYNTAX_ERROR } from '../error-texts.ts'
import { helpSpec } from '../help.ts'
import { parseInteger } from '../integers.ts'
import type { CommandSpec, Handler } from '../spec.ts'

/** Entries that AUDIT answers without COUNT, as ACL LOG does. */
const AUDIT_ENTRIES = 10

/** RESPCAST PATTERNS: each pattern that is subscribed to, and by how many. */
function patterns({ reply, server }: CommandContext): void {
  reply.map(server.registry.patternCount)
  for (const { name, size } of server.registry.patterns()) {
    reply.bulk(name)
    reply.integer(size)
  }
}

/** RESPCAST SUBSCRIPTIONS <client-id>: what one client is subscribed to, each with the user who made it. */
function subscriptions({ reply, server }: CommandContext, request: Request): void {
  const id = parseInteger(request.text(2))
  if (id === undefined) {
    reply.error('ERR Invalid client ID')
    return
  }
  const client = server.clients.get(id)
  if (client === undefined) {
    reply.error('ERR No such client ID')
    return
  }
  const spaces = [
    ['channels', 'channel'],
    ['patterns', 'pattern'],
    ['shardchannels', 'shard'],
  ] as const
  reply.map(spaces.length)
  for (const [title, space] of spaces) {
    const names = client.subscriptions.names(space)
    reply.bulk(title)
    reply.map(names.size)
    for (const [name, owner] of names) {
      reply.bulk(name)
      reply.bulk(owner)
    }
  }
}

/** RESPCAST AUDIT [COUNT n] [SINCE ms]: who revoked what, newest first. */
function audit({ reply, server }: CommandContext, request: Request): void {
  let count = AUDIT_ENTRIES
  let sinceMs = 0
  for (let at = 2; at < request.count; at += 2) {
    const option = request.text(at).toLowerCase()
    if ((option !== 'count' && option !== 'since') || at + 1 >= request.count) {
      reply.error(SYNTAX_ERROR)
      return
    }
    const value = parseInteger(request.text(at + 1))
    if (value === undefined || value < (option === 'count' ? 1 : 0)) {
      reply.error(NOT_AN_INTEGER)
      return
    }
    if (option === 'count') count = value
    else sinceMs = value
  }
  const entries = server.audit.recent(count, sinceMs)
  reply.array(entries.length)
  for (const entry of entries) writeEntry(reply, entry)
}

function writeEntry(reply: ReplyWriter, entry: AuditEntry): void {
  const fields = Object.entries({
    at: entry.atMs,
    action: entry.action,
    by: entry.by,
    address: entry.address,
    id: entry.id,
    kind: entry.kind,
    target: entry.target,
    options: entry.options,
    reason: entry.reason,
    message: entry.message,
    hit: entry.hit,
    durable: entry.durable ? 1 : 0,
  })
  reply.map(fields.length)
  for (const [name, value] of fields) {
    reply.bulk(name)
    if (typeof value === 'number') reply.integer(value)
    else reply.utf8(value)
  }
}

/** RESPCAST CHECK <rule> [<rule> ...]: tries the rules of a role. */
function check({ reply, server }: CommandContext, request: Request): void {
  const rules = Array.from({ length: request.count - 2 }, (_, at) => request.text(at + 2))
  const checked = checkRules(server.table.catalog, rules, server.users.ruleOptions)
  if ('error' in checked) {
    reply.error(`ERR ${checked.error}`)
    return
  }
  reply.map(2)
  reply.bulk('rules')
  reply.bulk(checked.rules)
  reply.bulk('warnings')
  reply.array(checked.warnings.length)
  for (const warning of checked.warnings) reply.bulk(warning)
}

function admin(
  name: string,
  arity: number,
  summary: string,
  complexity: string,
  handler: Handler,
): CommandSpec {
  return {
    name: `respcast|${name}`,
    arity,
    flags: ['admin', 'noscript', 'loading', 'stale'],
    categories: ['admin', 'slow', 'dangerous'],
    group: 'server',
    since: '0.1.0',
    summary,
    complexity,
    handler,
  }
}

/** RESPCAST and its subcommands: what the console needs and Redis has no command for. */
export const RESPCAST_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'respcast',
    arity: -2,
    flags: [],
    categories: ['slow'],
    group: 'server',
    since: '0.1.0',
    summary: 'Container of the commands that Redis does not have.',
  },
  admin(
    'audit',
    -2,
    'Lists who revoked what, when and why.',
    'O(N) with N the number of entries kept at hand.',
    audit,
  ),
  {
    ...admin(
      'check',
      -3,
      'Tries the rules of a role without storing them.',
      'O(N) with N the number of rules.',
      check,
    ),
    isSecret: (_request, index) => index > 1,
  },
  admin(
    'patterns',
    2,
    'Lists the patterns that are subscribed to, each with the number of its subscribers.',
    'O(N) with N the number of patterns.',
    patterns,
  ),
  admin(
    'subscriptions',
    3,
    'Lists what a client is subscribed to.',
    'O(N) with N the number of its subscriptions.',
    subscriptions,
  ),
  helpSpec(
    'respcast',
    'server',
    '0.1.0',
    ['slow'],
    [
      [
        'AUDIT [COUNT <count>] [SINCE <unix-time-milliseconds>]',
        'Lists who revoked what, when and why, newest first.',
      ],
      ['CHECK <rule> [<rule> ...]', 'Tries the rules of a role without storing them.'],
      ['PATTERNS', 'Lists the patterns that are subscribed to, and by how many.'],
      [
        'SUBSCRIPTIONS <client-id>',
        'Lists the channels, patterns and shard channels of a client, each with the user who',
        'subscribed to it.',
      ],
    ],
  ),
]
