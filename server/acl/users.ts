import type { Settings } from '../config/settings.ts'
import type { CommandCatalog } from './catalog.ts'
import { describeUser } from './describe.ts'
import { isTokenUserName, isValidUserName, type User } from './user.ts'
import { hashPassword } from './password.ts'
import {
  BAD_USER_NAME,
  applyRules,
  defaultUser,
  newUser,
  setUserErrorText,
  unrestrictedUser,
  type RuleOptions,
} from './rules.ts'

/** The text after `-ERR ` where `default` is to be deleted. */
export const NO_DEFAULT = "The 'default' user cannot be removed"

/** One user's change: `before` is undefined for a new user, `after` for a deleted one; equal objects mean no change. */
export interface UserChange {
  readonly name: string
  readonly before: User | undefined
  readonly after: User | undefined
}

/**
 * Called with changes when they are in force, before the command is answered. It must not change users itself.
 *
 * @returns The number of sessions that were closed, or lost a subscription.
 */
type ChangeListener = (changes: readonly UserChange[]) => number

/** The result of SETUSER, or the text after `-ERR `. */
type SetUserResult =
  | { readonly before: User | undefined; readonly after: User }
  | { readonly error: string }

/**
 * The stored users: named users, roles and ceilings. `default` is always among them.
 *
 * A user is never changed but replaced, so code that keeps one asks for it again or listens to
 * {@link UserTable.onChange}.
 */
export class UserTable {
  readonly #catalog: CommandCatalog
  readonly #settings: Settings
  readonly #checkRolePattern: RuleOptions['checkRolePattern']
  #users: Map<string, User>
  #version = 0
  readonly #listeners = new Set<ChangeListener>()

  /** @param checkRolePattern See {@link RuleOptions.checkRolePattern}. */
  constructor(
    catalog: CommandCatalog,
    settings: Settings,
    checkRolePattern?: RuleOptions['checkRolePattern'],
  ) {
    this.#catalog = catalog
    this.#settings = settings
    this.#checkRolePattern = checkRolePattern
    this.#users = new Map([['default', defaultUser(catalog)]])
  }

  /** The settings under which rules are applied now; for reading an ACL file. */
  get ruleOptions(): RuleOptions {
    const checkRolePattern = this.#checkRolePattern
    return {
      pubsubDefault: this.#settings.choice('acl-pubsub-default'),
      databases: this.#settings.integer('databases'),
      ...(checkRolePattern ? { checkRolePattern } : {}),
    }
  }

  /** Grows with each change of a user, before anybody is told of it. */
  get version(): number {
    return this.#version
  }

  /** The user of new connections. */
  get default(): User {
    return this.#users.get('default') as User
  }

  /** Reports whether the user of new connections is on and needs no password, so that TCP clients are logged in as they connect. */
  get defaultIsOpen(): boolean {
    const user = this.default
    return user.enabled && user.noPassword
  }

  get(name: string): User | undefined {
    return this.#users.get(name)
  }

  /** All names in byte-wise order (ACL USERS). */
  names(): string[] {
    return [...this.#users.keys()].sort(compareBytes)
  }

  /** All users in byte-wise order of their names (ACL LIST, ACL SAVE). */
  list(): User[] {
    return [...this.#users.values()].sort((a, b) => compareBytes(a.name, b.name))
  }

  /**
   * ACL SETUSER: applies all rules to a user, creating it if it does not exist. After an error nothing has changed.
   *
   * A new user of a token (`jwt:…`, `jwt@…`) starts without any restriction: it is a ceiling.
   */
  setUser(name: string, rules: readonly string[]): SetUserResult {
    const before = this.#users.get(name)
    const result = this.edited(name, rules, before)
    if ('error' in result) return result
    const { after } = result
    this.#users.set(name, after)
    this.#tell([{ name, before, after }])
    return { before, after }
  }

  /** The user that {@link setUser} would make of `before`, or of nothing. Nothing changes. */
  edited(
    name: string,
    rules: readonly string[],
    before: User | undefined,
  ): { readonly after: User } | { readonly error: string } {
    if (!isValidUserName(name)) return { error: BAD_USER_NAME }
    const result = applyRules(this.#catalog, before ?? this.#fresh(name), rules, this.ruleOptions)
    return 'error' in result ? { error: setUserErrorText(result) } : { after: result.user }
  }

  /** The user `default` where nobody has said anything about it. */
  get builtInDefault(): User {
    return defaultUser(this.#catalog)
  }

  /**
   * ACL DELUSER: deletes the users that exist, or, if `default` is among the names, none.
   *
   * @returns The users deleted, or the text after `-ERR `.
   */
  deleteUsers(
    names: readonly string[],
  ): { readonly deleted: readonly User[] } | { readonly error: string } {
    if (names.includes('default')) return { error: NO_DEFAULT }
    const deleted: User[] = []
    for (const name of names) {
      const user = this.#users.get(name)
      if (!user) continue
      this.#users.delete(name)
      deleted.push(user)
    }
    if (deleted.length > 0) {
      const changes = deleted.map((before) => ({ name: before.name, before, after: undefined }))
      this.#tell(changes)
    }
    return { deleted }
  }

  /**
   * ACL LOAD: replaces all users. Without a `default` among the new ones, the built-in one is kept. An unchanged user
   * keeps its object.
   *
   * @returns One change for each name that existed or exists now, in byte-wise order.
   */
  replaceAll(users: Iterable<User>): readonly UserChange[] {
    const replaced = this.#users
    const next = new Map([['default', defaultUser(this.#catalog)]])
    for (const user of users) next.set(user.name, user)
    for (const [name, user] of next) {
      const before = replaced.get(name)
      if (before && describeUser(before) === describeUser(user)) next.set(name, before)
    }
    this.#users = next
    const names = [...new Set([...replaced.keys(), ...next.keys()])].sort(compareBytes)
    const changes = names.map((name) => ({
      name,
      before: replaced.get(name),
      after: next.get(name),
    }))
    this.#tell(changes)
    return changes
  }

  /**
   * Replaces users, or deletes those without a new one, and tells of it once. An unchanged user keeps its object; `default` cannot be
   * deleted.
   *
   * @returns The number of sessions that were closed, or lost a subscription.
   */
  replaceSome(users: ReadonlyMap<string, User | undefined>): number {
    const changes: UserChange[] = []
    for (const [name, user] of users) {
      const before = this.#users.get(name)
      if (user === undefined) {
        if (name === 'default' || !this.#users.delete(name)) continue
      } else {
        if (before && describeUser(before) === describeUser(user)) continue
        this.#users.set(name, user)
      }
      changes.push({ name, before, after: user })
    }
    return changes.length === 0 ? 0 : this.#tell(changes)
  }

  /** Makes a user of rules, as a line of an ACL file has them, without storing it. @returns Undefined if a rule or the name is wrong. */
  read(name: string, rules: readonly string[]): User | undefined {
    if (!isValidUserName(name)) return undefined
    const fresh = newUser(this.#catalog, name, this.ruleOptions)
    const result = applyRules(this.#catalog, fresh, rules, this.ruleOptions)
    return 'error' in result ? undefined : result.user
  }

  /**
   * The directive `requirepass`: gives `default` this password and no other, or, with the empty string, `nopass`. As in
   * Redis no client is judged again, and no listener is called.
   */
  requirePassword(password: string): void {
    this.#version++
    this.#users.set('default', {
      ...this.default,
      noPassword: password === '',
      passwords: password === '' ? [] : [hashPassword(password)],
    })
  }

  /** Adds a listener for changes. @returns A function that removes it. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #fresh(name: string): User {
    return isTokenUserName(name)
      ? unrestrictedUser(this.#catalog, name)
      : newUser(this.#catalog, name, this.ruleOptions)
  }

  #tell(changes: readonly UserChange[]): number {
    this.#version++
    let hit = 0
    for (const listener of this.#listeners) hit += listener(changes)
    return hit
  }
}

/** Order of byte strings by their bytes. */
function compareBytes(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
