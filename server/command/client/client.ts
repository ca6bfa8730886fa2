import { isPrintableName, NAME_ERROR } from '../names.ts'
import type { CommandContext } from '../context.ts'
import { SYNTAX_ERROR } from '../error-texts.ts'
import { clientKill, clientList } from './filters.ts'
import { CLIENT_HELP } from './help.ts'
import { CLIENT_PAUSE_COMMANDS } from './pause.ts'
import { CLIENT_TRACKING_COMMANDS, noteRedirect } from './tracking.ts'
import type { CommandFlag, CommandSpec } from '../spec.ts'
import type { Request } from '../../resp/request.ts'
import { describeClient } from '../../client/describe.ts'
import type { Category } from '../../acl/categories.ts'

const OPEN: readonly CommandFlag[] = ['noscript', 'loading', 'stale']
const ADMIN: readonly CommandFlag[] = ['admin', 'noscript', 'loading', 'stale']
const OPEN_CATEGORIES: readonly Category[] = ['slow', 'connection']
const ADMIN_CATEGORIES: readonly Category[] = ['admin', 'slow', 'dangerous', 'connection']

function setInfo({ client, reply }: CommandContext, request: Request): void {
  const attribute = request.text(2)
  const value = request.text(3)
  const word = attribute.toLowerCase()
  if (word !== 'lib-name' && word !== 'lib-ver') {
    reply.error(`ERR Unrecognized option '${attribute}'`)
  } else if (!isPrintableName(value)) {
    reply.error(`ERR ${attribute} cannot contain spaces, newlines or special characters.`)
  } else {
    if (word === 'lib-name') client.libraryName = value
    else client.libraryVersion = value
    reply.ok()
  }
}

function setReplyMode({ client, reply }: CommandContext, request: Request): void {
  switch (request.text(2).toLowerCase()) {
    case 'on':
      // A SKIP earlier in the same transaction still drops the answer of the command behind EXEC.
      if (client.replyMode !== 'skip-next') client.replyMode = 'on'
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

/** A switch that is stored and shown. */
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

/** CLIENT and its subcommands. */
export const CLIENT_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'client',
    arity: -2,
    flags: [],
    categories: ['slow'],
    group: 'connection',
    since: '2.4.0',
    summary: 'Container of the commands about connections.',
  },
  {
    name: 'client|id',
    arity: 2,
    flags: OPEN,
    categories: OPEN_CATEGORIES,
    group: 'connection',
    since: '5.0.0',
    summary: 'Answers the id of this connection.',
    complexity: 'O(1)',
    handler: ({ client, reply }) => reply.integer(client.id),
  },
  {
    name: 'client|getname',
    arity: 2,
    flags: OPEN,
    categories: OPEN_CATEGORIES,
    group: 'connection',
    since: '2.6.9',
    summary: 'Answers the name of this connection.',
    complexity: 'O(1)',
    handler: ({ client, reply }) => {
      if (client.name === '') reply.null()
      else reply.bulk(client.name)
    },
  },
  {
    name: 'client|setname',
    arity: 3,
    flags: OPEN,
    categories: OPEN_CATEGORIES,
    group: 'connection',
    since: '2.6.9',
    summary: 'Names this connection.',
    complexity: 'O(1)',
    handler: ({ client, reply }, request) => {
      const name = request.text(2)
      if (!isPrintableName(name)) {
        reply.error(NAME_ERROR)
        return
      }
      client.name = name
      reply.ok()
    },
  },
  {
    name: 'client|setinfo',
    arity: 4,
    flags: OPEN,
    categories: OPEN_CATEGORIES,
    group: 'connection',
    since: '7.2.0',
    summary: 'Tells the name or the version of the client library.',
    complexity: 'O(1)',
    handler: setInfo,
  },
  {
    name: 'client|info',
    arity: 2,
    flags: OPEN,
    categories: OPEN_CATEGORIES,
    group: 'connection',
    since: '6.2.0',
    summary: 'Describes this connection.',
    complexity: 'O(1)',
    handler: ({ client, reply, server }) => {
      noteRedirect(client, server)
      reply.verbatim(`${describeClient(client, server.clock.monotonicMs())}\n`)
    },
  },
  {
    name: 'client|list',
    arity: -2,
    flags: ADMIN,
    categories: ADMIN_CATEGORIES,
    group: 'connection',
    since: '2.4.0',
    summary: 'Describes connections, one a line.',
    complexity: 'O(N) with N connections.',
    handler: clientList,
  },
  {
    name: 'client|kill',
    arity: -3,
    flags: ADMIN,
    categories: ADMIN_CATEGORIES,
    group: 'connection',
    since: '2.4.0',
    summary: 'Closes connections.',
    complexity: 'O(N) with N connections.',
    handler: clientKill,
  },
  {
    name: 'client|reply',
    arity: 3,
    flags: OPEN,
    categories: OPEN_CATEGORIES,
    group: 'connection',
    since: '3.2.0',
    summary: 'Switches replies off and on; pushes keep coming.',
    complexity: 'O(1)',
    handler: setReplyMode,
  },
  {
    name: 'client|no-evict',
    arity: 3,
    flags: ADMIN,
    categories: ADMIN_CATEGORIES,
    group: 'connection',
    since: '7.0.0',
    summary: 'Exempts this connection from eviction.',
    complexity: 'O(1)',
    handler: toggle('noEvict'),
  },
  {
    name: 'client|no-touch',
    arity: 3,
    flags: OPEN,
    categories: OPEN_CATEGORIES,
    group: 'connection',
    since: '7.2.0',
    summary: 'Has no effect: there are no keys to be touched.',
    complexity: 'O(1)',
    handler: toggle('noTouch'),
  },
  ...CLIENT_PAUSE_COMMANDS,
  ...CLIENT_TRACKING_COMMANDS,
  CLIENT_HELP,
]
