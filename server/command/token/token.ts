import * as arg from '../argument.ts'
import { describeClient } from '../../client/describe.ts'
import type { CommitOutcome } from '../../control/control.ts'
import type { ErrorLine, ReplyWriter } from '../../resp/reply-writer.ts'
import type { Request } from '../../resp/request.ts'
import type { RevocationActor } from '../../token/revoke/enforcement.ts'
import {
  issuerLabel,
  type Revocation,
  type RevocationOrder,
} from '../../token/revoke/revocation.ts'
import { BAD_WAIT, readWait, type Wait } from '../../token/revoke/wait.ts'
import { parseInteger, textsFrom } from '../arguments.ts'
import { actorOf, ALL_SOON, fencedWithinMs, localFirstError } from '../commit.ts'
import { ADMIN, CONTAINER, helpOf } from '../container.ts'
import type { CommandContext } from '../context.ts'
import { NOT_AN_INTEGER, SYNTAX_ERROR } from '../error-texts.ts'
import { utf8Bytes, writeBulks, writeField, writeFields } from '../replies.ts'
import type { CommandData, Completion } from '../spec.ts'
import { explain, isAboutClient, why } from './explain.ts'

/** Number of sessions that a dry run shows. */
const SAMPLE_SIZE = 10

const NOT_DURABLE = 'MISCONF revocation is in force but not durable'
const LIFT_NOT_DURABLE = 'MISCONF revocation is lifted but not durable'
type Committed = Extract<CommitOutcome, { readonly state: 'committed' }>

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
    const { record, enforced, done } = revocation.begin(read.order, revokerOf(context))
    return finish(context, {
      record,
      enforced,
      done,
      wait: read.wait,
      notDurable: NOT_DURABLE,
      answer: (later, sessions) => later.integer(sessions),
    })
  }
}

/** A revocation that was begun or taken back here, and the answer to that. */
interface BegunChange {
  readonly record: Revocation
  readonly enforced: Promise<number>
  /** Sessions that it hits here, and whether it is on disk. */
  readonly done: Promise<{ readonly sessions: number; readonly durable: boolean }>
  readonly wait: Wait | undefined
  readonly notDurable: ErrorLine
  readonly answer: (reply: ReplyWriter, sessions: number) => void
}

/** Has it done at the other gateways as well, and answers. */
async function finish(
  context: CommandContext,
  { record, enforced, done, wait, notDurable, answer }: BegunChange,
): Promise<Completion> {
  const committed = commit(context, record, enforced, wait)
  const [here, outcome] = await Promise.all([done, committed])
  const isDurable = here.durable && (!outcome || !('isDurable' in outcome) || outcome.isDurable)
  const isCommitted = outcome?.state === 'committed'
  const sessions = isCommitted ? outcome.sessions : here.sessions
  return ({ reply }) => {
    const error = outcome && localFirstError(outcome, isDurable)
    if (wait && (!outcome || isCommitted)) writeResult(reply, sessions, isDurable, outcome)
    else if (error !== undefined) reply.error(error)
    else if (!isDurable) reply.error(notDurable)
    else answer(reply, sessions)
  }
}

/** @returns Undefined where it concerns this gateway alone. */
async function commit(
  context: CommandContext,
  record: Revocation,
  enforced: Promise<number>,
  wait = ALL_SOON,
): Promise<CommitOutcome | undefined> {
  const { control, sharedRevocations } = context.server
  const change = control.isAlone ? undefined : sharedRevocations.changeOf(record)
  if (!change) return undefined
  return control.commit({ changes: [change], actor: actorOf(context), enforced, wait })
}

/** Writes the answer to a command with WAIT. */
function writeResult(
  reply: ReplyWriter,
  sessions: number,
  isDurable: boolean,
  gateways: Pick<Committed, 'confirmed' | 'missing'> = { confirmed: [], missing: [] },
): void {
  const { confirmed, missing } = gateways
  reply.map(5)
  writeField(reply, 'sessions', sessions)
  reply.bulk('confirmed')
  writeBulks(reply, confirmed.map(utf8Bytes))
  reply.bulk('missing')
  writeBulks(
    reply,
    missing.map(({ name }) => utf8Bytes(name)),
  )
  writeField(reply, 'fenced-by', fencedWithinMs(missing))
  writeField(reply, 'durable', isDurable ? 1 : 0)
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
  let wait: Wait | undefined
  if (request.count > 3) {
    if (request.count !== 6 || request.text(3).toUpperCase() !== 'WAIT') {
      reply.error(SYNTAX_ERROR)
      return
    }
    wait = readWait(request.text(4), request.text(5))
    if (!wait) {
      reply.error(`ERR ${BAD_WAIT}`)
      return
    }
  }
  const lifted = server.tokens.revocation.unrevoke(id, revokerOf(context))
  if (!lifted) {
    reply.error(`ERR No revocation with id ${id} is in force`)
    return
  }
  return finish(context, {
    record: lifted.record,
    enforced: Promise.resolve(0),
    done: lifted.done.then((durable) => ({ sessions: 0, durable })),
    wait,
    notDurable: LIFT_NOT_DURABLE,
    answer: (later) => later.ok(),
  })
}

/** The administrator, as the audit log names him. */
function revokerOf(context: CommandContext): RevocationActor {
  const { control } = context.server
  return control.isAlone ? actorOf(context) : { ...actorOf(context), node: control.self.id }
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

const COMMON = {
  ...ADMIN,
  since: '0.1.0',
} as const satisfies Partial<CommandData>

/** Commands whose answer waits for the disk, which EXEC cannot. */
const ADMIN_WAITING = {
  ...COMMON,
  flags: [...COMMON.flags, 'no_multi'],
} as const satisfies Partial<CommandData>

/** WAIT, for COMMAND DOCS. */
function waitArgument(): arg.Argument {
  const gateways = arg.oneOf('gateways', [arg.integer('count'), arg.word('ALL')])
  return arg.block('wait', [gateways, arg.integer('milliseconds')], {
    token: 'WAIT',
    optional: true,
  })
}

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
          'Options: BEFORE <unix-ms>, HARD, TTL <seconds> or PERSIST, REASON <text>, MESSAGE <text>, WAIT <n|ALL> <ms>, DRYRUN.',
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
        waitArgument(),
        arg.word('DRYRUN', { optional: true }),
      ],
      summary:
        'Refuses tokens and ends their sessions, or takes channels away from them. Answers how many sessions it hit, once that is on disk and in force at all gateways.',
      complexity:
        'O(N) with N sessions hit; for channels also O(M) with M names that are subscribed to.',
      handler: revoke,
    },
    unrevoke: {
      ...ADMIN_WAITING,
      arity: -3,
      syntax: '<id> [WAIT (<n>|ALL) <ms>]',
      arguments: [arg.string('id'), waitArgument()],
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
