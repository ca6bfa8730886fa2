import type { CommandCatalog } from './catalog.ts'
import { describeUser } from './describe.ts'
import { isTokenUserName, isValidUserName } from './names.ts'
import { hashPassword } from './password.ts'
import { BAD_USER_NAME, setUserErrorText } from './rule-errors.ts'
import { applyRules, defaultUser, newUser, unrestrictedUser } from './rules.ts'
import type { PubsubDefault, RuleOptions } from './selector-draft.ts'
import type { User } from './user.ts'

/** One user's change: `before` is undefined for a new user, `after` for a deleted one; equal objects mean no change. */
export interface UserChange {
  readonly name: string
  readonly before: User | undefined
  readonly after: User | undefined
}

/** The command that changed users. */
export type ChangeCause = 'setuser' | 'deluser' | 'load'

/** Told of changes when they are in force, before the command is answered. It must not change users itself. */
export type ChangeListener = (changes: readonly UserChange[], cause: ChangeCause) => void

/** What SETUSER did, or the text after `-ERR `. */
export type SetUserResult =
  | { readonly before: User | undefined; readonly after: User }
  | { readonly error: string }

/**
 * The stored users: named users, roles and ceilings. `default` is always among them.
 *
 * A user is never changed but replaced, so who keeps one asks for it again, or listens to
 * {@link UserTable.onChange}.
 */
export class UserTable {
  /** The directive `acl-pubsub-default`: read when a user or selector is made or reset, without effect on others. */
  pubsubDefault: PubsubDefault
  readonly #catalog: CommandCatalog
  readonly #options: Omit<RuleOptions, 'pubsubDefault'>
  #users: Map<string, User>
  readonly #listeners = new Set<ChangeListener>()

  constructor(catalog: CommandCatalog, options: RuleOptions) {
    const { pubsubDefault, ...others } = options
    this.pubsubDefault = pubsubDefault
    this.#catalog = catalog
    this.#options = others
    this.#users = new Map([['default', defaultUser(catalog)]])
  }

  /** What rules are applied under now; for reading an ACL file. */
  get ruleOptions(): RuleOptions {
    return { ...this.#options, pubsubDefault: this.pubsubDefault }
  }

  /** The user of new connections. */
  get default(): User {
    return this.#users.get('default') as User
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
    return this.names().map((name) => this.#users.get(name) as User)
  }

  /**
   * ACL SETUSER: applies rules to a user, made first if there is none, or changes nothing at all.
   *
   * Where it makes the user of a token (`jwt:…`, `jwt@…`), that starts without any restriction: it is a ceiling.
   */
  setUser(name: string, rules: readonly string[]): SetUserResult {
    if (!isValidUserName(name)) return { error: BAD_USER_NAME }
    const before = this.#users.get(name)
    const result = applyRules(this.#catalog, before ?? this.#fresh(name), rules, this.ruleOptions)
    if ('error' in result) return { error: setUserErrorText(result) }
    this.#users.set(name, result.user)
    this.#tell([{ name, before, after: result.user }], 'setuser')
    return { before, after: result.user }
  }

  /**
   * ACL DELUSER: deletes the users that exist, or, if `default` is among the names, none.
   *
   * @returns The users deleted, or the text after `-ERR `.
   */
  deleteUsers(
    names: readonly string[],
  ): { readonly deleted: readonly User[] } | { readonly error: string } {
    if (names.includes('default')) return { error: "The 'default' user cannot be removed" }
    const deleted: User[] = []
    for (const name of names) {
      const user = this.#users.get(name)
      if (!user) continue
      this.#users.delete(name)
      deleted.push(user)
    }
    if (deleted.length > 0) {
      const changes = deleted.map((before) => ({ name: before.name, before, after: undefined }))
      this.#tell(changes, 'deluser')
    }
    return { deleted }
  }

  /**
   * ACL LOAD: these users, and no others, exist from now on. Without a `default` among them, the built-in one does.
   * A user that stays as it was keeps its object.
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
    this.#tell(changes, 'load')
    return changes
  }

  /**
   * The directive `requirepass`: `default` has this password and no other, or, with the empty string, `nopass`. As in
   * Redis no client is judged again, and no listener hears of it.
   */
  requirePassword(password: string): void {
    this.#users.set('default', {
      ...this.default,
      noPassword: password === '',
      passwords: password === '' ? [] : [hashPassword(password)],
    })
  }

  /** Has `listener` called after each change. The answer ends that. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #fresh(name: string): User {
    return isTokenUserName(name)
      ? unrestrictedUser(this.#catalog, name)
      : newUser(this.#catalog, name, this)
  }

  #tell(changes: readonly UserChange[], cause: ChangeCause): void {
    for (const listener of this.#listeners) listener(changes, cause)
  }
}

/** Order of byte strings by their bytes. */
function compareBytes(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
