/** What can be wrong with one rule, in the words of Redis' `ACL SETUSER`. */
export const RULE_ERRORS = {
  syntax: 'Syntax error',
  unknownCommand: 'Unknown command or category name in ACL',
  keysExist:
    "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. " +
    "Try 'resetkeys' to start with an empty list of patterns",
  channelsExist:
    "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. " +
    "Try 'resetchannels' to start with an empty list of channels",
  noSuchPassword: 'The password you are trying to remove from the user does not exist',
  badHash:
    'The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters',
  firstArgument: 'Allowing first-arg of a subcommand is not supported',
  databaseRange: 'The provided database ID is out of range',
  tokenPassword: 'A token logs in as this user, which cannot have a password',
  rolePassword: 'Nobody logs in as a role, which cannot have a password',
} as const

/** Text for a user's name that has white space or NUL in it. */
export const BAD_USER_NAME = "Usernames can't contain spaces or null characters"

/** A rule that was refused. */
export interface RuleError {
  /** What is wrong: one of {@link RULE_ERRORS}, a role validator's text, or that a parenthesis is unmatched. */
  readonly error: string
  /** The rule at fault; for a rule inside a selector the whole parenthesised text. */
  readonly rule: string
  /** The rule is a `(` that no later rule closes. */
  readonly unmatched: boolean
}

/** The text after `-ERR ` with which ACL SETUSER refuses a rule. */
export function setUserErrorText({ error, rule, unmatched }: RuleError): string {
  const shown = printable(rule)
  return unmatched
    ? `Unmatched parenthesis in acl selector starting at '${shown}'.`
    : `Error in ACL SETUSER modifier '${shown}': ${error}`
}

/** A byte string as Redis puts it in a one-line error: up to the first NUL, line ends as blanks. */
export function printable(text: string): string {
  const end = text.indexOf('\0')
  return (end < 0 ? text : text.slice(0, end)).replace(/[\r\n]/g, ' ')
}
