import { utf8Text } from '../../../shared/bytes.ts'
import { strictText } from './reply.ts'

/** Purpose of an ACL user, derived from its name. */
type UserKind = 'user' | 'role' | 'ceiling'

/** A user of ACL LIST. */
export interface AclUser {
  readonly name: string
  readonly kind: UserKind
  readonly enabled: boolean
  /** As ACL SETUSER takes them; a selector is one rule. */
  readonly rules: readonly string[]
  /** The line is not valid UTF-8: editing it as text would change it. */
  readonly isBinary: boolean
}

/** Reads one line of ACL LIST: `user <name> <rule> ...`. */
export function parseAclLine(line: Uint8Array): AclUser {
  const [, name = '', ...rules] = splitRules(utf8Text(line))
  return {
    name,
    kind: userKind(name),
    enabled: rules.includes('on'),
    rules,
    isBinary: strictText(line) === undefined,
  }
}

/** Purpose of a user of that name (docs/tokens.md). */
export function userKind(name: string): UserKind {
  if (name.startsWith('role:')) return 'role'
  return name.startsWith('jwt:') || name.startsWith('jwt@') ? 'ceiling' : 'user'
}

/**
 * Splits the text of rules at white space and line ends. A selector, from a `(` that begins a rule to the `)` that ends one, stays
 * whole.
 */
export function splitRules(text: string): string[] {
  const rules: string[] = []
  let selector: string[] | undefined
  for (const word of text.split(/\s+/)) {
    if (word === '') continue
    if (selector) selector.push(word)
    else if (word.startsWith('(')) selector = [word]
    else rules.push(word)
    if (selector && word.endsWith(')')) {
      rules.push(selector.join(' '))
      selector = undefined
    }
  }
  // The server refuses a selector that is not closed.
  if (selector) rules.push(selector.join(' '))
  return rules
}

/**
 * The rules of a user that RESPCAST CHECK can check. It treats them as those of a role, which has no password, so password rules
 * of other users are left out.
 */
export function checkableRules(name: string, rules: readonly string[]): readonly string[] {
  if (userKind(name) === 'role') return rules
  return rules.filter((rule) => !/^([><#!].*|(no|reset)pass)$/i.test(rule))
}

/** The rules that a change adds and removes. */
export interface RuleChange {
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

/** Compares rules as sets: another order is no change. */
export function compareRules(before: readonly string[], after: readonly string[]): RuleChange {
  return {
    added: after.filter((rule) => !before.includes(rule)),
    removed: before.filter((rule) => !after.includes(rule)),
  }
}

/** One alternative of the permissions of a user: the root permissions, or a selector. */
export interface Alternative {
  readonly commands: readonly string[]
  readonly channels: readonly string[]
}

/** Splits rules into alternatives, each with its commands and its channels. */
export function alternativesOf(rules: readonly string[]): readonly Alternative[] {
  const selectors = rules.filter((rule) => rule.startsWith('('))
  const root = rules.filter((rule) => !rule.startsWith('('))
  const all = [root, ...selectors.map((rule) => splitRules(rule.slice(1, -1)))]
  return all
    .map((words) => ({
      commands: words.filter((word) => /^[+-]|^(all|no)commands$/.test(word)),
      channels: words.filter((word) => word.startsWith('&') || word === 'allchannels'),
    }))
    .filter(({ commands, channels }) => channels.length > 0 || commands.some(isGrant))
}

function isGrant(rule: string): boolean {
  return rule.startsWith('+') || rule === 'allcommands'
}
