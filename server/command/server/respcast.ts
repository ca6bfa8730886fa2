import * as arg from '../argument.ts'
import { CLOSES } from '../../client/close.ts'
import type { KnownNode, NodeRecord } from '../../control/node.ts'
import type { AuditEntry } from '../../token/revoke/audit.ts'
import { checkRoleRules } from '../../token/grant/role-check.ts'
import type { ReplyWriter } from '../../resp/reply-writer.ts'
import type { Request } from '../../resp/request.ts'
import { parseInteger, textsFrom } from '../arguments.ts'
import { ADMIN, CONTAINER, helpOf } from '../container.ts'
import type { CommandContext } from '../context.ts'
import { NOT_AN_INTEGER, SYNTAX_ERROR } from '../error-texts.ts'
import { writeBulks, writeField, writeFields } from '../replies.ts'
import type { CommandData } from '../spec.ts'

/** Number of entries that AUDIT answers without COUNT, as ACL LOG does. */
const AUDIT_ENTRIES = 10

/** RESPCAST PATTERNS: each pattern with the number of its subscribers. */
function patterns({ reply, server }: CommandContext): void {
  reply.map(server.registry.patternCount)
  for (const { name, size } of server.registry.patterns()) {
    reply.bulk(name)
    reply.integer(size)
  }
}

/** RESPCAST SUBSCRIPTIONS <client-id>: the subscriptions of one client, each with the user who made it. */
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
    writeFields(reply, [...names])
  }
}

/** RESPCAST AUDIT [COUNT n] [SINCE ms]: revocations with their authors, newest first. */
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
    node: entry.node ?? '',
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
  const checked = checkRoleRules(
    server.table.catalog,
    textsFrom(request, 2),
    server.users.ruleOptions,
  )
  if ('error' in checked) {
    reply.error(`ERR ${checked.error}`)
    return
  }
  reply.map(2)
  writeField(reply, 'rules', checked.rules)
  reply.bulk('warnings')
  writeBulks(reply, checked.warnings)
}

/** RESPCAST NODES: this gateway, then the others of its namespace, by number. */
function nodes({ reply, server }: CommandContext): void {
  const { clock, control } = server
  const nowMs = clock.monotonicMs()
  const { figures } = control
  const others = [...control.nodes].sort((one, other) => one.number - other.number)
  reply.array(others.length + 1)
  writeNode(reply, control.self, {
    isSelf: true,
    isFenced: figures?.isFenced ?? false,
    leaseMs: figures && Math.floor(figures.leaseSeconds * 1000),
  })
  for (const node of others) writeNode(reply, node, leaseOf(node, nowMs))
}

/** What the entry of a gateway says beside its record. */
interface NodeState {
  readonly isSelf: boolean
  readonly isFenced: boolean
  /** Time that is left of its lease; undefined where there are no leases. */
  readonly leaseMs: number | undefined
}

function leaseOf({ leaseEndsMs }: KnownNode, nowMs: number): NodeState {
  const leaseMs = Math.max(0, Math.floor(leaseEndsMs - nowMs))
  return { isSelf: false, isFenced: leaseMs === 0, leaseMs }
}

function writeNode(reply: ReplyWriter, node: NodeRecord, state: NodeState): void {
  const { resp, http, admin } = node.addresses
  reply.map(15)
  writeField(reply, 'id', node.id)
  writeField(reply, 'number', node.number)
  reply.bulk('name')
  reply.utf8(node.name)
  writeField(reply, 'version', node.version)
  reply.bulk('addresses')
  writeFields(reply, [
    ['resp', resp],
    ['http', http],
    ['admin', admin],
  ])
  writeField(reply, 'started', Math.floor(node.startedAtMs))
  writeField(reply, 'clients', node.clients)
  writeField(reply, 'sessions', node.sessions)
  writeField(reply, 'subscriptions', node.subscriptions)
  writeField(reply, 'applied', node.applied)
  writeField(reply, 'draining', node.isDraining ? 1 : 0)
  writeField(reply, 'fenced', state.isFenced ? 1 : 0)
  writeField(reply, 'lease', state.leaseMs)
  writeField(reply, 'self', state.isSelf ? 1 : 0)
  reply.bulk('digests')
  writeFields(reply, [
    ['issuers', node.digests.issuers],
    ['acl', node.digests.acl],
  ])
}

/** RESPCAST DRAIN [NOW]: takes the server out of service; the answer is how long that takes at most, in milliseconds. */
function drain({ client, reply, server }: CommandContext, request: Request): void {
  if (request.count === 2) {
    server.drain.begin()
    reply.integer(server.drain.restMs)
  } else if (request.count === 3 && request.text(2).toLowerCase() === 'now') {
    client.close(CLOSES.shutdown)
    server.shutdown()
  } else {
    reply.error(SYNTAX_ERROR)
  }
}

const COMMON = {
  ...ADMIN,
  since: '0.1.0',
} as const satisfies Partial<CommandData>

/** RESPCAST and its subcommands: commands for the console that Redis does not have. */
export const respcast: CommandData = {
  ...CONTAINER,
  group: 'server',
  since: '0.1.0',
  summary: 'Container of the commands that Redis does not have.',
  subcommands: {
    audit: {
      ...COMMON,
      arity: -2,
      syntax: '[COUNT <count>] [SINCE <unix-time-milliseconds>]',
      arguments: [
        arg.integer('count', { token: 'COUNT', optional: true }),
        arg.integer('unix-time-milliseconds', { token: 'SINCE', optional: true }),
      ],
      summary: 'Lists who revoked what, when and why.',
      help: ['Lists who revoked what, when and why, newest first.'],
      complexity: 'O(N) with N the number of entries kept at hand.',
      handler: audit,
    },
    check: {
      ...COMMON,
      arity: -3,
      syntax: '<rule> [<rule> ...]',
      arguments: [arg.string('rule', { multiple: true })],
      summary: 'Tries the rules of a role without storing them.',
      complexity: 'O(N) with N the number of rules.',
      secret: 2,
      handler: check,
    },
    drain: {
      ...COMMON,
      arity: -2,
      flags: [...COMMON.flags, 'no_multi'],
      syntax: '[NOW]',
      arguments: [arg.word('NOW', { optional: true })],
      summary:
        'Takes the server out of service: clients are closed one after another, then it ends.',
      help: [
        'Takes the server out of service: /readyz is 503, after a grace clients are closed one',
        'after another, then it ends. NOW ends it at once.',
      ],
      complexity: 'O(N) with N the number of clients.',
      handler: drain,
    },
    nodes: {
      ...COMMON,
      arity: 2,
      summary: 'Lists the gateways that share users and revocations with this one.',
      help: ['Lists the gateways that share users and revocations, this one first.'],
      complexity: 'O(N) with N the number of gateways.',
      handler: nodes,
    },
    patterns: {
      ...COMMON,
      arity: 2,
      summary:
        'Lists the patterns that are subscribed to, each with the number of its subscribers.',
      help: ['Lists the patterns that are subscribed to, and by how many.'],
      complexity: 'O(N) with N the number of patterns.',
      handler: patterns,
    },
    subscriptions: {
      ...COMMON,
      arity: 3,
      syntax: '<client-id>',
      arguments: [arg.integer('client-id')],
      summary: 'Lists what a client is subscribed to.',
      help: [
        'Lists the channels, patterns and shard channels of a client, each with the user who',
        'subscribed to it.',
      ],
      complexity: 'O(N) with N the number of its subscriptions.',
      handler: subscriptions,
    },
    help: helpOf('respcast', '0.1.0'),
  },
}
