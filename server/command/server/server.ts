import type { Category } from '../../acl/categories.ts'
import { CLOSES } from '../../client/close.ts'
import type { Request } from '../../resp/request.ts'
import type { CommandContext } from '../context.ts'
import { SYNTAX_ERROR } from '../error-texts.ts'
import { helpSpec } from '../help.ts'
import { infoText } from './info.ts'
import { parseInteger } from '../integers.ts'
import { isSecretOfConfigSet } from '../secrets.ts'
import type { CommandFlag, CommandSpec, Handler } from '../spec.ts'

const ADMIN: readonly CommandFlag[] = ['admin', 'noscript', 'loading', 'stale']
const ADMIN_CATEGORIES: readonly Category[] = ['admin', 'slow', 'dangerous']

function configGet({ reply, server }: CommandContext, request: Request): void {
  const patterns: string[] = []
  for (let i = 2; i < request.count; i++) patterns.push(request.text(i))
  const pairs = server.config.get(patterns)
  reply.map(pairs.length)
  for (const [name, value] of pairs) {
    reply.bulk(name)
    reply.bulk(value)
  }
}

function configSet({ reply, server }: CommandContext, request: Request): void {
  if (request.count % 2 !== 0) {
    reply.error(SYNTAX_ERROR)
    return
  }
  const pairs: [string, string][] = []
  for (let i = 2; i < request.count; i += 2) pairs.push([request.text(i), request.text(i + 1)])
  const error = server.config.set(pairs)
  if (error === undefined) reply.ok()
  else reply.error(`ERR ${error}`)
}

function time({ reply, server }: CommandContext): void {
  const nowMs = server.clock.wallMs()
  reply.array(2)
  reply.bulk(String(Math.floor(nowMs / 1000)))
  reply.bulk(String(Math.floor((nowMs % 1000) * 1000)))
}

function shutdown({ client, reply, server }: CommandContext, request: Request): void {
  let abort = false
  const given = new Set<string>()
  for (let i = 1; i < request.count; i++) {
    const word = request.text(i).toLowerCase()
    if (!['nosave', 'save', 'now', 'force', 'abort'].includes(word)) {
      reply.error(SYNTAX_ERROR)
      return
    }
    given.add(word)
    if (word === 'abort') abort = true
  }
  if ((abort && given.size > 1) || (given.has('save') && given.has('nosave'))) {
    reply.error(SYNTAX_ERROR)
  } else if (abort) {
    reply.error('ERR No shutdown in progress.')
  } else {
    client.close(CLOSES.shutdown)
    server.shutdown()
  }
}

/** A small command of an empty server: its answer is the same whatever there is. */
function fixed(
  name: string,
  arity: number,
  flags: readonly CommandFlag[],
  categories: readonly Category[],
  since: string,
  summary: string,
  handler: Handler,
): CommandSpec {
  return {
    name,
    arity,
    flags,
    categories,
    group: 'server',
    since,
    summary,
    complexity: 'O(1)',
    handler,
  }
}

function configSub(
  name: string,
  arity: number,
  since: string,
  summary: string,
  handler: Handler,
): CommandSpec {
  return fixed(`config|${name}`, arity, ADMIN, ADMIN_CATEGORIES, since, summary, handler)
}

/** Commands of the group `server` but ACL and COMMAND. */
export const SERVER_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'info',
    arity: -1,
    flags: ['loading', 'stale'],
    categories: ['slow', 'dangerous'],
    group: 'server',
    since: '1.0.0',
    summary: 'Describes the server in numbers.',
    complexity: 'O(1)',
    handler: ({ reply, server }, request) => {
      const wanted: string[] = []
      for (let i = 1; i < request.count; i++) wanted.push(request.text(i).toLowerCase())
      reply.verbatim(Buffer.from(infoText(server, wanted), 'utf8'))
    },
  },
  {
    name: 'config',
    arity: -2,
    flags: [],
    categories: ['slow'],
    group: 'server',
    since: '2.0.0',
    summary: 'Container of the commands about directives.',
  },
  configSub('get', -3, '2.0.0', 'Answers directives and their values.', configGet),
  {
    ...configSub('set', -4, '2.0.0', 'Changes directives, all of them or none.', configSet),
    isSecret: isSecretOfConfigSet,
  },
  configSub('resetstat', 2, '2.0.0', 'Sets what INFO counts to zero.', ({ reply, server }) => {
    server.counters.reset()
    server.load.reset()
    for (const command of server.table.all()) command.resetStatistics()
    reply.ok()
  }),
  configSub('rewrite', 2, '2.8.0', 'Writes the configuration file.', ({ reply, server }) => {
    const error = server.config.rewrite()
    if (error === undefined) reply.ok()
    else reply.error(`ERR ${error}`)
  }),
  helpSpec(
    'config',
    'server',
    '5.0.0',
    ['slow'],
    [
      ['GET <pattern>', 'Answers the directives that match and their values.'],
      ['SET <directive> <value>', 'Changes a directive.'],
      ['RESETSTAT', 'Sets what INFO counts to zero.'],
      ['REWRITE', 'Writes the configuration file.'],
    ],
  ),
  fixed('time', 1, ['loading', 'stale', 'fast'], ['fast'], '2.6.0', 'Answers the time.', time),
  fixed(
    'role',
    1,
    ['noscript', 'loading', 'stale', 'fast'],
    ['admin', 'fast', 'dangerous'],
    '2.8.12',
    'Answers that this server has no replicas.',
    ({ reply }) => {
      reply.array(3)
      reply.bulk('master')
      reply.integer(0)
      reply.array(0)
    },
  ),
  fixed(
    'dbsize',
    1,
    ['readonly', 'fast'],
    ['keyspace', 'read', 'fast'],
    '1.0.0',
    'Answers 0: there are no keys.',
    ({ reply }) => reply.integer(0),
  ),
  fixed(
    'flushall',
    -1,
    ['write'],
    ['keyspace', 'write', 'slow', 'dangerous'],
    '1.0.0',
    'Has no effect: there are no keys.',
    ({ reply }) => reply.ok(),
  ),
  fixed(
    'flushdb',
    -1,
    ['write'],
    ['keyspace', 'write', 'slow', 'dangerous'],
    '1.0.0',
    'Has no effect: there are no keys.',
    ({ reply }) => reply.ok(),
  ),
  fixed(
    'lastsave',
    1,
    ['loading', 'stale', 'fast'],
    ['admin', 'fast', 'dangerous'],
    '1.0.0',
    'Answers when the server started: nothing is saved.',
    ({ reply, server }) => {
      reply.integer(Math.floor(server.facts.startedMs / 1000))
    },
  ),
  fixed(
    'shutdown',
    -1,
    ['admin', 'noscript', 'loading', 'stale', 'no_multi', 'allow_busy'],
    ADMIN_CATEGORIES,
    '1.0.0',
    'Ends the server in good order.',
    shutdown,
  ),
  {
    ...fixed(
      'wait',
      3,
      ['blocking'],
      ['slow', 'blocking', 'connection'],
      '3.0.0',
      'Answers 0: there are no replicas.',
      ({ reply }, request) => {
        const replicas = parseInteger(request.text(1))
        const timeoutMs = parseInteger(request.text(2))
        if (replicas === undefined) reply.error('ERR value is not an integer or out of range')
        else if (timeoutMs === undefined)
          reply.error('ERR timeout is not an integer or out of range')
        else if (timeoutMs < 0) reply.error('ERR timeout is negative')
        else reply.integer(0)
      },
    ),
    group: 'generic',
  },
]
