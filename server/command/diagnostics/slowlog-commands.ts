import type { Category } from '../../acl/categories.ts'
import type { Request } from '../../resp/request.ts'
import type { CommandContext } from '../context.ts'
import { subcommandArity } from '../error-texts.ts'
import { helpSpec } from '../help.ts'
import { parseInteger } from '../integers.ts'
import type { CommandFlag, CommandSpec } from '../spec.ts'
import { subcommandsOf } from '../subcommand.ts'

const ADMIN: readonly CommandFlag[] = ['admin', 'loading', 'stale']
const ADMIN_CATEGORIES: readonly Category[] = ['admin', 'slow', 'dangerous']

/** Entries that SLOWLOG GET answers without a count. */
const USUAL_COUNT = 10

function get({ reply, server }: CommandContext, request: Request): void {
  if (request.count > 3) {
    reply.error(subcommandArity(request))
    return
  }
  const count = request.count === 3 ? parseInteger(request.text(2)) : USUAL_COUNT
  if (count === undefined || count < -1) {
    reply.error('ERR count should be greater than or equal to -1')
    return
  }
  const entries = server.slowLog.list(count)
  reply.array(entries.length)
  for (const { id, atSeconds, microseconds, args, address, clientName } of entries) {
    reply.array(6)
    reply.integer(id)
    reply.integer(atSeconds)
    reply.integer(microseconds)
    reply.array(args.length)
    for (const arg of args) reply.bulk(arg)
    reply.bulk(address)
    reply.bulk(clientName)
  }
}

const sub = subcommandsOf('slowlog', {
  flags: ADMIN,
  categories: ADMIN_CATEGORIES,
  group: 'server',
  complexity: 'O(N) with N entries.',
})

/** SLOWLOG and its subcommands. */
export const SLOWLOG_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'slowlog',
    arity: -2,
    flags: [],
    categories: ['slow'],
    group: 'server',
    since: '2.2.12',
    summary: 'Container of the commands about the slow log.',
  },
  sub('get', -2, '2.2.12', 'Lists commands that took long, newest first.', get),
  sub('len', 2, '2.2.12', 'Counts the entries of the slow log.', ({ reply, server }) => {
    reply.integer(server.slowLog.length)
  }),
  sub('reset', 2, '2.2.12', 'Forgets all entries.', ({ reply, server }) => {
    server.slowLog.reset()
    reply.ok()
  }),
  helpSpec(
    'slowlog',
    'server',
    '6.2.0',
    ['slow'],
    [
      [
        'GET [<count>]',
        'Lists commands that took long, newest first (default: 10, -1 is all). An entry has:',
        'id, time, microseconds, arguments, address and name of the client.',
      ],
      ['LEN', 'Counts the entries.'],
      ['RESET', 'Forgets all entries.'],
    ],
  ),
]
