import * as arg from '../argument.ts'
import { describeClient } from '../../client/describe.ts'
import type { Request } from '../../resp/request.ts'
import { isPrintableName, nameError, nameTooLong } from '../arguments.ts'
import { CONTAINER, helpOf } from '../container.ts'
import type { CommandContext } from '../context.ts'
import { NOT_IN_MULTI, SYNTAX_ERROR } from '../error-texts.ts'
import type { CommandData } from '../spec.ts'
import { kill, list } from './filters.ts'
import { pause, unblock } from './pause.ts'
import { caching, noteRedirect, tracking, trackingInfo } from './tracking.ts'

function getName({ client, reply }: CommandContext): void {
  if (client.name === '') reply.null()
  else reply.bulk(client.name)
}

function setName({ client, reply }: CommandContext, request: Request): void {
  const name = request.text(2)
  const error = nameError(client, name)
  if (error !== undefined) {
    reply.error(error)
    return
  }
  client.name = name
  reply.ok()
}

function setInfo({ client, reply }: CommandContext, request: Request): void {
  const attribute = request.text(2)
  const value = request.text(3)
  const word = attribute.toLowerCase()
  if (word !== 'lib-name' && word !== 'lib-ver') {
    reply.error(`ERR Unrecognized option '${attribute}'`)
  } else if (!isPrintableName(value)) {
    reply.error(`ERR ${attribute} cannot contain spaces, newlines or special characters.`)
  } else {
    const error = nameTooLong(client, value)
    if (error !== undefined) reply.error(error)
    else if (word === 'lib-name') client.libraryName = value
    else client.libraryVersion = value
    if (error === undefined) reply.ok()
  }
}

function setReplyMode({ client, reply }: CommandContext, request: Request): void {
  switch (request.text(2).toLowerCase()) {
    case 'on':
      client.replyMode = 'on'
      reply.ok()
      return
    case 'off':
      client.replyMode = 'off'
      return
    case 'skip':
      if (client.replyMode !== 'off') client.replyMode = 'skip-next'
      return
    default:
      reply.error(SYNTAX_ERROR)
  }
}

function info({ client, reply, server }: CommandContext): void {
  noteRedirect(client, server)
  reply.verbatim(`${describeClient(client, server.clock.monotonicMs())}\n`)
}

/** Sets a switch that is stored and shown. */
function toggle(field: 'noEvict' | 'noTouch') {
  return ({ client, reply }: CommandContext, request: Request): void => {
    const word = request.text(2).toLowerCase()
    if (word !== 'on' && word !== 'off') {
      reply.error(SYNTAX_ERROR)
      return
    }
    client[field] = word === 'on'
    reply.ok()
  }
}

const OPEN = {
  flags: ['noscript', 'loading', 'stale'],
  categories: ['slow', 'connection'],
  group: 'connection',
  complexity: 'O(1)',
} as const satisfies Partial<CommandData>

const ADMIN = {
  flags: ['admin', 'noscript', 'loading', 'stale'],
  categories: ['admin', 'slow', 'dangerous', 'connection'],
  group: 'connection',
  complexity: 'O(1)',
} as const satisfies Partial<CommandData>

const HELP_ORDER =
  'caching getname getredir id info kill list no-evict no-touch pause reply setinfo setname tracking trackinginfo ' +
  'unblock unpause'

/** CLIENT and its subcommands. */
export const client: CommandData = {
  ...CONTAINER,
  group: 'connection',
  since: '2.4.0',
  summary: 'Container of the commands about connections.',
  subcommands: {
    id: {
      ...OPEN,
      arity: 2,
      since: '5.0.0',
      summary: 'Answers the id of this connection.',
      handler: (context) => context.reply.integer(context.client.id),
    },
    getname: {
      ...OPEN,
      arity: 2,
      since: '2.6.9',
      summary: 'Answers the name of this connection.',
      handler: getName,
    },
    setname: {
      ...OPEN,
      arity: 3,
      since: '2.6.9',
      syntax: '<name>',
      arguments: [arg.string('connection-name')],
      summary: 'Names this connection.',
      tips: ['request_policy:all_nodes', 'response_policy:all_succeeded'],
      handler: setName,
    },
    setinfo: {
      ...OPEN,
      arity: 4,
      since: '7.2.0',
      syntax: '(LIB-NAME|LIB-VER) <value>',
      arguments: [
        arg.oneOf('attr', [
          arg.string('libname', { token: 'LIB-NAME' }),
          arg.string('libver', { token: 'LIB-VER' }),
        ]),
      ],
      summary: 'Tells the name or the version of the client library.',
      tips: ['request_policy:all_nodes', 'response_policy:all_succeeded'],
      handler: setInfo,
    },
    info: {
      ...OPEN,
      arity: 2,
      since: '6.2.0',
      summary: 'Describes this connection.',
      tips: ['nondeterministic_output'],
      handler: info,
    },
    list: {
      ...ADMIN,
      arity: -2,
      since: '2.4.0',
      syntax: '[options ...]',
      arguments: [
        arg.oneOf('client-type', arg.words('NORMAL MASTER REPLICA PUBSUB'), {
          token: 'TYPE',
          since: '5.0.0',
          optional: true,
        }),
        arg.integer('client-id', { token: 'ID', since: '6.2.0', optional: true, multiple: true }),
      ],
      history: [
        ['2.8.12', 'The field `id`.'],
        ['5.0.0', 'The option `TYPE`.'],
        ['6.0.0', 'The field `user`.'],
        ['6.2.0', 'The fields `argv-mem`, `tot-mem`, `laddr` and `redir`, and the option `ID`.'],
        ['7.0.0', 'The fields `resp`, `multi-mem`, `rbs` and `rbp`.'],
        ['7.0.3', 'The field `ssub`.'],
      ],
      summary: 'Describes connections, one a line.',
      help: [
        'Describes connections. Options are:',
        '* TYPE (NORMAL|MASTER|REPLICA|PUBSUB)',
        '* ID <client-id> [<client-id> ...]',
      ],
      complexity: 'O(N) with N connections.',
      tips: ['nondeterministic_output'],
      handler: list,
    },
    kill: {
      ...ADMIN,
      arity: -3,
      since: '2.4.0',
      syntax: [
        ['<ip:port>', 'Closes the connection from ip:port.'],
        [
          '<option> <value> [<option> <value> [...]]',
          'Closes connections. Options are:',
          '* ADDR (<ip:port>|<unixsocket>:0)',
          '  The address the connection comes from.',
          '* LADDR (<ip:port>|<unixsocket>:0)',
          '  The address it comes to.',
          '* TYPE (NORMAL|MASTER|REPLICA|PUBSUB)',
          '* USER <username>',
          '* SKIPME (YES|NO)',
          '  Whether this connection is spared (default: yes).',
          '* ID <client-id>',
          '* MAXAGE <seconds>',
          '  Connections at least this old.',
          '* JWT-SUB <sub>, JWT-JTI <jti>, JWT-ISS <iss>',
          '  Token sessions, by a claim of their token.',
          '* TRANSPORT (TCP|TLS|UNIX|WEBSOCKET|SSE|HTTP)',
        ],
      ],
      arguments: [
        arg.oneOf('filter', [
          arg.string('old-format', { shown: 'ip:port', deprecatedSince: '2.8.12' }),
          arg.oneOf(
            'new-format',
            [
              arg.integer('client-id', { token: 'ID', since: '2.8.12', optional: true }),
              arg.oneOf(
                'client-type',
                [
                  arg.word('NORMAL'),
                  arg.word('MASTER', { since: '3.2.0' }),
                  arg.word('SLAVE'),
                  arg.word('REPLICA', { since: '5.0.0' }),
                  arg.word('PUBSUB'),
                ],
                { token: 'TYPE', since: '2.8.12', optional: true },
              ),
              arg.string('username', { token: 'USER', optional: true }),
              arg.string('addr', { token: 'ADDR', shown: 'ip:port', optional: true }),
              arg.string('laddr', {
                token: 'LADDR',
                shown: 'ip:port',
                since: '6.2.0',
                optional: true,
              }),
              arg.oneOf('skipme', arg.words('YES NO'), { token: 'SKIPME', optional: true }),
              arg.integer('maxage', { token: 'MAXAGE', since: '7.4.0', optional: true }),
              arg.string('jwt-sub', { token: 'JWT-SUB', optional: true }),
              arg.string('jwt-jti', { token: 'JWT-JTI', optional: true }),
              arg.string('jwt-iss', { token: 'JWT-ISS', optional: true }),
              arg.oneOf('transport', arg.words('TCP TLS UNIX WEBSOCKET SSE HTTP'), {
                token: 'TRANSPORT',
                optional: true,
              }),
            ],
            { multiple: true },
          ),
        ]),
      ],
      history: [
        ['2.8.12', 'The form with options.'],
        ['2.8.12', 'The option `ID`.'],
        ['3.2.0', 'The type `master`.'],
        ['5.0.0', 'The type `replica`, which `slave` still names.'],
        ['6.2.0', 'The option `LADDR`.'],
        ['7.4.0', 'The option `MAXAGE`.'],
      ],
      summary: 'Closes connections.',
      complexity: 'O(N) with N connections.',
      handler: kill,
    },
    reply: {
      ...OPEN,
      arity: 3,
      since: '3.2.0',
      syntax: '(ON|OFF|SKIP)',
      arguments: [arg.oneOf('action', arg.words('ON OFF SKIP'))],
      summary: 'Switches replies off and on; pushes keep coming.',
      // EXEC would announce more replies than it sends. Valkey 9.1 refuses it too.
      refuseInMulti: () => NOT_IN_MULTI,
      handler: setReplyMode,
    },
    'no-evict': {
      ...ADMIN,
      arity: 3,
      since: '7.0.0',
      syntax: '(ON|OFF)',
      arguments: [arg.oneOf('enabled', arg.words('ON OFF'))],
      summary: 'Exempts this connection from eviction.',
      handler: toggle('noEvict'),
    },
    'no-touch': {
      ...OPEN,
      arity: 3,
      since: '7.2.0',
      syntax: '(ON|OFF)',
      arguments: [arg.oneOf('enabled', arg.words('ON OFF'))],
      summary: 'Has no effect: there are no keys to be touched.',
      help: ['Has no effect: there are no keys.'],
      handler: toggle('noTouch'),
    },
    pause: {
      ...ADMIN,
      arity: -3,
      since: '3.0.0',
      syntax: '<timeout> [WRITE|ALL]',
      arguments: [
        arg.integer('timeout'),
        arg.oneOf('mode', arg.words('WRITE ALL'), { since: '6.2.0', optional: true }),
      ],
      history: [['6.2.0', 'The modes `WRITE` and `ALL`.']],
      summary: 'Lets commands wait for a while.',
      help: ['Lets commands wait for so many milliseconds: those that publish, or all (default).'],
      handler: pause,
    },
    unblock: {
      ...ADMIN,
      arity: -3,
      since: '5.0.0',
      syntax: '<client-id> [TIMEOUT|ERROR]',
      arguments: [
        arg.integer('client-id'),
        arg.oneOf('unblock-type', arg.words('TIMEOUT ERROR'), { optional: true }),
      ],
      summary: 'Answers 0: no command blocks.',
      handler: unblock,
    },
    unpause: {
      ...ADMIN,
      arity: 2,
      since: '6.2.0',
      summary: 'Ends the wait of CLIENT PAUSE.',
      handler: ({ reply, server }) => {
        server.pause.end()
        reply.ok()
      },
    },
    caching: {
      ...OPEN,
      arity: 3,
      since: '6.0.0',
      syntax: '(YES|NO)',
      arguments: [arg.oneOf('mode', arg.words('YES NO'))],
      summary: 'Has no effect: there are no keys to be cached.',
      handler: caching,
    },
    getredir: {
      ...OPEN,
      arity: 2,
      since: '6.0.0',
      summary: 'Answers where invalidations would go.',
      help: ['Answers the id of the client that invalidations would go to.'],
      handler: (context) => context.reply.integer(context.client.tracking?.redirect ?? -1),
    },
    tracking: {
      ...OPEN,
      arity: -3,
      since: '6.0.0',
      syntax: '(ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]] [OPTIN] [OPTOUT] [NOLOOP]',
      arguments: [
        arg.oneOf('status', arg.words('ON OFF')),
        arg.integer('client-id', { token: 'REDIRECT', optional: true }),
        arg.string('prefix', {
          token: 'PREFIX',
          optional: true,
          multiple: true,
          multipleToken: true,
        }),
        arg.word('BCAST', { optional: true }),
        arg.word('OPTIN', { optional: true }),
        arg.word('OPTOUT', { optional: true }),
        arg.word('NOLOOP', { optional: true }),
      ],
      summary: 'Is kept, without effect: no key ever changes.',
      handler: tracking,
    },
    trackinginfo: {
      ...OPEN,
      arity: 2,
      since: '6.2.0',
      summary: 'Answers what CLIENT TRACKING was told.',
      handler: trackingInfo,
    },
    help: {
      ...helpOf('client', '5.0.0', HELP_ORDER.split(' ')),
      group: 'connection',
      categories: ['slow', 'connection'],
    },
  },
}
