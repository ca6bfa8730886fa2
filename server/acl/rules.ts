import { compileGlob } from '../../shared/glob.ts'
import { splitWords } from '../../shared/words.ts'
import type { CatalogEntry, CommandCatalog } from './catalog.ts'
import { isCategory } from './categories.ts'
import { hashPassword, isPasswordHash } from './password.ts'
import {
  hasSpaceOrNul,
  isRoleName,
  isTokenUserName,
  type ChannelRule,
  type KeyRule,
  type Selector,
  type User,
} from './user.ts'

/** The channels of a new user or selector: the directive `acl-pubsub-default`. */
export type PubsubDefault = 'allchannels' | 'resetchannels'

/** The settings under which rules are applied, beside the catalog. */
export interface RuleOptions {
  readonly pubsubDefault: PubsubDefault
  /** Bound of the ids in `db=`, the directive `databases`; 16 if absent. */
  readonly databases?: number
  /**
   * Checks the channel patterns of users named `role:…`, which hold placeholders. Takes a byte string without the `&`;
   * returns the text of the error, or undefined.
   */
  readonly checkRolePattern?: (pattern: string) => string | undefined
}

/** The errors of one rule, in the words of Redis' `ACL SETUSER`. */
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

/** The error for a user's name with white space or NUL in it. */
export const BAD_USER_NAME = "Usernames can't contain spaces or null characters"

/** A rule that was refused. */
interface RuleError {
  /** One of {@link RULE_ERRORS}, a role validator's text, or that a parenthesis is unmatched. */
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

/** A byte string as Redis puts it in a one-line error: up to the first NUL, with spaces for line ends. */
export function printable(text: string): string {
  const end = text.indexOf('\0')
  return (end < 0 ? text : text.slice(0, end)).replace(/[\r\n]/g, ' ')
}

/** A new user of ACL SETUSER: off, no password, no command, no key, and the channels of `acl-pubsub-default`. */
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

/** The built-in user `default`: `on nopass ~* &* +@all`. */
export function defaultUser(catalog: CommandCatalog): User {
  const user = unrestrictedUser(catalog, 'default')
  return { ...user, noPassword: true }
}

/** `on ~* &* +@all` without a password: a new ceiling, which bounds nothing yet. */
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
 * Joins selectors that are spread over several arguments: one that starts with `(` and does not end with `)` goes on
 * up to the next that ends with `)`, joined by single spaces.
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
    const draftOf = (selector: Selector): SelectorDraft =>
      new SelectorDraft(catalog, options, this.#isRole, selector)
    const [root, ...others] = user.selectors
    this.#root = draftOf(root)
    this.#others = others.map(draftOf)
  }

  /**
   * Applies one rule, a selector being one rule in parentheses. The empty rule does nothing.
   *
   * @returns The error, or undefined.
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
      selectors: [this.#root.finish(), ...this.#others.map((selector) => selector.finish())],
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
   * Adds a selector from the rules between its parentheses, which are split like the words of an inline command: quotes and
   * escapes count. Redis makes an empty selector of quotes that do not end; here they are an error.
   */
  #addSelector(inner: string): string | undefined {
    const selector = new SelectorDraft(this.#catalog, this.#options, this.#isRole)
    const rules = inner.includes('\0') ? undefined : splitWords(inner)
    if (rules === undefined) return RULE_ERRORS.syntax
    for (const rule of rules) {
      const error = rule === '' ? RULE_ERRORS.syntax : selector.apply(rule)
      if (error !== undefined) return error
    }
    this.#others.push(selector)
    return undefined
  }
}

/** A selector while it is being changed. */
class SelectorDraft {
  readonly #options: RuleOptions
  readonly #commands: CommandRules
  readonly #checkPattern: ((pattern: string) => string | undefined) | undefined
  #allKeys = false
  #keys: KeyRule[] = []
  #allChannels: boolean
  #channels: ChannelRule[] = []

  /**
   * @param base The selector to start from; without one, a new selector with the channels of `acl-pubsub-default`.
   * @param isRole The user's channel patterns hold placeholders.
   */
  constructor(catalog: CommandCatalog, options: RuleOptions, isRole: boolean, base?: Selector) {
    this.#options = options
    this.#checkPattern = isRole ? options.checkRolePattern : undefined
    this.#allChannels = options.pubsubDefault === 'allchannels'
    this.#commands = base ? CommandRules.of(catalog, base) : new CommandRules(catalog)
    if (!base) return
    this.#allKeys = base.allKeys
    this.#keys = [...base.keys]
    this.#allChannels = base.allChannels
    this.#channels = [...base.channels]
  }

  /**
   * Applies one rule that is allowed in a selector.
   *
   * @param rule A byte string of at least one byte.
   * @returns The error, in which case nothing has changed; else undefined.
   */
  apply(rule: string): string | undefined {
    switch (asciiLower(rule)) {
      case 'allkeys':
      case '~*':
        this.#resetKeys(true)
        return undefined
      case 'resetkeys':
        this.#resetKeys(false)
        return undefined
      case 'allchannels':
      case '&*':
        this.#resetChannels(true)
        return undefined
      case 'resetchannels':
        this.#resetChannels(false)
        return undefined
      case 'allcommands':
      case '+@all':
        this.#commands.reset(true)
        return undefined
      case 'nocommands':
      case '-@all':
        this.#commands.reset(false)
        return undefined
      case 'alldbs':
      case 'resetdbs':
        return undefined
      default:
        return this.#applyWithOperand(rule)
    }
  }

  /** The effect of `reset` on the root selector. */
  reset(): void {
    this.#resetKeys(false)
    this.#resetChannels(this.#options.pubsubDefault === 'allchannels')
    this.#commands.reset(false)
  }

  /** Ends the draft, which must not be changed any more. */
  finish(): Selector {
    return {
      allCommands: this.#commands.allCommands,
      commandRules: this.#commands.rules,
      allowed: this.#commands.allowed,
      firstArguments: this.#commands.firstArguments,
      allKeys: this.#allKeys,
      keys: this.#keys,
      allChannels: this.#allChannels,
      channels: this.#channels,
    }
  }

  #applyWithOperand(rule: string): string | undefined {
    switch (rule.charAt(0)) {
      case '&':
        return this.#addChannel(rule.slice(1))
      case '~':
        return this.#addKey(rule.slice(1), true, true)
      case '%':
        return this.#addKeyWithAccess(rule)
      case '+':
      case '-':
        return this.#commands.apply(rule)
      default:
        return asciiLower(rule).startsWith('db=')
          ? databasesError(rule.slice(3), this.#options.databases ?? 16)
          : RULE_ERRORS.syntax
    }
  }

  #resetKeys(allKeys: boolean): void {
    this.#allKeys = allKeys
    this.#keys = []
  }

  #resetChannels(allChannels: boolean): void {
    this.#allChannels = allChannels
    this.#channels = []
  }

  #addChannel(pattern: string): string | undefined {
    if (this.#allChannels) return RULE_ERRORS.channelsExist
    if (hasSpaceOrNul(pattern)) return RULE_ERRORS.syntax
    const problem = this.#checkPattern?.(pattern)
    if (problem !== undefined) return problem
    if (!this.#channels.some((channel) => channel.pattern === pattern)) {
      this.#channels.push({ pattern, glob: compileGlob(pattern) })
    }
    return undefined
  }

  /** `%R~pattern`, `%W~pattern`, `%RW~pattern`; `%R` alone is the empty pattern. */
  #addKeyWithAccess(rule: string): string | undefined {
    if (this.#allKeys) return RULE_ERRORS.keysExist
    const access = /^%(?:(r)(w)?|(w)(r)?)(?:~|$)/i.exec(rule)
    if (!access) return RULE_ERRORS.syntax
    const read = (access[1] ?? access[4]) !== undefined
    const write = (access[2] ?? access[3]) !== undefined
    return this.#addKey(rule.slice(access[0].length), read, write)
  }

  #addKey(pattern: string, read: boolean, write: boolean): string | undefined {
    if (this.#allKeys) return RULE_ERRORS.keysExist
    if (hasSpaceOrNul(pattern)) return RULE_ERRORS.syntax
    const index = this.#keys.findIndex((key) => key.pattern === pattern)
    const known = this.#keys[index]
    if (known) {
      this.#keys[index] = { ...known, read: known.read || read, write: known.write || write }
    } else {
      this.#keys.push({ pattern, glob: compileGlob(pattern), read, write })
    }
    return undefined
  }
}

/** The commands of a selector while they are being changed. */
class CommandRules {
  readonly #catalog: CommandCatalog
  allCommands = false
  rules: string[] = []
  allowed: Uint32Array
  firstArguments = new Map<number, readonly string[]>()

  constructor(catalog: CommandCatalog) {
    this.#catalog = catalog
    this.allowed = new Uint32Array((catalog.all.length + 31) >>> 5)
  }

  /** A copy to change, of rules that were built for the same catalog. */
  static of(catalog: CommandCatalog, selector: Selector): CommandRules {
    const draft = new CommandRules(catalog)
    draft.allCommands = selector.allCommands
    draft.rules = [...selector.commandRules]
    draft.allowed = selector.allowed.slice()
    draft.firstArguments = new Map(selector.firstArguments)
    return draft
  }

  /** `+@all` (true) or `-@all` (false): all rules before it are void. */
  reset(allCommands: boolean): void {
    this.allCommands = allCommands
    this.rules = []
    this.allowed.fill(allCommands ? 0xffff_ffff : 0)
    this.firstArguments.clear()
  }

  /**
   * Applies `+command`, `-command`, `+command|argument`, `+@category` or `-@category`.
   *
   * @param rule In upper or lower case; `@all` is {@link reset}.
   * @returns The error, or undefined.
   */
  apply(rule: string): string | undefined {
    const allow = rule.startsWith('+')
    const name = asciiLower(rule.slice(1))
    if (name.startsWith('@')) return this.#applyCategory(name, allow)
    if (allow && name.includes('|')) return this.#allowAfterBar(name)

    const entry = this.#catalog.lookup(name)
    if (!entry) return RULE_ERRORS.unknownCommand
    this.#set(entry, allow)
    this.#remember(name, allow)
    return undefined
  }

  #applyCategory(name: string, allow: boolean): string | undefined {
    const category = name.slice(1)
    if (!isCategory(category)) return RULE_ERRORS.unknownCommand
    for (const entry of this.#catalog.inCategory(category)) this.#set(entry, allow)
    this.#remember(name, allow)
    return undefined
  }

  /** `+container|subcommand`, or `+command|argument` where the command has no subcommands. */
  #allowAfterBar(name: string): string | undefined {
    const bar = name.lastIndexOf('|')
    const entry = this.#catalog.lookup(name.slice(0, bar))
    const argument = name.slice(bar + 1)
    if (!entry) return RULE_ERRORS.unknownCommand
    if (entry.parent) return RULE_ERRORS.firstArgument
    // A space would make two rules of one when the user is printed and read again.
    if (argument === '' || hasSpaceOrNul(argument)) return RULE_ERRORS.syntax

    if (entry.subcommands.length > 0) {
      const subcommand = this.#catalog.lookup(name)
      if (!subcommand) return RULE_ERRORS.unknownCommand
      this.#set(subcommand, true)
    } else {
      const known = this.firstArguments.get(entry.id) ?? []
      if (!known.includes(argument)) this.firstArguments.set(entry.id, [...known, argument])
    }
    this.#remember(name, true)
    return undefined
  }

  /** Allows or denies a command with all its subcommands, and drops the rules for their first arguments. */
  #set(entry: CatalogEntry, allow: boolean): void {
    const word = entry.id >>> 5
    const bit = 1 << (entry.id & 31)
    const bits = this.allowed[word] as number
    this.allowed[word] = allow ? bits | bit : bits & ~bit
    this.firstArguments.delete(entry.id)
    for (const subcommand of entry.subcommands) this.#set(subcommand, allow)
  }

  /** Appends a rule and drops those that it makes void: the same rule, and rules for its subcommands. */
  #remember(name: string, allow: boolean): void {
    this.rules = this.rules.filter((rule) => {
      const other = rule.slice(1)
      return other !== name && !other.startsWith(`${name}|`)
    })
    this.rules.push((allow ? '+' : '-') + name)
  }
}

/** Lower-cases ASCII letters only, as C's `tolower` in the C locale; other bytes stay. */
export function asciiLower(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

/** Checks the list of Valkey's `db=0,1`, which has no effect on a server without keys. */
function databasesError(list: string, databases: number): string | undefined {
  if (!/^\d+(?:,\d+)*$/.test(list)) return RULE_ERRORS.syntax
  const inRange = list.split(',').every((id) => Number(id) < databases)
  return inRange ? undefined : RULE_ERRORS.databaseRange
}
