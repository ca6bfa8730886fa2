import type { Category } from '../../acl/categories.ts'
import { describeClient } from '../../client/describe.ts'
import type { ReplyWriter } from '../../resp/reply-writer.ts'
import type { Request } from '../../resp/request.ts'
import type { RevocationActor } from '../../token/revoke/enforcement.ts'
import {
  issuerLabel,
  type Revocation,
  type RevocationOrder,
} from '../../token/revoke/revocation.ts'
import type { CommandContext } from '../context.ts'
import { NOT_AN_INTEGER } from '../error-texts.ts'
import { helpSpec } from '../help.ts'
import { parseInteger } from '../integers.ts'
import type { CommandFlag, CommandSpec, Completion } from '../spec.ts'

const ADMIN: readonly CommandFlag[] = ['admin', 'noscript', 'loading', 'stale']
/** Their answer waits for the disk, which EXEC cannot. */
const ADMIN_WAITING: readonly CommandFlag[] = [...ADMIN, 'no_multi']
const ADMIN_CATEGORIES: readonly Category[] = ['admin', 'slow', 'dangerous']

/** Sessions that a dry run shows. */
const SAMPLE_SIZE = 10

const NOT_DURABLE = 'MISCONF revocation is in force but not durable'
const LIFT_NOT_DURABLE = 'MISCONF revocation is lifted but not durable'
const TOO_MANY = 'ERR too many revocations are in force. Lift some, or give them a TTL'

function revoke(context: CommandContext, request: Request): void | Promise<Completion> {
  const { reply, server } = context
  const { revocation } = server.tokens
  const words: string[] = []
  for (let i = 2; i < request.count; i++) words.push(request.text(i))
  const read = revocation.read(words)
  if ('error' in read) {
    reply.error(read.error)
  } else if (read.dryRun) {
    writeDryRun(context, read.order)
  } else if (server.tokens.revocations.isFull) {
    reply.error(TOO_MANY)
  } else {
    return revocation.revoke(read.order, actorOf(context)).then(({ sessions, durable }) => {
      return ({ reply: later }) => {
        if (durable) later.integer(sessions)
        else later.error(NOT_DURABLE)
      }
    })
  }
}

function writeDryRun({ reply, server }: CommandContext, order: RevocationOrder): void {
  const targets = server.tokens.revocation.targets(order)
  const sample = targets.slice(0, SAMPLE_SIZE)
  const nowMs = server.clock.monotonicMs()
  reply.map(2)
  reply.bulk('sessions')
  reply.integer(targets.length)
  reply.bulk('sample')
  reply.array(sample.length)
  for (const client of sample) reply.utf8(describeClient(client, nowMs))
}

function unrevoke(context: CommandContext, request: Request): void | Promise<Completion> {
  const { reply, server } = context
  const id = parseInteger(request.text(2))
  if (id === undefined) {
    reply.error(NOT_AN_INTEGER)
    return
  }
  return server.tokens.revocation.unrevoke(id, actorOf(context)).then((durable) => {
    return ({ reply: later }) => {
      if (durable === undefined) later.error(`ERR No revocation with id ${id} is in force`)
      else if (durable) later.ok()
      else later.error(LIFT_NOT_DURABLE)
    }
  })
}

function actorOf({ client }: CommandContext): RevocationActor {
  return { user: client.identity.user.name, address: client.origin.address }
}

function revocations({ reply, server }: CommandContext): void {
  const records = [...server.tokens.revocations.list()]
  reply.array(records.length)
  for (const record of records) writeRecord(reply, record)
}

/** The fields of every record, and behind them those that only some have. */
function writeRecord(reply: ReplyWriter, record: Revocation): void {
  const { scope, only, message } = record
  const issuer = record.kind === 'issuer' ? issuerLabel(record.target) : record.issuer
  const more: (readonly [string, string])[] = []
  if (scope) more.push(['for', `${scope.kind} ${scope.name}`])
  if (only) more.push(['only', only])
  if (message !== '') more.push(['message', utf8Bytes(message)])
  reply.map(11 + more.length)
  writeField(reply, 'id', record.id)
  writeField(reply, 'kind', record.kind)
  writeField(reply, 'target', record.target)
  writeField(reply, 'issuer', issuer)
  writeField(reply, 'before', record.beforeMs)
  writeField(reply, 'hard', record.hard ? 1 : 0)
  writeField(reply, 'expires', record.expiresAtMs)
  writeField(reply, 'by', record.by)
  writeField(reply, 'at', record.atMs)
  writeField(reply, 'reason', utf8Bytes(record.reason))
  writeField(reply, 'hit', record.hit)
  for (const [name, value] of more) writeField(reply, name, value)
}

function writeField(reply: ReplyWriter, name: string, value: string | number | undefined): void {
  reply.bulk(name)
  if (value === undefined) reply.null()
  else if (typeof value === 'number') reply.integer(value)
  else reply.bulk(value)
}

function utf8Bytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

function admin(
  name: string,
  arity: number,
  flags: readonly CommandFlag[],
  summary: string,
  complexity: string,
  handler: CommandSpec['handler'],
): CommandSpec {
  return {
    name: `token|${name}`,
    arity,
    flags,
    categories: ADMIN_CATEGORIES,
    group: 'server',
    since: '0.1.0',
    summary,
    complexity,
    ...(handler ? { handler } : {}),
  }
}

/** TOKEN and the subcommands that revoke; TOKEN EXPLAIN and TOKEN WHY have a file of their own. */
export const TOKEN_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'token',
    arity: -2,
    flags: [],
    categories: ['slow'],
    group: 'server',
    since: '0.1.0',
    summary: 'Container of the commands about tokens and what they grant.',
  },
  admin(
    'revoke',
    -3,
    ADMIN_WAITING,
    'Refuses tokens and ends their sessions, or takes channels away from them. Answers how many sessions it hit, once that is on disk.',
    'O(N) with N sessions hit; for channels also O(M) with M names that are subscribed to.',
    revoke,
  ),
  admin(
    'unrevoke',
    3,
    ADMIN_WAITING,
    'Takes a revocation back. Sessions that it ended stay ended.',
    'O(1)',
    unrevoke,
  ),
  admin(
    'revocations',
    2,
    ADMIN,
    'Lists the revocations in force, oldest first.',
    'O(N) with N revocations.',
    revocations,
  ),
  helpSpec(
    'token',
    'server',
    '0.1.0',
    ['slow'],
    [
      [
        'EXPLAIN <jwt> | CLIENT <id> [<command> [<arg> ...]]',
        'Says what a token or a session may do, and what allows or denies it.',
      ],
      [
        'REVOKE JTI <id> | SUB <sub> | GROUP <group> | ROLE <name> | KID <kid> [FROM <issuer alias>] [<option> ...]',
        'Refuses the tokens named and closes their sessions. Answers how many there were.',
      ],
      [
        'REVOKE ISSUER <alias> | ALL [<option> ...]',
        'The same for all tokens of an issuer, or for all there are.',
      ],
      [
        'REVOKE CHANNEL <pattern> [FOR SUB <sub> | FOR ROLE <name> | FOR GROUP <group>] [FROM <issuer alias>] [ONLY SUBSCRIBE | ONLY PUBLISH] [<option> ...]',
        'Takes channels away from token sessions, whatever allows them.',
        'Options: BEFORE <unix-ms>, HARD, TTL <seconds> or PERSIST, REASON <text>, MESSAGE <text>, DRYRUN.',
      ],
      ['REVOCATIONS', 'Lists the revocations in force.'],
      ['UNREVOKE <id>', 'Takes a revocation back.'],
      ['WHY <command> <channel>', 'Says what denies a command on a channel to this session.'],
    ],
  ),
]
