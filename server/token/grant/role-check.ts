import type { CommandCatalog } from '../../acl/catalog.ts'
import { describeUser } from '../../acl/describe.ts'
import { applyRules, newUser, setUserErrorText, type RuleOptions } from '../../acl/rules.ts'
import type { Selector, User } from '../../acl/user.ts'
import { fixedText, parseRolePattern } from './placeholders.ts'
import { CHANNEL_COMMANDS, CommandSets, hasCommand } from './token-commands.ts'

/** The name under which rules are tried: that of a role, so that placeholders are checked. */
const TRIED = 'role:'

/** The answer of RESPCAST CHECK: the rules as they would be stored with warnings about them, or the error. */
type CheckedRules =
  | {
      /** As a line of ACL LIST, from the flags on. */
      readonly rules: string
      /** One sentence each. */
      readonly warnings: readonly string[]
    }
  /** The text after `ERR ` with which ACL SETUSER would refuse them. */
  | { readonly error: string }

/**
 * Checks the rules of a role without storing them (RESPCAST CHECK).
 *
 * @param rules As ACL SETUSER takes them, byte strings.
 */
export function checkRoleRules(
  catalog: CommandCatalog,
  rules: readonly string[],
  options: RuleOptions,
): CheckedRules {
  const applied = applyRules(catalog, newUser(catalog, TRIED, options), rules, options)
  if ('error' in applied) return { error: setUserErrorText(applied) }
  return {
    rules: describeUser(applied.user).slice(`user ${TRIED} `.length),
    warnings: warningsOf(catalog, applied.user),
  }
}

function warningsOf(catalog: CommandCatalog, user: User): string[] {
  const commands = new CommandSets(catalog)
  const warnings: string[] = []
  if (user.selectors.every((selector) => commands.restrict(selector).length === 0)) {
    warnings.push(`grants nothing to tokens: none of ${CHANNEL_COMMANDS.join(', ')} is allowed`)
  }
  for (const [at, selector] of user.selectors.entries()) {
    const where = at === 0 ? 'the root permissions' : `selector ${at}`
    const granted = commands.restrict(selector)
    const hasChannels = selector.allChannels || selector.channels.length > 0
    if (granted.length > 0 && !hasChannels) warnings.push(`${where}: commands without a channel`)
    if (granted.length === 0 && selector.channels.length > 0) {
      warnings.push(`${where}: channels without a command that tokens can hold`)
    }
    if (granted.length > 0 && selector.allChannels) warnings.push(`${where}: every channel`)
    if (hasForeignCommand(catalog, selector)) {
      warnings.push(`${where}: has commands that tokens cannot hold; they are ignored`)
    }
    for (const { pattern } of selector.channels) {
      const parsed = parseRolePattern(pattern)
      if (typeof parsed === 'string' || fixedText(parsed) !== undefined) continue
      if (typeof parsed[0] !== 'string') {
        warnings.push(
          `${where}: &${pattern} begins with a placeholder, so that a token chooses the name space`,
        )
      }
    }
  }
  return warnings
}

function hasForeignCommand(catalog: CommandCatalog, selector: Selector): boolean {
  return catalog.all.some(
    ({ id, name }) => !CHANNEL_COMMANDS.includes(name) && hasCommand(selector, id),
  )
}
