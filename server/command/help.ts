import type { Category } from '../acl/categories.ts'
import type { CommandGroup, CommandSpec } from './spec.ts'

/**
 * The HELP subcommand of a container, laid out as Redis lays it out: a heading, for each subcommand its usage and
 * indented lines about it, and HELP itself at the end; all as simple strings.
 *
 * @param entries Usage and description of each subcommand; a description may have several lines.
 */
export function helpSpec(
  container: string,
  group: CommandGroup,
  since: string,
  categories: readonly Category[],
  entries: readonly (readonly [usage: string, ...description: string[]])[],
): CommandSpec {
  const lines = entries.flatMap(([usage, ...description]) => [
    usage,
    ...description.map((line) => `    ${line}`),
  ])
  return {
    name: `${container}|help`,
    arity: 2,
    flags: ['loading', 'stale'],
    categories,
    group,
    since,
    summary: `Says what the subcommands of ${container.toUpperCase()} do.`,
    complexity: 'O(1)',
    handler: ({ reply }, request) => {
      const name = request.text(0).toUpperCase()
      reply.array(lines.length + 3)
      reply.simple(`${name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:`)
      for (const line of lines) reply.simple(line)
      reply.simple('HELP')
      reply.simple('    Print this help.')
    },
  }
}
