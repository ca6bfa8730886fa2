import * as arg from '../argument.ts'
import { mayHoldSecret } from '../../config/directives.ts'
import type { Request } from '../../resp/request.ts'
import { textsFrom } from '../arguments.ts'
import { ADMIN, CONTAINER, helpOf } from '../container.ts'
import type { CommandContext } from '../context.ts'
import { SYNTAX_ERROR } from '../error-texts.ts'
import { writeFields } from '../replies.ts'
import type { CommandData, Completion } from '../spec.ts'

function get({ reply, server }: CommandContext, request: Request): void {
  writeFields(reply, server.config.get(textsFrom(request, 2)))
}

function set({ reply, server }: CommandContext, request: Request): void {
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

function resetStat({ reply, server }: CommandContext): void {
  server.counters.reset()
  server.load.reset()
  for (const command of server.table.all()) command.resetStatistics()
  reply.ok()
}

function rewrite({ server }: CommandContext): Promise<Completion> {
  return server.configFile.rewrite().then((error) => ({ reply }) => {
    if (error === undefined) reply.ok()
    else reply.error(`ERR ${error}`)
  })
}

/**
 * CONFIG SET name value ...: the value of a directive that may hold a secret, and of a name that is no directive, which may
 * be a slip. Of arguments that are no pairs nothing is shown but the first name.
 */
function isSecretValue(request: Request, index: number): boolean {
  if (index < 3) return false
  if (request.count % 2 !== 0) return true
  return index % 2 === 1 && mayHoldSecret(request.text(index - 1))
}

const COMMON = {
  ...ADMIN,
  since: '2.0.0',
  complexity: 'O(1)',
} as const satisfies Partial<CommandData>

/** CONFIG and its subcommands. */
export const config: CommandData = {
  ...CONTAINER,
  group: 'server',
  since: '2.0.0',
  summary: 'Container of the commands about directives.',
  subcommands: {
    get: {
      ...COMMON,
      arity: -3,
      syntax: '<pattern>',
      arguments: [arg.string('parameter', { multiple: true })],
      history: [['7.0.0', 'Several patterns in one call.']],
      summary: 'Answers directives and their values.',
      help: ['Answers the directives that match and their values.'],
      handler: get,
    },
    set: {
      ...COMMON,
      arity: -4,
      syntax: '<directive> <value>',
      arguments: [
        arg.block('data', [arg.string('parameter'), arg.string('value')], { multiple: true }),
      ],
      history: [['7.0.0', 'Several directives in one call.']],
      summary: 'Changes directives, all of them or none.',
      help: ['Changes a directive.'],
      tips: ['request_policy:all_nodes', 'response_policy:all_succeeded'],
      secret: isSecretValue,
      handler: set,
    },
    resetstat: {
      ...COMMON,
      arity: 2,
      summary: 'Sets what INFO counts to zero.',
      tips: ['request_policy:all_nodes', 'response_policy:all_succeeded'],
      handler: resetStat,
    },
    rewrite: {
      ...COMMON,
      arity: 2,
      since: '2.8.0',
      summary: 'Writes the configuration file.',
      awaitsDisk: true,
      tips: ['request_policy:all_nodes', 'response_policy:all_succeeded'],
      handler: rewrite,
    },
    help: helpOf('config', '5.0.0'),
  },
}
