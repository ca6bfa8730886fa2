import * as arg from '../argument.ts'
import { describeClient } from '../../client/describe.ts'
import type { ReplyWriter } from '../../resp/reply-writer.ts'
import type { Request } from '../../resp/request.ts'
import type { RevocationActor } from '../../token/revoke/enforcement.ts'
import {
  issuerLabel,
  type Revocation,
  type RevocationOrder,
} from '../../token/revoke/revocation.ts'
import { parseInteger, textsFrom } from '../arguments.ts'
import { ADMIN, CONTAINER, helpOf } from '../container.ts'
import type { CommandContext } from '../context.ts'
import { NOT_AN_INTEGER } from '../error-texts.ts'
import { writeFields } from '../replies.ts'
import type { CommandData, Completion } from '../spec.ts'
import { explain, isAboutClient, why } from './explain.ts'

/** Number of sessions that a dry run shows. */
const SAMPLE_SIZE = 10

const NOT_DURABLE = 'MISCONF revocation is in force but not durable'
const LIFT_NOT_DURABLE = 'MISCONF revocation is lifted but not durable'
const TOO_MANY = 'ERR too many revocations are in force. Lift some, or give them a TTL'

function revoke(context: CommandContext, request: Request): void | Promise<Completion> {
  const { reply, server } = context
  const { revocation } = server.tokens
  const read = revocation.read(textsFrom(request, 2))
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
  for (const record of records) {
    writeRecord(reply, record, server.tokens.revocations.endOf(record))
  }
}

/** Writes the fields that every record has, then those that only some have. */
function writeRecord(reply: ReplyWriter, record: Revocation, endsAtMs: number | undefined): void {
  const { keys, scope, only, message } = record
  const issuer = record.kind === 'issuer' ? issuerLabel(record.target) : record.issuer
  const fields: [string, string | number | undefined][] = [
    ['id', record.id],
    ['kind', record.kind],
    ['target', record.target],
    ['issuer', issuer],
    ['before', record.beforeMs],
    ['hard', record.hard ? 1 : 0],
    ['expires', endsAtMs],
    ['by', record.by],
    ['at', record.atMs],
    ['reason', utf8Bytes(record.reason)],
    ['hit', record.hit],
  ]
  if (keys && keys.length > 0) fields.push(['keys', keys.join(' ')])
  if (scope) fields.push(['for', `${scope.kind} ${scope.name}`])
  if (only) fields.push(['only', only])
  if (message !== '') fields.push(['message', utf8Bytes(message)])
  writeFields(reply, fields)
}

function utf8Bytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

const COMMON = {
  ...ADMIN,
  since: '0.1.0',
} as const satisfies Partial<CommandData>

/** Commands whose answer waits for the disk, which EXEC cannot. */
const ADMIN_WAITING = {
  ...COMMON,
  flags: [...COMMON.flags, 'no_multi'],
} as const satisfies Partial<CommandData>

/** TOKEN and its subcommands. */
export const token: CommandData = {
  ...CONTAINER,
  group: 'server',
  since: '0.1.0',
  summary: 'Container of the commands about tokens and what they grant.',
  subcommands: {
    revoke: {
      ...ADMIN_WAITING,
      arity: -3,
      syntax: [
        [
          'JTI <id> | SUB <sub> | GROUP <group> | ROLE <name> | KID <kid> | KEY <thumbprint> [FROM <issuer alias>] [<option> ...]',
          'Refuses the tokens named and closes their sessions. Answers how many there were.',
        ],
        [
          'ISSUER <alias> | ALL [<option> ...]',
          'The same for all tokens of an issuer, or for all there are.',
        ],
        [
          'CHANNEL <pattern> [FOR SUB <sub> | FOR ROLE <name> | FOR GROUP <group>] [FROM <issuer alias>] [ONLY SUBSCRIBE | ONLY PUBLISH] [<option> ...]',
          'Takes channels away from token sessions, whatever allows them.',
          'Options: BEFORE <unix-ms>, HARD, TTL <seconds> or PERSIST, REASON <text>, MESSAGE <text>, DRYRUN.',
        ],
      ],
      arguments: [
        arg.oneOf('target', [
          arg.string('jti', { token: 'JTI', shown: 'id' }),
          arg.string('sub', { token: 'SUB' }),
          arg.string('group', { token: 'GROUP' }),
          arg.string('role', { token: 'ROLE', shown: 'name' }),
          arg.string('kid', { token: 'KID' }),
          arg.string('key', { token: 'KEY', shown: 'thumbprint' }),
          arg.string('issuer', { token: 'ISSUER', shown: 'alias' }),
          arg.word('ALL'),
          arg.block('channel', [
            arg.pattern('pattern', { token: 'CHANNEL' }),
            arg.oneOf(
              'holder',
              [
                arg.string('sub', { token: 'SUB' }),
                arg.string('role', { token: 'ROLE', shown: 'name' }),
                arg.string('group', { token: 'GROUP' }),
              ],
              { token: 'FOR', optional: true },
            ),
            arg.oneOf('use', arg.words('SUBSCRIBE PUBLISH'), { token: 'ONLY', optional: true }),
          ]),
        ]),
        arg.string('issuer-alias', { token: 'FROM', optional: true }),
        arg.integer('unix-time-milliseconds', { token: 'BEFORE', optional: true }),
        arg.word('HARD', { optional: true }),
        arg.oneOf('lifetime', [arg.integer('seconds', { token: 'TTL' }), arg.word('PERSIST')], {
          optional: true,
        }),
        arg.string('reason', { token: 'REASON', optional: true }),
        arg.string('message', { token: 'MESSAGE', optional: true }),
        arg.word('DRYRUN', { optional: true }),
      ],
      summary:
        'Refuses tokens and ends their sessions, or takes channels away from them. Answers how many sessions it hit, once that is on disk.',
      complexity:
        'O(N) with N sessions hit; for channels also O(M) with M names that are subscribed to.',
      handler: revoke,
    },
    unrevoke: {
      ...ADMIN_WAITING,
      arity: 3,
      syntax: '<id>',
      arguments: [arg.string('id')],
      summary: 'Takes a revocation back. Sessions that it ended stay ended.',
      help: ['Takes a revocation back.'],
      complexity: 'O(1)',
      handler: unrevoke,
    },
    revocations: {
      ...COMMON,
      arity: 2,
      summary: 'Lists the revocations in force, oldest first.',
      help: ['Lists the revocations in force.'],
      complexity: 'O(N) with N revocations.',
      handler: revocations,
    },
    help: helpOf('token', '0.1.0', ['explain', 'revoke', 'revocations', 'unrevoke', 'why']),
    explain: {
      ...COMMON,
      arity: -3,
      syntax: '<jwt> | CLIENT <id> [<command> [<arg> ...]]',
      arguments: [
        arg.oneOf('session', [
          arg.string('token', { shown: 'jwt' }),
          arg.block(
            'client',
            [
              arg.integer('client-id'),
              arg.string('command', { optional: true }),
              arg.string('arg', { optional: true, multiple: true }),
            ],
            { token: 'CLIENT' },
          ),
        ]),
      ],
      summary: 'Says what a token or a token session may do, and why.',
      help: ['Says what a token or a session may do, and what allows or denies it.'],
      complexity: 'O(N) with N the number of patterns that the token grants.',
      secret: (request, index) => index >= 2 && !isAboutClient(request),
      refuseInMulti: (_context, request) =>
        isAboutClient(request) ? undefined : 'ERR EXPLAIN of a token is not allowed inside MULTI',
      handler: explain,
    },
    why: {
      arity: 4,
      flags: ['noscript', 'loading', 'stale', 'fast'],
      categories: ['fast', 'connection'],
      group: 'connection',
      since: '0.1.0',
      syntax: '<command> <channel>',
      arguments: [arg.string('command'), arg.string('channel')],
      summary:
        'Says whether this connection may run a command on a channel, and if not, what refuses it.',
      help: ['Says what denies a command on a channel to this session.'],
      complexity: 'O(N) with N the number of patterns that the user has.',
      handler: why,
    },
  },
}
