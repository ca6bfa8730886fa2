import type { CommandArgument } from '../../../shared/resp/command.ts'

/** A command: its name first. */
export type Command = readonly [name: string, ...args: CommandArgument[]]
