import * as arg from '../argument.ts'
import type { Request } from '../../resp/request.ts'
import { parseInteger, parseTimeout } from '../arguments.ts'
import { ADMIN } from '../container.ts'
import type { CommandContext, Services } from '../context.ts'
import { NOT_AN_INTEGER, SYNTAX_ERROR } from '../error-texts.ts'
import type { CommandData, CommandRecord } from '../spec.ts'
import type { ErrorLine } from '../../resp/reply-writer.ts'

function role({ reply }: CommandContext): void {
  reply.array(3)
  reply.bulk('master')
  reply.integer(0)
  reply.array(0)
}

/** The error line about a timeout argument, if it is none. */
function timeoutError(text: string, { clock }: Services): ErrorLine | undefined {
  const timeout = parseTimeout(text, clock.wallMs())
  return typeof timeout === 'string' ? timeout : undefined
}

/** WAIT numreplicas timeout. */
function wait({ reply, server }: CommandContext, request: Request): void {
  const isNumber = parseInteger(request.text(1)) !== undefined
  const error = isNumber ? timeoutError(request.text(2), server) : NOT_AN_INTEGER
  if (error === undefined) reply.integer(0)
  else reply.error(error)
}

/** WAITAOF numlocal numreplicas timeout. */
function waitAof({ reply, server }: CommandContext, request: Request): void {
  const local = parseInteger(request.text(1))
  const replicas = parseInteger(request.text(2))
  const timeout = timeoutError(request.text(3), server)
  if (local === undefined) reply.error(NOT_AN_INTEGER)
  else if (local < 0 || local > 1) {
    reply.error('ERR value is out of range, value must between 0 and 1')
  } else if (replicas === undefined || replicas < 0) {
    reply.error('ERR value is out of range, must be positive')
  } else if (timeout !== undefined) {
    reply.error(timeout)
  } else if (local === 1) {
    reply.error('ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.')
  } else {
    reply.array(2)
    reply.integer(0)
    reply.integer(0)
  }
}

/** REPLICAOF: NO ONE changes nothing, and the server cannot follow another. */
function replicaOf({ reply, server }: CommandContext, request: Request): void {
  if (server.cluster) {
    reply.error('ERR REPLICAOF not allowed in cluster mode.')
  } else if (request.text(1).toLowerCase() === 'no' && request.text(2).toLowerCase() === 'one') {
    reply.ok()
  } else {
    reply.error('ERR REPLICAOF is not supported: this server has no data that could be replicated')
  }
}

function failover({ reply, server }: CommandContext, request: Request): void {
  if (server.cluster)
    reply.error('ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead.')
  else if (request.count === 2 && request.text(1).toLowerCase() === 'abort') {
    reply.error('ERR No failover in progress.')
  } else {
    reply.error(failoverError(request) ?? 'ERR FAILOVER requires connected replicas.')
  }
}

/** The error line about the form of FAILOVER [TO host port [FORCE]] [TIMEOUT ms], where each option comes once. */
function failoverError(request: Request): ErrorLine | undefined {
  const given = new Set<string>()
  for (let i = 1; i < request.count; i++) {
    const word = request.text(i).toLowerCase()
    const left = request.count - i - 1
    if (given.has(word)) return SYNTAX_ERROR
    given.add(word)
    if (word === 'timeout' && left >= 1) {
      const timeoutMs = parseInteger(request.text(++i))
      if (timeoutMs === undefined) return NOT_AN_INTEGER
      if (timeoutMs <= 0) return 'ERR FAILOVER timeout must be greater than 0'
    } else if (word === 'to' && left >= 2) {
      i += 2
      if (parseInteger(request.text(i)) === undefined) return NOT_AN_INTEGER
    } else if (word !== 'force') {
      return SYNTAX_ERROR
    }
  }
  return undefined
}

const REPLICA_OF = {
  ...ADMIN,
  arity: 3,
  complexity: 'O(1)',
  flags: ['admin', 'noscript', 'stale', 'no_async_loading'],
  syntax: 'NO ONE | <host> <port>',
  arguments: [
    arg.oneOf('args', [
      arg.block('host-port', [arg.string('host'), arg.integer('port')]),
      arg.block('no-one', arg.words('NO ONE')),
    ]),
  ],
  handler: replicaOf,
} as const satisfies Partial<CommandData>

const WAIT = {
  flags: ['blocking'],
  categories: ['slow', 'blocking', 'connection'],
  group: 'generic',
  complexity: 'O(1)',
  tips: ['request_policy:all_shards', 'response_policy:agg_min'],
} as const satisfies Partial<CommandData>

/** Commands about replicas, of which there are none. */
export const REPLICATION_COMMANDS = {
  role: {
    arity: 1,
    flags: ['noscript', 'loading', 'stale', 'fast'],
    categories: ['admin', 'fast', 'dangerous'],
    group: 'server',
    since: '2.8.12',
    summary: 'Answers that this server has no replicas.',
    complexity: 'O(1)',
    handler: role,
  },
  wait: {
    ...WAIT,
    arity: 3,
    since: '3.0.0',
    syntax: '<numreplicas> <timeout>',
    arguments: [arg.integer('numreplicas'), arg.integer('timeout')],
    summary: 'Answers 0: there are no replicas.',
    handler: wait,
  },
  waitaof: {
    ...WAIT,
    arity: 4,
    since: '7.2.0',
    syntax: '<numlocal> <numreplicas> <timeout>',
    arguments: [arg.integer('numlocal'), arg.integer('numreplicas'), arg.integer('timeout')],
    summary: 'Answers zeros: there are neither files nor replicas.',
    handler: waitAof,
  },
  replicaof: { ...REPLICA_OF, since: '5.0.0', summary: 'Answers OK to NO ONE only.' },
  slaveof: {
    ...REPLICA_OF,
    since: '1.0.0',
    summary: 'Is REPLICAOF.',
    deprecated: { since: '5.0.0', replacedBy: '`REPLICAOF`' },
  },
  failover: {
    ...ADMIN,
    arity: -1,
    complexity: 'O(1)',
    flags: ['admin', 'noscript', 'stale'],
    since: '6.2.0',
    syntax: '[TO <host> <port> [FORCE]] [ABORT] [TIMEOUT <milliseconds>]',
    arguments: [
      arg.block(
        'target',
        [arg.string('host'), arg.integer('port'), arg.word('FORCE', { optional: true })],
        { token: 'TO', optional: true },
      ),
      arg.word('ABORT', { optional: true }),
      arg.integer('milliseconds', { token: 'TIMEOUT', optional: true }),
    ],
    summary: 'Is refused: there are no replicas.',
    handler: failover,
  },
} as const satisfies CommandRecord
