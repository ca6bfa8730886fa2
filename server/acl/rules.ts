import type { CommandCatalog } from './catalog.ts'
import { asciiLower } from './command-rules.ts'
import { isRoleName, isTokenUserName } from './names.ts'
import { hashPassword, isPasswordHash } from './password.ts'
import { RULE_ERRORS } from './rule-errors.ts'
import type { RuleError } from './rule-errors.ts'
import { SelectorDraft } from './selector-draft.ts'
import type { PubsubDefault, RuleOptions } from './selector-draft.ts'
import type { User } from './user.ts'

/**
 * A user that ACL SETUSER has just made: off, no password, no command, no key, and the channels of
 * `acl-pubsub-default`.
 */
export function newUser(
  catalog: CommandCatalog,
  name: string,
  options: { readonly pubsubDefault: PubsubDefault },
): User {
  return {
    name,
    enabled: false,
    noPassword: false,
    passwords: [],
    selectors: [new SelectorDraft(catalog, options, false).finish()],
  }
}

/** The user `default` as it is before anybody changes it: `on nopass ~* &* +@all`. */
export function defaultUser(catalog: CommandCatalog): User {
  const user = unrestrictedUser(catalog, 'default')
  return { ...user, noPassword: true }
}

/** `on ~* &* +@all` without a password: what a ceiling starts from, so that it bounds nothing yet. */
export function unrestrictedUser(catalog: CommandCatalog, name: string): User {
  const root = new SelectorDraft(catalog, { pubsubDefault: 'allchannels' }, false)
  root.apply('allkeys')
  root.apply('allcommands')
  return { name, enabled: true, noPassword: false, passwords: [], selectors: [root.finish()] }
}

/**
 * Applies rules, in order, to a copy of `user` (ACL SETUSER): all of them, or at the first error none.
 *
 * @param rules Byte strings; a selector may be spread over several, see {@link joinSelectors}.
 */
export function applyRules(
  catalog: CommandCatalog,
  user: User,
  rules: readonly string[],
  options: RuleOptions,
): { readonly user: User } | RuleError {
  const joined = joinSelectors(rules)
  if ('unmatched' in joined) return joined
  const draft = new UserDraft(catalog, user, options)
  for (const rule of joined.rules) {
    const error = draft.apply(rule)
    if (error !== undefined) return { error, rule, unmatched: false }
  }
  return { user: draft.finish() }
}

/**
 * Joins selectors that stand in several arguments: one that starts with `(` and does not end with `)` goes on,
 * with single blanks, up to the next that ends with `)`.
 */
export function joinSelectors(
  rules: readonly string[],
): { readonly rules: readonly string[] } | RuleError {
  const joined: string[] = []
  let open: string[] | undefined
  for (const rule of rules) {
    if (open) {
      open.push(rule)
      if (!rule.endsWith(')')) continue
      joined.push(open.join(' '))
      open = undefined
    } else if (rule.startsWith('(') && !rule.endsWith(')')) {
      open = [rule]
    } else {
      joined.push(rule)
    }
  }
  const start = open?.[0]
  if (start === undefined) return { rules: joined }
  return { error: 'Unmatched parenthesis', rule: start, unmatched: true }
}

/** A user while it is being changed. Rules that fail leave it as it was. */
export class UserDraft {
  readonly #catalog: CommandCatalog
  readonly #options: RuleOptions
  readonly #name: string
  readonly #isRole: boolean
  #enabled: boolean
  #noPassword: boolean
  #passwords: string[]
  readonly #root: SelectorDraft
  #others: SelectorDraft[]

  constructor(catalog: CommandCatalog, user: User, options: RuleOptions) {
    this.#catalog = catalog
    this.#options = options
    this.#name = user.name
    this.#isRole = isRoleName(user.name)
    this.#enabled = user.enabled
    this.#noPassword = user.noPassword
    this.#passwords = [...user.passwords]
    const [root, ...others] = user.selectors.map(
      (selector) => new SelectorDraft(catalog, options, this.#isRole, selector),
    )
    this.#root = root ?? new SelectorDraft(catalog, options, this.#isRole)
    this.#others = others
  }

  /**
   * Applies one rule, a selector being one rule in parentheses. The empty rule does nothing.
   *
   * @returns What is wrong with the rule, or undefined.
   */
  apply(rule: string): string | undefined {
    const word = asciiLower(rule)
    switch (word) {
      case '':
      case 'sanitize-payload':
      case 'skip-sanitize-payload':
        return undefined
      case 'on':
      case 'off':
        this.#enabled = word === 'on'
        return undefined
      case 'nopass':
        return this.#setNoPassword()
      case 'resetpass':
        this.#noPassword = false
        this.#passwords = []
        return undefined
      case 'clearselectors':
        this.#others = []
        return undefined
      case 'reset':
        this.#reset()
        return undefined
      default:
        if (/^[>#<!]/.test(rule)) return this.#applyPassword(rule)
        if (rule.startsWith('(') && rule.endsWith(')')) return this.#addSelector(rule.slice(1, -1))
        return this.#root.apply(rule)
    }
  }

  /** Ends the draft, which must not be changed any more. */
  finish(): User {
    return {
      name: this.#name,
      enabled: this.#enabled,
      noPassword: this.#noPassword,
      passwords: this.#passwords,
      selectors: [this.#root, ...this.#others].map((selector) => selector.finish()),
    }
  }

  #reset(): void {
    this.#enabled = false
    this.#noPassword = false
    this.#passwords = []
    this.#root.reset()
    this.#others = []
  }

  #passwordError(): string | undefined {
    if (isTokenUserName(this.#name)) return RULE_ERRORS.tokenPassword
    return this.#isRole ? RULE_ERRORS.rolePassword : undefined
  }

  #setNoPassword(): string | undefined {
    const refused = this.#passwordError()
    if (refused !== undefined) return refused
    this.#noPassword = true
    this.#passwords = []
    return undefined
  }

  #applyPassword(rule: string): string | undefined {
    const refused = this.#passwordError()
    if (refused !== undefined) return refused
    const kind = rule.charAt(0)
    const operand = rule.slice(1)
    const isHash = kind === '#' || kind === '!'
    if (isHash && !isPasswordHash(operand)) return RULE_ERRORS.badHash
    const hash = isHash ? operand : hashPassword(operand)
    const isKnown = this.#passwords.includes(hash)

    if (kind === '>' || kind === '#') {
      if (!isKnown) this.#passwords.push(hash)
      this.#noPassword = false
      return undefined
    }
    if (!isKnown) return RULE_ERRORS.noSuchPassword
    this.#passwords = this.#passwords.filter((password) => password !== hash)
    return undefined
  }

  /**
   * Adds a selector from the rules between its parentheses, which blanks part.
   *
   * Quotes are bytes like others. A rule that ends with `)` is refused: printed in a selector and read again, it
   * would close it.
   */
  #addSelector(inner: string): string | undefined {
    const selector = new SelectorDraft(this.#catalog, this.#options, this.#isRole)
    for (const rule of inner.split(/[\t-\r ]+/)) {
      if (rule === '') continue
      const error = rule.endsWith(')') ? RULE_ERRORS.syntax : selector.apply(rule)
      if (error !== undefined) return error
    }
    this.#others.push(selector)
    return undefined
  }
}
