import type { CommandSpec, Handler } from './spec.ts'

/** Makes one subcommand; the name is that behind the bar. */
export type SubcommandMaker = (
  name: string,
  arity: number,
  since: string,
  summary: string,
  handler: Handler,
) => CommandSpec

/** What the subcommands of one container have in common. */
export type SharedSpec = Pick<CommandSpec, 'flags' | 'categories' | 'group' | 'complexity'>

/**
 * Makes subcommands of a container that differ in nothing but what the maker is given.
 *
 * @param container Its name in lower case, such as `acl`.
 */
export function subcommandsOf(container: string, shared: SharedSpec): SubcommandMaker {
  return (name, arity, since, summary, handler) => ({
    ...shared,
    name: `${container}|${name}`,
    arity,
    since,
    summary,
    handler,
  })
}
