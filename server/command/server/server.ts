import * as arg from '../argument.ts'
import { CLOSES } from '../../client/close.ts'
import type { Request } from '../../resp/request.ts'
import { parseInteger } from '../arguments.ts'
import { ADMIN, CONTAINER, helpOf } from '../container.ts'
import { invalidateAll } from '../client/tracking.ts'
import type { CommandContext } from '../context.ts'
import { NOT_AN_INTEGER, SYNTAX_ERROR } from '../error-texts.ts'
import type { CommandData, CommandRecord } from '../spec.ts'
import { errorLine, type ErrorLine } from '../../resp/reply-writer.ts'

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

function lolwut({ reply, server }: CommandContext, request: Request): void {
  const hasVersion = request.count >= 3 && request.text(1).toLowerCase() === 'version'
  if (hasVersion && parseInteger(request.text(2)) === undefined) reply.error(NOT_AN_INTEGER)
  else reply.verbatim(lolwutText(server.clock.wallMs() / 1000, server.facts.version))
}

const ROWS = 13
const COLUMNS = 53

/** A row of text is about twice as high as a column is wide. */
const ROW_HEIGHT = 2.1

const SHADES = ' .:-=+*#'

/** LOLWUT: the rings that messages make around their publishers, and the version in the last line. */
function lolwutText(seconds: number, version: string): string {
  const rows: string[] = []
  for (let row = 0; row < ROWS; row++) {
    let line = ''
    for (let column = 0; column < COLUMNS; column++)
      line += shade(column, row * ROW_HEIGHT, seconds)
    rows.push(line.trimEnd())
  }
  return `${rows.join('\n')}\n\nRedis ver. ${version}\n`
}

function shade(x: number, y: number, seconds: number): string {
  const height =
    wave(x - COLUMNS * 0.3, y - 9, seconds) + wave(x - COLUMNS * 0.78, y - 17, seconds * 1.3)
  const level = Math.round(((height + 2) / 4) * (SHADES.length - 1))
  return SHADES[level] ?? ' '
}

/** Height of a wave at a place, from -1 to 1: it runs outwards and fades. */
function wave(x: number, y: number, seconds: number): number {
  const distance = Math.hypot(x, y)
  return Math.cos(distance * 0.9 - seconds) * Math.exp(-distance / 24)
}

/** Redis' answer to DEBUG and MODULE unless the configuration allows them. */
function notAllowed(command: 'DEBUG' | 'MODULE'): ErrorLine {
  return errorLine(
    'ERR',
    `${command} command not allowed. If the enable-${command.toLowerCase()}-command option is set to "local", ` +
      'you can run it from a local connection, otherwise you need to set this option in the configuration file, and ' +
      'then restart the server.',
  )
}

/** A command that nobody may use. */
function forbidden(error: ErrorLine) {
  return {
    ...ADMIN,
    since: '4.0.0',
    summary: 'Is not allowed.',
    complexity: 'O(1)',
    forbidden: error,
    handler: ({ reply }: CommandContext) => reply.error(error),
  } as const satisfies Partial<CommandData>
}

const FORBIDDEN_MODULE = {
  ...forbidden(notAllowed('MODULE')),
  flags: ['admin', 'noscript', 'no_async_loading'],
} as const satisfies Partial<CommandData>

/** FLUSHALL and FLUSHDB [ASYNC|SYNC]: nothing is removed, and clients with CLIENT TRACKING are told that everything was. */
function flush({ client, reply, server }: CommandContext, request: Request): void {
  const mode = request.count === 2 ? request.text(1).toLowerCase() : 'sync'
  if (request.count > 2 || (mode !== 'sync' && mode !== 'async')) {
    reply.error(SYNTAX_ERROR)
    return
  }
  reply.ok()
  for (const each of server.clients.all()) {
    if (!each.tracking) continue
    if (each === client && client.transaction) client.transaction.flushes.push(each.tracking)
    else invalidateAll(each, server, each.tracking)
  }
}

const FLUSH = {
  arity: -1,
  flags: ['write'],
  categories: ['keyspace', 'write', 'slow', 'dangerous'],
  group: 'server',
  since: '1.0.0',
  syntax: '[ASYNC|SYNC]',
  arguments: [
    arg.oneOf(
      'flush-type',
      [arg.word('ASYNC', { since: '4.0.0' }), arg.word('SYNC', { since: '6.2.0' })],
      { optional: true },
    ),
  ],
  history: [
    ['4.0.0', 'ASYNC was added.'],
    ['6.2.0', 'SYNC was added, and the directive lazyfree-lazy-user-flush.'],
  ],
  summary: 'Has no effect: there are no keys.',
  complexity: 'O(1)',
  tips: ['request_policy:all_shards', 'response_policy:all_succeeded'],
  handler: flush,
} as const satisfies CommandData

/** Commands of the group `server` that stand alone. */
export const SERVER_COMMANDS = {
  time: {
    arity: 1,
    flags: ['loading', 'stale', 'fast'],
    categories: ['fast'],
    group: 'server',
    since: '2.6.0',
    summary: 'Answers the time.',
    complexity: 'O(1)',
    tips: ['nondeterministic_output'],
    handler: time,
  },
  dbsize: {
    arity: 1,
    flags: ['readonly', 'fast'],
    categories: ['keyspace', 'read', 'fast'],
    group: 'server',
    since: '1.0.0',
    summary: 'Answers 0: there are no keys.',
    complexity: 'O(1)',
    tips: ['request_policy:all_shards', 'response_policy:agg_sum'],
    handler: ({ reply }) => reply.integer(0),
  },
  flushall: FLUSH,
  flushdb: FLUSH,
  lastsave: {
    arity: 1,
    flags: ['loading', 'stale', 'fast'],
    categories: ['admin', 'fast', 'dangerous'],
    group: 'server',
    since: '1.0.0',
    summary: 'Answers when the server started: nothing is saved.',
    complexity: 'O(1)',
    tips: ['nondeterministic_output'],
    handler: ({ reply, server }) => reply.integer(Math.floor(server.facts.startedMs / 1000)),
  },
  shutdown: {
    ...ADMIN,
    arity: -1,
    flags: ['admin', 'noscript', 'loading', 'stale', 'no_multi', 'allow_busy'],
    since: '1.0.0',
    syntax: '[NOSAVE|SAVE] [NOW] [FORCE] [ABORT]',
    arguments: [
      arg.oneOf(
        'abort-selector',
        [
          arg.block('save-selector-block', [
            arg.oneOf('save-selector', arg.words('NOSAVE SAVE'), { optional: true }),
            arg.word('NOW', { since: '7.0.0', optional: true }),
            arg.word('FORCE', { since: '7.0.0', optional: true }),
          ]),
          arg.word('ABORT', { since: '7.0.0' }),
        ],
        { optional: true },
      ),
    ],
    history: [['7.0.0', '`NOW`, `FORCE` and `ABORT`.']],
    summary: 'Ends the server in good order.',
    complexity: 'O(1)',
    handler: shutdown,
  },
  lolwut: {
    arity: -1,
    flags: ['readonly', 'fast'],
    categories: ['read', 'fast'],
    group: 'server',
    since: '5.0.0',
    syntax: '[VERSION <version>]',
    arguments: [arg.integer('version', { token: 'VERSION', optional: true })],
    summary: 'Draws something, and says the version.',
    handler: lolwut,
  },
  module: {
    ...CONTAINER,
    group: 'server',
    since: '4.0.0',
    summary: 'Container of the commands about modules.',
    subcommands: {
      help: helpOf('module', '5.0.0'),
      list: {
        ...ADMIN,
        arity: 2,
        flags: ['admin', 'noscript'],
        since: '4.0.0',
        summary: 'Answers no modules.',
        complexity: 'O(1)',
        tips: ['nondeterministic_output_order'],
        handler: ({ reply }) => reply.array(0),
      },
      load: {
        ...FORBIDDEN_MODULE,
        arity: -3,
        syntax: '<path> [<arg> ...]',
        arguments: [arg.string('path'), arg.string('arg', { optional: true, multiple: true })],
      },
      loadex: {
        ...FORBIDDEN_MODULE,
        arity: -3,
        since: '7.0.0',
        syntax: '<path> [CONFIG <name> <value> ...] [ARGS ...]',
        arguments: [
          arg.string('path'),
          arg.block('configs', [arg.string('name'), arg.string('value')], {
            token: 'CONFIG',
            optional: true,
            multiple: true,
            multipleToken: true,
          }),
          arg.string('args', { token: 'ARGS', optional: true, multiple: true }),
        ],
      },
      unload: { ...FORBIDDEN_MODULE, arity: 3, syntax: '<name>', arguments: [arg.string('name')] },
    },
  },
  debug: {
    ...forbidden(notAllowed('DEBUG')),
    arity: -2,
    since: '1.0.0',
    isSystemCommand: true,
    syntax: '<subcommand> [<arg> ...]',
  },
} as const satisfies CommandRecord
