import * as arg from '../argument.ts'
import { authorize, dryRunText } from '../../acl/authorize.ts'
import { CATEGORIES, isCategory } from '../../acl/categories.ts'
import {
  describeChannels,
  describeCommands,
  describeFlags,
  describeKeys,
  describeUser,
} from '../../acl/describe.ts'
import { isKept } from '../../acl/shared-users.ts'
import type { AclLogEntry } from '../../acl/log.ts'
import type { Selector } from '../../acl/user.ts'
import { generatePassword } from '../../acl/password.ts'
import type { ReplyWriter } from '../../resp/reply-writer.ts'
import type { Request } from '../../resp/request.ts'
import { InnerRequest, parseInteger, textsFrom } from '../arguments.ts'
import { ADMIN, CONTAINER, helpOf } from '../container.ts'
import type { CommandContext } from '../context.ts'
import { wrongArity, NOT_AN_INTEGER, subcommandArity } from '../error-texts.ts'
import { writeBulks, writeField } from '../replies.ts'
import type { CommandData, Completion } from '../spec.ts'
import {
  deleteSharedUsers,
  loadSharedUsers,
  refuseSharedInMulti,
  setSharedUser,
} from './shared-edits.ts'

/** Longest part of an unknown category's name that an error repeats, in bytes. */
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

/** Reports whether an edit concerns users that gateways share. */
function isShared({ server }: CommandContext, names: readonly string[]): boolean {
  const { control, sharedUsers } = server
  return !control.isAlone && !names.every((name) => sharedUsers.isLocal(name))
}

function setUser(context: CommandContext, request: Request): void | Promise<Completion> {
  const name = request.text(2)
  if (isShared(context, [name])) return setSharedUser(context, name, textsFrom(request, 3))
  const result = context.server.users.setUser(name, textsFrom(request, 3))
  if (!('error' in result)) return answerSaved(context, [name], (reply) => reply.ok())
  context.reply.error(`ERR ${result.error}`)
}

/**
 * Answers a change of users: after it is in the ACL file, if `acl-autosave` asks for it and a role or a ceiling has changed.
 * Other users wait for ACL SAVE, as in Redis.
 *
 * @param changed Names of users.
 */
function answerSaved(
  { reply, server }: CommandContext,
  changed: readonly string[],
  answer: (reply: ReplyWriter) => void,
): void | Promise<Completion> {
  const finish = (current: ReplyWriter, error: string | undefined): void => {
    if (error === undefined) answer(current)
    else current.error(`MISCONF the change is in force but not saved: ${error}`)
  }
  const saved = changed.some(isKept) ? server.aclFile.autosave() : undefined
  if (saved !== undefined) return saved.then((error) => (later) => finish(later.reply, error))
  answer(reply)
}

function delUser(context: CommandContext, request: Request): void | Promise<Completion> {
  const names = textsFrom(request, 2)
  if (isShared(context, names)) return deleteSharedUsers(context, names)
  const result = context.server.users.deleteUsers(names)
  if ('error' in result) {
    context.reply.error(`ERR ${result.error}`)
    return
  }
  const deleted = result.deleted.map(({ name }) => name)
  return answerSaved(context, deleted, (reply) => reply.integer(deleted.length))
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
  writeSelector(reply, root)
  reply.bulk('selectors')
  reply.array(others.length)
  for (const selector of others) {
    reply.map(3)
    writeSelector(reply, selector)
  }
}

function writeSelector(reply: ReplyWriter, selector: Selector): void {
  writeField(reply, 'commands', describeCommands(selector))
  writeField(reply, 'keys', describeKeys(selector))
  writeField(reply, 'channels', describeChannels(selector))
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
  const inner = new InnerRequest(request, 3)
  if (!command.accepts(inner.count)) {
    reply.error(`ERR ${wrongArity(command.spec.name)}`)
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
  writeField(reply, 'count', entry.count)
  writeField(reply, 'reason', entry.reason)
  writeField(reply, 'context', entry.context)
  writeField(reply, 'object', entry.object)
  writeField(reply, 'username', entry.username)
  reply.bulk('age-seconds')
  reply.double(Math.max(0, nowMs - entry.updatedMs) / 1000)
  writeField(reply, 'client-info', entry.clientInfo)
  writeField(reply, 'entry-id', entry.entryId)
  writeField(reply, 'timestamp-created', entry.createdMs)
  writeField(reply, 'timestamp-last-updated', entry.updatedMs)
}

function answerFile(reply: ReplyWriter, error: string | undefined): void {
  if (error === undefined) reply.ok()
  else reply.error(`ERR ${error}`)
}

function save({ server }: CommandContext): Promise<Completion> {
  return server.aclFile.save().then((error) => (later) => answerFile(later.reply, error))
}

/**
 * ACL LOAD waits for a write under way: it would read the file without changes that have been ordered before. Inside EXEC, whose commands
 * have nothing between them, the file is written once more and not read: it has the users that are in force then.
 */
function load(context: CommandContext): void | Promise<Completion> {
  const { aclFile, control } = context.server
  if (!aclFile.isBusy) {
    if (!control.isAlone) return loadSharedUsers(context)
    answerFile(context.reply, aclFile.load())
  } else if (context.inTransaction) return save(context)
  else return aclFile.settled().then(() => load)
}

const OPEN = {
  flags: ['noscript', 'loading', 'stale'],
  categories: ['slow'],
  group: 'server',
  since: '6.0.0',
  complexity: 'O(1)',
} as const satisfies Partial<CommandData>

const RESTRICTED = {
  ...ADMIN,
  since: '6.0.0',
  complexity: 'O(N)',
} as const satisfies Partial<CommandData>

const HELP_ORDER = 'cat deluser dryrun getuser genpass list load log save setuser users whoami'

/** ACL and its subcommands. */
export const acl: CommandData = {
  ...CONTAINER,
  group: 'server',
  since: '6.0.0',
  summary: 'Container of the commands about users and permissions.',
  subcommands: {
    cat: {
      ...OPEN,
      arity: -2,
      syntax: '[<category>]',
      arguments: [arg.string('category', { optional: true })],
      summary: 'Lists the categories, or the commands of one.',
      help: ['Lists all categories, or the commands of one.'],
      handler: cat,
    },
    deluser: {
      ...RESTRICTED,
      arity: -3,
      syntax: '<username> [<username> ...]',
      arguments: [arg.string('username', { multiple: true })],
      summary: 'Deletes users and closes their connections.',
      tips: ['request_policy:all_nodes', 'response_policy:all_succeeded'],
      secret: 2,
      awaitsDisk: true,
      refuseInMulti: refuseSharedInMulti,
      handler: delUser,
    },
    dryrun: {
      ...RESTRICTED,
      arity: -4,
      since: '7.0.0',
      syntax: '<username> <command> [<arg> ...]',
      arguments: [
        arg.string('username'),
        arg.string('command'),
        arg.string('arg', { optional: true, multiple: true }),
      ],
      summary: 'Says whether a user may run a command, without running it.',
      handler: dryRun,
    },
    genpass: {
      ...OPEN,
      arity: -2,
      syntax: '[<bits>]',
      arguments: [arg.integer('bits', { optional: true })],
      summary: 'Makes a password of random hexadecimal digits.',
      help: ['Makes a password of random hexadecimal digits, of 256 bits or as many as said.'],
      handler: genPass,
    },
    getuser: {
      ...RESTRICTED,
      arity: 3,
      syntax: '<username>',
      arguments: [arg.string('username')],
      history: [
        ['6.2.0', 'Patterns of channels.'],
        ['7.0.0', 'Selectors; keys and channels as rules instead of lists.'],
      ],
      summary: 'Shows the rules of a user.',
      secret: 2,
      handler: getUser,
    },
    list: {
      ...RESTRICTED,
      arity: 2,
      summary: 'Lists all users with their rules.',
      help: ['Lists all users with their rules, as ACL files hold them.'],
      handler: ({ reply, server }) => writeBulks(reply, server.users.list().map(describeUser)),
    },
    load: {
      ...RESTRICTED,
      arity: 2,
      summary: 'Reads the ACL file again.',
      help: ['Reads the ACL file again. If it has errors nothing changes.'],
      awaitsDisk: true,
      refuseInMulti: refuseSharedInMulti,
      handler: load,
    },
    log: {
      ...RESTRICTED,
      arity: -2,
      syntax: '[<count> | RESET]',
      arguments: [
        arg.oneOf('operation', [arg.integer('count'), arg.word('RESET')], { optional: true }),
      ],
      history: [['7.2.0', 'The id of an entry, and the times of its first and last event.']],
      summary: 'Lists what was refused lately, or forgets it.',
      handler: log,
    },
    save: {
      ...RESTRICTED,
      arity: 2,
      summary: 'Writes the ACL file.',
      tips: ['request_policy:all_nodes', 'response_policy:all_succeeded'],
      awaitsDisk: true,
      handler: save,
    },
    setuser: {
      ...RESTRICTED,
      arity: -3,
      syntax: '<username> <attribute> [<attribute> ...]',
      arguments: [arg.string('username'), arg.string('rule', { optional: true, multiple: true })],
      history: [
        ['6.2.0', 'Patterns of channels.'],
        ['7.0.0', 'Selectors and rules for reading and writing keys.'],
      ],
      summary: 'Makes a user, or changes its rules.',
      tips: ['request_policy:all_nodes', 'response_policy:all_succeeded'],
      secret: 2,
      awaitsDisk: true,
      refuseInMulti: refuseSharedInMulti,
      handler: setUser,
    },
    users: {
      ...RESTRICTED,
      arity: 2,
      summary: 'Lists the names of all users.',
      handler: ({ reply, server }) => writeBulks(reply, server.users.names()),
    },
    whoami: {
      ...OPEN,
      arity: 2,
      summary: 'Answers the user of this connection.',
      handler: ({ client, reply }) => reply.bulk(client.identity.user.name),
    },
    help: helpOf('acl', '6.0.0', HELP_ORDER.split(' ')),
  },
}
