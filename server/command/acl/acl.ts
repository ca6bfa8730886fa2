import { authorize, dryRunText } from '../../acl/authorize.ts'
import { CATEGORIES, isCategory, type Category } from '../../acl/categories.ts'
import {
  describeChannels,
  describeCommands,
  describeFlags,
  describeKeys,
  describeUser,
} from '../../acl/describe.ts'
import type { AclLogEntry } from '../../acl/log.ts'
import { isRoleName, isTokenUserName } from '../../acl/names.ts'
import { generatePassword } from '../../acl/password.ts'
import type { Selector } from '../../acl/user.ts'
import type { ReplyWriter } from '../../resp/reply-writer.ts'
import type { Request } from '../../resp/request.ts'
import type { CommandContext } from '../context.ts'
import { arityError, NOT_AN_INTEGER, subcommandArity } from '../error-texts.ts'
import { helpSpec } from '../help.ts'
import { parseInteger } from '../integers.ts'
import { Slice } from '../request-slice.ts'
import { isSecretOfUser } from '../secrets.ts'
import type { CommandFlag, CommandSpec, Handler } from '../spec.ts'
import { subcommandsOf } from '../subcommand.ts'

const OPEN: readonly CommandFlag[] = ['noscript', 'loading', 'stale']
const ADMIN: readonly CommandFlag[] = ['admin', 'noscript', 'loading', 'stale']
const ADMIN_CATEGORIES: readonly Category[] = ['admin', 'slow', 'dangerous']

/** How much of an unknown category's name is repeated, in bytes. */
const SHOWN_BYTES = 128

const GENPASS_ERROR =
  'ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096'

function cat({ reply, server }: CommandContext, request: Request): void {
  if (request.count > 3) {
    reply.error(subcommandArity(request))
  } else if (request.count === 2) {
    writeBulks(reply, CATEGORIES)
  } else {
    const category = request.text(2).toLowerCase()
    if (!isCategory(category)) {
      reply.error(`ERR Unknown category '${request.text(2).slice(0, SHOWN_BYTES)}'`)
      return
    }
    const names: string[] = []
    for (const { spec } of server.table.all()) {
      if (spec.categories.includes(category)) names.push(spec.name)
    }
    writeBulks(reply, names)
  }
}

function setUser({ reply, server }: CommandContext, request: Request): void {
  const rules: string[] = []
  for (let i = 3; i < request.count; i++) rules.push(request.text(i))
  const result = server.users.setUser(request.text(2), rules)
  if ('error' in result) reply.error(`ERR ${result.error}`)
  else if (mayAnswer(reply, server, [request.text(2)])) reply.ok()
}

/**
 * Writes the ACL file first where `acl-autosave` asks for it, so that what was answered survives: for roles and ceilings.
 * Other users wait for ACL SAVE, as in Redis.
 *
 * @param changed The names of users.
 * @returns False where the file cannot be written; the error was answered then.
 */
function mayAnswer(
  reply: ReplyWriter,
  server: CommandContext['server'],
  changed: readonly string[],
): boolean {
  if (!changed.some((name) => isRoleName(name) || isTokenUserName(name))) return true
  const error = server.aclFile.autosave()
  if (error === undefined) return true
  reply.error(`MISCONF the change is in force but not saved: ${error}`)
  return false
}

function delUser({ reply, server }: CommandContext, request: Request): void {
  const names: string[] = []
  for (let i = 2; i < request.count; i++) names.push(request.text(i))
  const result = server.users.deleteUsers(names)
  if ('error' in result) {
    reply.error(`ERR ${result.error}`)
    return
  }
  const deleted = result.deleted.map(({ name }) => name)
  if (mayAnswer(reply, server, deleted)) reply.integer(deleted.length)
}

function getUser({ reply, server }: CommandContext, request: Request): void {
  const user = server.users.get(request.text(2))
  if (!user) {
    reply.null()
    return
  }
  const [root, ...others] = user.selectors
  const flags = describeFlags(user)
  reply.map(6)
  reply.bulk('flags')
  reply.set(flags.length)
  for (const flag of flags) reply.bulk(flag)
  reply.bulk('passwords')
  writeBulks(reply, user.passwords)
  writeSelector(reply, root as Selector)
  reply.bulk('selectors')
  reply.array(others.length)
  for (const selector of others) {
    reply.map(3)
    writeSelector(reply, selector)
  }
}

function writeSelector(reply: ReplyWriter, selector: Selector): void {
  reply.bulk('commands')
  reply.bulk(describeCommands(selector))
  reply.bulk('keys')
  reply.bulk(describeKeys(selector))
  reply.bulk('channels')
  reply.bulk(describeChannels(selector))
}

function dryRun({ reply, server }: CommandContext, request: Request): void {
  const user = server.users.get(request.text(2))
  if (!user) {
    reply.error(`ERR User '${request.text(2)}' not found`)
    return
  }
  const command = server.table.find(request, 3)
  if (!command) {
    reply.error(`ERR Command '${request.text(3)}' not found`)
    return
  }
  const inner = new Slice(request, 3)
  if (!command.accepts(inner.count)) {
    reply.error(arityError(command.spec.name))
    return
  }
  const identity = { user, ceilings: [], token: undefined }
  const denial = authorize(identity, undefined, command.acl, inner)
  if (denial) reply.bulk(dryRunText(user, denial))
  else reply.ok()
}

function genPass({ reply }: CommandContext, request: Request): void {
  if (request.count > 3) {
    reply.error(subcommandArity(request))
    return
  }
  const bits = request.count === 3 ? parseInteger(request.text(2)) : 256
  if (bits === undefined) reply.error(NOT_AN_INTEGER)
  else if (bits <= 0 || bits > 4096) reply.error(GENPASS_ERROR)
  else reply.bulk(generatePassword(bits))
}

function log({ reply, server }: CommandContext, request: Request): void {
  if (request.count > 3) {
    reply.error(subcommandArity(request))
    return
  }
  if (request.count === 3 && request.text(2).toLowerCase() === 'reset') {
    server.aclLog.reset()
    reply.ok()
    return
  }
  const count = request.count === 3 ? parseInteger(request.text(2)) : 10
  if (count === undefined) {
    reply.error(NOT_AN_INTEGER)
    return
  }
  const entries = server.aclLog.list(count)
  reply.array(entries.length)
  const nowMs = server.clock.wallMs()
  for (const entry of entries) writeLogEntry(reply, entry, nowMs)
}

function writeLogEntry(reply: ReplyWriter, entry: AclLogEntry, nowMs: number): void {
  reply.map(10)
  reply.bulk('count')
  reply.integer(entry.count)
  reply.bulk('reason')
  reply.bulk(entry.reason)
  reply.bulk('context')
  reply.bulk(entry.context)
  reply.bulk('object')
  reply.bulk(entry.object)
  reply.bulk('username')
  reply.bulk(entry.username)
  reply.bulk('age-seconds')
  reply.double(Math.max(0, nowMs - entry.updatedMs) / 1000)
  reply.bulk('client-info')
  reply.bulk(entry.clientInfo)
  reply.bulk('entry-id')
  reply.integer(entry.entryId)
  reply.bulk('timestamp-created')
  reply.integer(entry.createdMs)
  reply.bulk('timestamp-last-updated')
  reply.integer(entry.updatedMs)
}

function fileCommand(action: 'save' | 'load'): Handler {
  return ({ reply, server }) => {
    const error = server.aclFile[action]()
    if (error === undefined) reply.ok()
    else reply.error(`ERR ${error}`)
  }
}

function writeBulks(reply: ReplyWriter, values: readonly string[]): void {
  reply.array(values.length)
  for (const value of values) reply.bulk(value)
}

/** A subcommand of ACL that administrators use. */
const admin = subcommandsOf('acl', {
  flags: ADMIN,
  categories: ADMIN_CATEGORIES,
  group: 'server',
  complexity: 'O(N)',
})

/** A subcommand of ACL without harm. */
function open(name: string, arity: number, summary: string, handler: Handler): CommandSpec {
  return {
    name: `acl|${name}`,
    arity,
    flags: OPEN,
    categories: ['slow'],
    group: 'server',
    since: '6.0.0',
    summary,
    complexity: 'O(1)',
    handler,
  }
}

/** ACL and its subcommands. */
export const ACL_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'acl',
    arity: -2,
    flags: [],
    categories: ['slow'],
    group: 'server',
    since: '6.0.0',
    summary: 'Container of the commands about users and permissions.',
  },
  open('cat', -2, 'Lists the categories, or the commands of one.', cat),
  {
    ...admin('deluser', -3, '6.0.0', 'Deletes users and closes their connections.', delUser),
    isSecret: isSecretOfUser,
  },
  admin(
    'dryrun',
    -4,
    '7.0.0',
    'Says whether a user may run a command, without running it.',
    dryRun,
  ),
  open('genpass', -2, 'Makes a password of random hexadecimal digits.', genPass),
  {
    ...admin('getuser', 3, '6.0.0', 'Shows the rules of a user.', getUser),
    isSecret: isSecretOfUser,
  },
  admin('list', 2, '6.0.0', 'Lists all users with their rules.', ({ reply, server }) => {
    writeBulks(reply, server.users.list().map(describeUser))
  }),
  admin('load', 2, '6.0.0', 'Reads the ACL file again.', fileCommand('load')),
  admin('log', -2, '6.0.0', 'Lists what was refused lately, or forgets it.', log),
  admin('save', 2, '6.0.0', 'Writes the ACL file.', fileCommand('save')),
  {
    ...admin('setuser', -3, '6.0.0', 'Makes a user, or changes its rules.', setUser),
    isSecret: isSecretOfUser,
  },
  admin('users', 2, '6.0.0', 'Lists the names of all users.', ({ reply, server }) => {
    writeBulks(reply, server.users.names())
  }),
  open('whoami', 2, 'Answers the user of this connection.', ({ client, reply }) => {
    reply.bulk(client.identity.user.name)
  }),
  helpSpec(
    'acl',
    'server',
    '6.0.0',
    ['slow'],
    [
      ['CAT [<category>]', 'Lists all categories, or the commands of one.'],
      ['DELUSER <username> [<username> ...]', 'Deletes users and closes their connections.'],
      [
        'DRYRUN <username> <command> [<arg> ...]',
        'Says whether a user may run a command, without running it.',
      ],
      ['GETUSER <username>', 'Shows the rules of a user.'],
      [
        'GENPASS [<bits>]',
        'Makes a password of random hexadecimal digits, of 256 bits or as many as said.',
      ],
      ['LIST', 'Lists all users with their rules, as ACL files hold them.'],
      ['LOAD', 'Reads the ACL file again. If it has errors nothing changes.'],
      ['LOG [<count> | RESET]', 'Lists what was refused lately, or forgets it.'],
      ['SAVE', 'Writes the ACL file.'],
      ['SETUSER <username> <attribute> [<attribute> ...]', 'Makes a user, or changes its rules.'],
      ['USERS', 'Lists the names of all users.'],
      ['WHOAMI', 'Answers the user of this connection.'],
    ],
  ),
]
