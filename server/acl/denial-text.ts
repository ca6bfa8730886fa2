import type { Denial } from './check.ts'
import type { User } from './user.ts'

/** The error line, with its prefix and without `-`, for a command that a user may not run. */
export function denialText(user: User, denial: Denial): string {
  switch (denial.reason) {
    case 'command':
      return `NOPERM User ${user.name} has no permissions to run the '${denial.object}' command`
    case 'key':
      return 'NOPERM No permissions to access a key'
    case 'channel':
      return 'NOPERM No permissions to access a channel'
  }
}

/** What ACL DRYRUN answers, as a bulk string, for a command that a user may not run. */
export function dryRunText(user: User, denial: Denial): string {
  const denied = `User ${user.name} has no permissions to`
  switch (denial.reason) {
    case 'command':
      return `${denied} run the '${denial.object}' command`
    case 'key':
      return `${denied} access the '${denial.object}' key`
    case 'channel':
      return `${denied} access the '${denial.object}' channel`
  }
}

const EXEC_REASONS = {
  command: 'no permission to execute the command or subcommand',
  key: 'no permission to touch the specified keys',
  channel: 'no permission to access one of the channels used as arguments',
} as const

/** The error line, with its prefix and without `-`, in EXEC's slot of a command that was allowed when it was queued. */
export function execDenialText(denial: Denial): string {
  return (
    'NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. ' +
    `This command is no longer allowed for the following reason: ${EXEC_REASONS[denial.reason]}`
  )
}
