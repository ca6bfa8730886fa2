import type { Command } from './table.ts'
import type { CommandData, Handler } from './spec.ts'

/** Common fields of the administrators' commands in the group `server`. */
export const ADMIN = {
  flags: ['admin', 'noscript', 'loading', 'stale'],
  categories: ['admin', 'slow', 'dangerous'],
  group: 'server',
} as const satisfies Partial<CommandData>

/** Fields of a container that does nothing by itself. */
export const CONTAINER = {
  arity: -2,
  flags: [],
  categories: ['slow'],
  syntax: '<subcommand> [<arg> ...]',
} as const satisfies Partial<CommandData>

/**
 * The HELP subcommand of a container.
 *
 * @param order Names of the subcommands in the order of HELP, where it is not that of the container.
 */
export function helpOf(container: string, since: string, order?: readonly string[]) {
  return {
    arity: 2,
    flags: ['loading', 'stale'],
    categories: ['slow'],
    group: 'server',
    since,
    summary: `Says what the subcommands of ${container.toUpperCase()} do.`,
    complexity: 'O(1)',
    help: [],
    handler: writeHelp(order),
  } as const satisfies CommandData
}

/** Answers HELP in Redis' layout: a heading, the usage of each subcommand with indented lines about it, and HELP itself. */
function writeHelp(order: readonly string[] | undefined): Handler {
  return ({ reply, server }, request) => {
    const container = server.table.find(request)?.container
    if (!container) return
    const names = order ?? [...container.subcommands.keys()]
    const lines = container.spec.handler
      ? ['(no subcommand)', indented(container.spec.summary)]
      : []
    for (const name of names) lines.push(...linesOf(name, container.subcommands.get(name)))
    reply.array(lines.length + 3)
    reply.simple(
      `${request.text(0).toUpperCase()} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:`,
    )
    for (const line of lines) reply.simple(line)
    reply.simple('HELP')
    reply.simple(indented('Print this help.'))
  }
}

function linesOf(name: string, command: Command | undefined): string[] {
  if (!command) return []
  const { syntax = '', summary, help = [summary] } = command.spec
  if (help.length === 0) return []
  const forms = typeof syntax === 'string' ? [[syntax, ...help]] : syntax
  return forms.flatMap(([usage, ...about]) => [
    `${name.toUpperCase()} ${usage}`.trimEnd(),
    ...about.map(indented),
  ])
}

function indented(line: string): string {
  return `    ${line}`
}
