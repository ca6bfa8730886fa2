import * as arg from '../argument.ts'
import type { Argument } from '../argument.ts'
import { compileGlob } from '../../../shared/glob.ts'
import { isCategory } from '../../acl/categories.ts'
import type { ReplyWriter } from '../../resp/reply-writer.ts'
import type { Request } from '../../resp/request.ts'
import { InnerRequest } from '../arguments.ts'
import { helpOf } from '../container.ts'
import type { CommandContext } from '../context.ts'
import { SYNTAX_ERROR } from '../error-texts.ts'
import { writeBulks } from '../replies.ts'
import { FLAGS, type CommandData, type CommandSpec, type Handler } from '../spec.ts'
import type { Command } from '../table.ts'

/** Every key is read only: this server has none. */
const KEY_FLAG = 'RO'

/** Writes one element of COMMAND INFO; parts that a command does not have are empty. */
function writeCommand(reply: ReplyWriter, command: Command): void {
  const { spec } = command
  reply.array(10)
  reply.bulk(spec.name)
  reply.integer(spec.arity)
  const flags = FLAGS.filter((flag) => spec.flags.includes(flag))
  reply.set(flags.length)
  for (const flag of flags) reply.simple(flag)
  const { first, last, step } = command.slots ?? NO_POSITIONS
  reply.integer(first)
  reply.integer(last)
  reply.integer(step)
  reply.set(spec.categories.length)
  for (const category of spec.categories) reply.simple(`@${category}`)
  const { tips = [] } = spec
  reply.set(tips.length)
  for (const tip of tips) reply.bulk(tip)
  writeKeySpecs(reply, command)
  if (command.subcommands.size === 0) {
    reply.set(0)
    return
  }
  reply.array(command.subcommands.size)
  for (const subcommand of command.subcommands.values()) writeCommand(reply, subcommand)
}

const NO_POSITIONS = { first: 0, last: 0, step: 0 }

/** Writes the key specifications. Shard channels are among them: a cluster routes them like keys. */
function writeKeySpecs(reply: ReplyWriter, { spec, slots }: Command): void {
  if (!slots) {
    reply.set(0)
    return
  }
  const { first, last, step } = slots
  reply.set(1)
  reply.map(3)
  reply.bulk('flags')
  reply.set(1)
  reply.simple(spec.keys ? KEY_FLAG : 'not_key')
  reply.bulk('begin_search')
  reply.map(2)
  reply.bulk('type')
  reply.bulk('index')
  reply.bulk('spec')
  reply.map(1)
  reply.bulk('index')
  reply.integer(first)
  reply.bulk('find_keys')
  reply.map(2)
  reply.bulk('type')
  reply.bulk('range')
  reply.bulk('spec')
  reply.map(3)
  reply.bulk('lastkey')
  reply.integer(last < 0 ? last : last - first)
  reply.bulk('keystep')
  reply.integer(step)
  reply.bulk('limit')
  reply.integer(0)
}

function all({ reply, server }: CommandContext): void {
  reply.array(server.table.size)
  for (const command of server.table.commands()) writeCommand(reply, command)
}

const info: Handler = (context, request) => {
  const { reply, server } = context
  if (request.count === 2) {
    all(context)
    return
  }
  reply.array(request.count - 2)
  for (let i = 2; i < request.count; i++) {
    const command = server.table.named(request.text(i))
    if (command) writeCommand(reply, command)
    else reply.null()
  }
}

const docs: Handler = ({ reply, server }, request) => {
  const commands: Command[] = []
  if (request.count === 2) commands.push(...server.table.commands())
  for (let i = 2; i < request.count; i++) {
    const command = server.table.named(request.text(i))
    if (command) commands.push(command)
  }
  reply.map(commands.length)
  for (const command of commands) writeDocs(reply, command)
}

function writeDocs(reply: ReplyWriter, command: Command): void {
  const { spec, subcommands } = command
  const { complexity, deprecated, history, arguments: args } = spec
  const flag = deprecated ? 'deprecated' : spec.isSystemCommand && 'syscmd'
  writeMap(reply, spec.name, [
    ['summary', () => reply.utf8(spec.summary)],
    ['since', () => reply.bulk(spec.since)],
    ['group', () => reply.bulk(spec.group)],
    complexity !== undefined && ['complexity', () => reply.utf8(complexity)],
    flag && ['doc_flags', () => writeFlags(reply, [flag])],
    deprecated && ['deprecated_since', () => reply.bulk(deprecated.since)],
    deprecated && ['replaced_by', () => reply.bulk(deprecated.replacedBy)],
    history && ['history', () => writeHistory(reply, history)],
    args && ['arguments', () => writeArguments(reply, args)],
    subcommands.size > 0 && [
      'subcommands',
      () => {
        reply.map(subcommands.size)
        for (const subcommand of subcommands.values()) writeDocs(reply, subcommand)
      },
    ],
  ])
}

/** A field that COMMAND DOCS has of some commands only, and the writer of its value. */
type DocsField = readonly [name: string, write: () => void] | false | undefined

/** Writes the fields that there are, as a map, after the name of the command. */
function writeMap(
  reply: ReplyWriter,
  name: string | undefined,
  fields: readonly DocsField[],
): void {
  const present = fields.filter((field) => field !== undefined && field !== false)
  if (name !== undefined) reply.bulk(name)
  reply.map(present.length)
  for (const [field, write] of present) {
    reply.bulk(field)
    write()
  }
}

function writeFlags(reply: ReplyWriter, flags: readonly string[]): void {
  reply.set(flags.length)
  for (const flag of flags) reply.simple(flag)
}

function writeHistory(reply: ReplyWriter, history: NonNullable<CommandSpec['history']>): void {
  reply.set(history.length)
  for (const change of history) {
    reply.array(2)
    for (const text of change) reply.bulk(text)
  }
}

function writeArguments(reply: ReplyWriter, args: readonly Argument[]): void {
  reply.array(args.length)
  for (const each of args) {
    const { name, type, token, since, deprecatedSince, arguments: parts } = each
    const flags: string[] = []
    if (each.optional) flags.push('optional')
    if (each.multiple) flags.push('multiple')
    if (each.multipleToken) flags.push('multiple_token')
    writeMap(reply, undefined, [
      ['name', () => reply.bulk(name)],
      ['type', () => reply.bulk(type)],
      parts === undefined && ['display_text', () => reply.bulk(each.shown ?? name)],
      // Of the commands here none has two specifications of keys.
      type === 'key' && ['key_spec_index', () => reply.integer(0)],
      token !== undefined && ['token', () => reply.bulk(token)],
      since !== undefined && ['since', () => reply.bulk(since)],
      deprecatedSince !== undefined && ['deprecated_since', () => reply.bulk(deprecatedSince)],
      flags.length > 0 && ['flags', () => writeFlags(reply, flags)],
      parts && ['arguments', () => writeArguments(reply, parts)],
    ])
  }
}

const list: Handler = ({ reply, server }, request) => {
  let wanted: (command: Command) => boolean = () => true
  if (request.count === 5 && request.text(2).toLowerCase() === 'filterby') {
    const filter = commandFilter(request.text(3), request.text(4))
    if (!filter) {
      reply.error(SYNTAX_ERROR)
      return
    }
    wanted = filter
  } else if (request.count !== 2) {
    reply.error(SYNTAX_ERROR)
    return
  }
  const names: string[] = []
  for (const each of server.table.all()) if (wanted(each)) names.push(each.spec.name)
  writeBulks(reply, names)
}

function commandFilter(by: string, value: string): ((command: Command) => boolean) | undefined {
  switch (by.toLowerCase()) {
    case 'module':
      return () => false
    case 'aclcat': {
      const category = value.toLowerCase()
      return ({ spec }) => isCategory(category) && spec.categories.includes(category)
    }
    case 'pattern': {
      const glob = compileGlob(value, { ignoreCase: true })
      return ({ spec }) => glob.matches(spec.name)
    }
    default:
      return undefined
  }
}

/** COMMAND GETKEYS; with flags, COMMAND GETKEYSANDFLAGS. */
function findKeys({ reply, server }: CommandContext, request: Request, withFlags: boolean): void {
  const command = server.table.find(request, 2)
  if (!command) {
    reply.error('ERR Invalid command specified')
    return
  }
  const inner = new InnerRequest(request, 2)
  const { keys } = command.spec
  if (!keys) {
    reply.error('ERR The command has no key arguments')
  } else if (!command.accepts(inner.count)) {
    reply.error('ERR Invalid number of arguments specified for command')
  } else {
    const end = keys.last < 0 ? inner.count + keys.last : keys.last
    const found: Buffer[] = []
    for (let i = keys.first; i <= end; i += keys.step) found.push(inner.bytes(i))
    reply.array(found.length)
    for (const key of found) {
      if (withFlags) reply.array(2)
      reply.bulk(key)
      if (!withFlags) continue
      reply.set(1)
      reply.simple(KEY_FLAG)
    }
  }
}

const COMMON = {
  flags: ['loading', 'stale'],
  categories: ['slow', 'connection'],
  group: 'server',
  complexity: 'O(N) with N commands.',
} as const satisfies Partial<CommandData>

/** COMMAND and its subcommands. */
export const command: CommandData = {
  ...COMMON,
  arity: -1,
  since: '2.8.13',
  syntax: '[<subcommand> [<arg> ...]]',
  summary: 'Describes all commands.',
  tips: ['nondeterministic_output_order'],
  handler: all,
  subcommands: {
    count: {
      ...COMMON,
      arity: 2,
      since: '2.8.13',
      summary: 'Counts the commands.',
      handler: ({ reply, server }) => reply.integer(server.table.size),
    },
    docs: {
      ...COMMON,
      arity: -2,
      since: '7.0.0',
      syntax: '[<command-name> ...]',
      arguments: [arg.string('command-name', { optional: true, multiple: true })],
      summary: 'Says what commands are for.',
      help: ['Says what commands are for, all or those named.'],
      tips: ['nondeterministic_output_order'],
      handler: docs,
    },
    getkeys: {
      ...COMMON,
      arity: -3,
      since: '2.8.13',
      syntax: '<full-command>',
      arguments: [arg.string('command'), arg.string('arg', { optional: true, multiple: true })],
      summary: 'Finds the keys in a command.',
      handler: (context, request) => findKeys(context, request, false),
    },
    getkeysandflags: {
      ...COMMON,
      arity: -3,
      since: '7.0.0',
      syntax: '<full-command>',
      arguments: [arg.string('command'), arg.string('arg', { optional: true, multiple: true })],
      summary: 'Finds the keys, and their use.',
      help: ['Finds the keys in a command, and what it does with them.'],
      handler: (context, request) => findKeys(context, request, true),
    },
    info: {
      ...COMMON,
      arity: -2,
      since: '2.8.13',
      syntax: '[<command-name> ...]',
      arguments: [arg.string('command-name', { optional: true, multiple: true })],
      history: [['7.0.0', 'All commands, if none is named.']],
      summary: 'Describes commands.',
      help: ['Describes commands, all or those named.'],
      tips: ['nondeterministic_output_order'],
      handler: info,
    },
    list: {
      ...COMMON,
      arity: -2,
      since: '7.0.0',
      syntax: '[FILTERBY (MODULE <module-name>|ACLCAT <category>|PATTERN <pattern>)]',
      arguments: [
        arg.oneOf(
          'filterby',
          [
            arg.string('module-name', { token: 'MODULE' }),
            arg.string('category', { token: 'ACLCAT' }),
            arg.pattern('pattern', { token: 'PATTERN' }),
          ],
          { token: 'FILTERBY', optional: true },
        ),
      ],
      summary: 'Lists the names of commands.',
      tips: ['nondeterministic_output_order'],
      handler: list,
    },
    help: { ...helpOf('command', '5.0.0'), categories: ['slow', 'connection'] },
  },
}
