import type { Category } from '../../acl/categories.ts'
import type { Request } from '../../resp/request.ts'
import type { CommandContext } from '../context.ts'
import { NOT_AN_INTEGER, subcommandArity } from '../error-texts.ts'
import { parseInteger } from '../integers.ts'
import type { CommandFlag, CommandSpec } from '../spec.ts'
import { subcommandsOf } from '../subcommand.ts'

const FLAGS: readonly CommandFlag[] = ['admin', 'noscript', 'loading', 'stale']
const CATEGORIES: readonly Category[] = ['admin', 'slow', 'dangerous', 'connection']

/** CLIENT PAUSE milliseconds [WRITE|ALL]. */
function pause({ reply, server }: CommandContext, request: Request): void {
  if (request.count > 4) {
    reply.error(subcommandArity(request))
    return
  }
  const word = request.count === 4 ? request.text(3).toLowerCase() : 'all'
  const milliseconds = parseInteger(request.text(2))
  if (word !== 'write' && word !== 'all') {
    reply.error('ERR CLIENT PAUSE mode must be WRITE or ALL')
  } else if (milliseconds === undefined) {
    reply.error('ERR timeout is not an integer or out of range')
  } else if (milliseconds < 0) {
    reply.error('ERR timeout is negative')
  } else {
    server.pause.begin(milliseconds, word)
    reply.ok()
  }
}

/** CLIENT UNBLOCK id [TIMEOUT|ERROR]: no command of this server blocks. */
function unblock({ reply }: CommandContext, request: Request): void {
  if (request.count > 4) {
    reply.error(subcommandArity(request))
    return
  }
  const word = request.count === 4 ? request.text(3).toLowerCase() : 'timeout'
  if (word !== 'timeout' && word !== 'error') {
    reply.error('ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR')
  } else if (parseInteger(request.text(2)) === undefined) {
    reply.error(NOT_AN_INTEGER)
  } else {
    reply.integer(0)
  }
}

const sub = subcommandsOf('client', {
  flags: FLAGS,
  categories: CATEGORIES,
  group: 'connection',
  complexity: 'O(1)',
})

/** CLIENT PAUSE and those that end a wait. */
export const CLIENT_PAUSE_COMMANDS: readonly CommandSpec[] = [
  sub('pause', -3, '2.9.50', 'Lets commands wait for a while.', pause),
  sub('unblock', -3, '5.0.0', 'Answers 0: no command blocks.', unblock),
  sub('unpause', 2, '6.2.0', 'Ends the wait of CLIENT PAUSE.', ({ reply, server }) => {
    server.pause.end()
    reply.ok()
  }),
]
