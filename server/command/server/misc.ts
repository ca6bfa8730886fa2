import type { Category } from '../../acl/categories.ts'
import type { Request } from '../../resp/request.ts'
import type { CommandContext } from '../context.ts'
import { NOT_AN_INTEGER } from '../error-texts.ts'
import { helpSpec } from '../help.ts'
import { parseInteger } from '../integers.ts'
import { lolwutText } from './lolwut.ts'
import type { CommandFlag, CommandSpec, Handler } from '../spec.ts'

const ADMIN_CATEGORIES: readonly Category[] = ['admin', 'slow', 'dangerous']

/** What Redis answers to DEBUG and MODULE unless the configuration allows them. */
function notAllowed(command: 'DEBUG' | 'MODULE'): string {
  return (
    `ERR ${command} command not allowed. If the enable-${command.toLowerCase()}-command option is set to "local", ` +
    'you can run it from a local connection, otherwise you need to set this option in the configuration file, and ' +
    'then restart the server.'
  )
}

function lolwut({ reply, server }: CommandContext, request: Request): void {
  const hasVersion = request.count >= 3 && request.text(1).toLowerCase() === 'version'
  if (hasVersion && parseInteger(request.text(2)) === undefined) reply.error(NOT_AN_INTEGER)
  else reply.verbatim(lolwutText(server.clock.wallMs() / 1000, server.facts.version))
}

/** WAITAOF numlocal numreplicas timeout: nothing is written to a file, and there are no replicas. */
function waitAof({ reply }: CommandContext, request: Request): void {
  const local = parseInteger(request.text(1))
  const replicas = parseInteger(request.text(2))
  const timeoutMs = parseInteger(request.text(3))
  if (local === undefined) reply.error(NOT_AN_INTEGER)
  else if (local < 0 || local > 1) {
    reply.error('ERR value is out of range, value must between 0 and 1')
  } else if (replicas === undefined || replicas < 0) {
    reply.error('ERR value is out of range, must be positive')
  } else if (timeoutMs === undefined) {
    reply.error('ERR timeout is not an integer or out of range')
  } else if (timeoutMs < 0) {
    reply.error('ERR timeout is negative')
  } else if (local === 1) {
    reply.error('ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.')
  } else {
    reply.array(2)
    reply.integer(0)
    reply.integer(0)
  }
}

/** REPLICAOF NO ONE is what this server is already; it follows nobody. */
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
    reply.error('ERR FAILOVER requires connected replicas.')
  }
}

function admin(
  name: string,
  arity: number,
  flags: readonly CommandFlag[],
  since: string,
  summary: string,
  handler: Handler,
): CommandSpec {
  return {
    name,
    arity,
    flags,
    categories: ADMIN_CATEGORIES,
    group: 'server',
    since,
    summary,
    complexity: 'O(1)',
    handler,
  }
}

/** A command that is refused wherever it stands, in MULTI too. */
function forbidden(
  name: string,
  arity: number,
  flags: readonly CommandFlag[],
  since: string,
  error: string,
): CommandSpec {
  return {
    ...admin(name, arity, flags, since, 'Is not allowed.', ({ reply }) => reply.error(error)),
    refuseInMulti: () => error,
  }
}

const MODULE_FLAGS: readonly CommandFlag[] = ['admin', 'noscript', 'no_async_loading']
const REPLICA_FLAGS: readonly CommandFlag[] = ['admin', 'noscript', 'stale', 'no_async_loading']

/** Small commands of Redis that have little to do here. */
export const MISC_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'lolwut',
    arity: -1,
    flags: ['readonly', 'fast'],
    categories: ['read', 'fast'],
    group: 'server',
    since: '5.0.0',
    summary: 'Draws something, and says the version.',
    handler: lolwut,
  },
  {
    name: 'waitaof',
    arity: 4,
    flags: ['blocking'],
    categories: ['slow', 'blocking', 'connection'],
    group: 'generic',
    since: '7.2.0',
    summary: 'Answers zeros: there are neither files nor replicas.',
    complexity: 'O(1)',
    handler: waitAof,
  },
  {
    name: 'module',
    arity: -2,
    flags: [],
    categories: ['slow'],
    group: 'server',
    since: '4.0.0',
    summary: 'Container of the commands about modules.',
  },
  helpSpec(
    'module',
    'server',
    '5.0.0',
    ['slow'],
    [
      ['LIST', 'Answers no modules.'],
      ['LOAD <path> [<arg> ...]', 'Is not allowed.'],
      ['LOADEX <path> [CONFIG <name> <value> ...] [ARGS ...]', 'Is not allowed.'],
      ['UNLOAD <name>', 'Is not allowed.'],
    ],
  ),
  admin('module|list', 2, ['admin', 'noscript'], '4.0.0', 'Answers no modules.', ({ reply }) => {
    reply.array(0)
  }),
  forbidden('module|load', -3, MODULE_FLAGS, '4.0.0', notAllowed('MODULE')),
  forbidden('module|loadex', -3, MODULE_FLAGS, '7.0.0', notAllowed('MODULE')),
  forbidden('module|unload', 3, MODULE_FLAGS, '4.0.0', notAllowed('MODULE')),
  forbidden('debug', -2, ['admin', 'noscript', 'loading', 'stale'], '1.0.0', notAllowed('DEBUG')),
  admin('replicaof', 3, REPLICA_FLAGS, '5.0.0', 'Answers OK to NO ONE only.', replicaOf),
  admin('slaveof', 3, REPLICA_FLAGS, '1.0.0', 'Is REPLICAOF.', replicaOf),
  admin(
    'failover',
    -1,
    ['admin', 'noscript', 'stale'],
    '6.2.0',
    'Is refused: there are no replicas.',
    failover,
  ),
]
