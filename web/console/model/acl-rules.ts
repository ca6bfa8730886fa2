import { utf8Text } from '../../../shared/bytes.ts'
import { strictText } from './reply.ts'

/** What an ACL user is for, which its name says. */
export type UserKind = 'user' | 'role' | 'ceiling'

/** A user as ACL LIST tells of it. */
export interface AclUser {
  readonly name: string
  readonly kind: UserKind
  readonly enabled: boolean
  /** As ACL SETUSER takes them; a selector is one rule. */
  readonly rules: readonly string[]
  /** Some byte of the line is not UTF-8: a page that edits texts would change it. */
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

/** What a user of that name is for (docs/tokens.md). */
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
  // A selector that does not end is left to the server to refuse.
  if (selector) rules.push(selector.join(' '))
  return rules
}

/**
 * The rules of a user that RESPCAST CHECK can try. It takes them for those of a role, which cannot have a password; of anybody
 * else those about passwords are left out.
 */
export function checkableRules(name: string, rules: readonly string[]): readonly string[] {
  if (userKind(name) === 'role') return rules
  return rules.filter((rule) => !/^([><#!].*|(no|reset)pass)$/i.test(rule))
}

/** What a change of rules adds and takes away. */
export interface RuleChange {
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

/** Compares rules as sets: what stands in both in another order is no change that a reader has to see. */
export function compareRules(before: readonly string[], after: readonly string[]): RuleChange {
  return {
    added: after.filter((rule) => !before.includes(rule)),
    removed: before.filter((rule) => !after.includes(rule)),
  }
}

/** One alternative of what a user may do: the root permissions, or a selector. */
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
