import { quoteText } from '../../shared/words.ts'
import type { KeyRule, Selector, User } from './user.ts'

/**
 * A user as one line of ACL LIST, ACL SAVE and CONFIG REWRITE, from which the same user can be read:
 * `user <name> <flags> <#hash...> <keys> <channels> <commands>[ (<selector>)...]`.
 *
 * @returns A byte string without a line end.
 */
export function describeUser(user: User): string {
  const parts = ['user', user.name, ...describeFlags(user)]
  for (const hash of user.passwords) parts.push(`#${hash}`)
  const [root, ...others] = user.selectors
  parts.push(describeSelector(root))
  for (const other of others) parts.push(`(${describeInParentheses(other)})`)
  return parts.join(' ')
}

/** The flags of a user as ACL GETUSER and ACL LIST show them: `on` or `off`, then `nopass`. */
export function describeFlags(user: User): string[] {
  const flags = [user.enabled ? 'on' : 'off']
  if (user.noPassword) flags.push('nopass')
  return flags
}

/** Rules between parentheses are read with quotes, and a word that ends with `)` would end them: such rules are quoted. */
function describeInParentheses(selector: Selector): string {
  const rules = describeSelector(selector).split(' ')
  return rules.map((rule) => (/["']|\)$/.test(rule) ? quoteText(rule) : rule)).join(' ')
}

/** A selector's keys, channels and commands in ACL text, with `resetchannels` before a list of channels. */
function describeSelector(selector: Selector): string {
  const parts: string[] = []
  if (selector.allKeys || selector.keys.length > 0) parts.push(describeKeys(selector))
  if (!selector.allChannels) parts.push('resetchannels')
  if (selector.allChannels || selector.channels.length > 0) parts.push(describeChannels(selector))
  parts.push(describeCommands(selector))
  return parts.join(' ')
}

/** The field `commands` of ACL GETUSER: `+@all` or `-@all`, then the rules remembered in the order given. */
export function describeCommands(selector: Selector): string {
  return [selector.allCommands ? '+@all' : '-@all', ...selector.commandRules].join(' ')
}

/** The field `keys` of ACL GETUSER: `~*`, or the patterns in the order given, or nothing. */
export function describeKeys(selector: Selector): string {
  return selector.allKeys ? '~*' : selector.keys.map(describeKey).join(' ')
}

/** The field `channels` of ACL GETUSER: `&*`, or the patterns in the order given, or nothing. */
export function describeChannels(selector: Selector): string {
  return selector.allChannels
    ? '&*'
    : selector.channels.map((channel) => `&${channel.pattern}`).join(' ')
}

function describeKey({ pattern, read, write }: KeyRule): string {
  // `~*` would be read back as all keys, after which no further pattern is accepted.
  if (read && write) return pattern === '*' ? '%RW~*' : `~${pattern}`
  return read ? `%R~${pattern}` : `%W~${pattern}`
}
