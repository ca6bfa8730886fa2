import type { Settings } from '../config/settings.ts'
import type { CommitRequest } from '../control/control.ts'
import type { Change, SharedPart } from '../control/part.ts'
import { splitKey, type Register } from '../control/register.ts'
import type { Logger } from '../log.ts'
import { describeUser } from './describe.ts'
import type { AclFile } from './file.ts'
import { hashPassword } from './password.ts'
import { printable } from './rules.ts'
import { isRoleName, isTokenUserName, type User } from './user.ts'
import type { UserTable } from './users.ts'

/** Values of registers to be committed; undefined deletes. */
type UserValues = CommitRequest['changes']

/** Users, and UTF-16 units of their names and rules, of one entry of an ACL LOAD: it has to stay within the limits of entries. */
const MOST_AT_ONCE = 1_000
const MOST_UNITS = 300_000

/** Names of users in a line of the log. */
const MOST_SHOWN = 100

/**
 * The users that gateways share, `default` among them: the name of a register is that of a user, and its value the rules as a line of
 * an ACL file has them. The users of `upstream-local-users` are left out.
 */
export class SharedUsers implements SharedPart {
  readonly prefix = 'u'
  readonly #users: UserTable
  readonly #settings: Settings
  readonly #log: Logger
  readonly #file: Pick<AclFile, 'autosave'>
  /** What gateways share as the rules of `default`, where `requirepass` adds a password to it here. */
  #defaultRules: string | undefined
  /** The users here are those of the namespace, and no longer those of this gateway's file. */
  #isJoined = false
  #saved: Promise<string | undefined> | undefined

  constructor(users: UserTable, settings: Settings, log: Logger, file: Pick<AclFile, 'autosave'>) {
    this.#users = users
    this.#settings = settings
    this.#log = log
    this.#file = file
  }

  /** The write of the ACL file that changes in force have asked for (`acl-autosave`), if there is one; settles with the text of its error. */
  savedWith(changes: UserValues): Promise<string | undefined> | undefined {
    return changes.some(({ key }) => isKept(splitKey(key)[1])) ? this.#saved : undefined
  }

  /** Reports whether this gateway has a user for itself: `upstream-local-users`. */
  isLocal(name: string): boolean {
    return this.#settings.list('upstream-local-users').includes(name)
  }

  /** The change that ACL SETUSER asks for, made on top of what is in force here; or the text after `-ERR `. */
  edit(
    name: string,
    rules: readonly string[],
  ): { readonly changes: UserValues } | { readonly error: string } {
    const shared = this.valueOf(name)
    // `requirepass` of this gateway is not to become everybody's.
    const before = name === 'default' && shared !== undefined ? this.#read(name, shared) : undefined
    const result = this.#users.edited(name, rules, before ?? this.#users.get(name))
    if ('error' in result) return result
    return { changes: [{ key: this.#keyOf(name), value: rulesOf(result.after) }] }
  }

  /** The changes that ACL DELUSER asks for: of those that exist. */
  deletion(names: readonly string[]): UserValues {
    return [...new Set(names)]
      .filter((name) => this.#users.get(name) !== undefined)
      .map((name) => ({ key: this.#keyOf(name), value: undefined }))
  }

  /** The next changes by which all users become those of a file, as many as one entry may have; none: they are. */
  differences(file: readonly User[]): UserValues {
    const wanted = new Map([['default', this.#users.builtInDefault]])
    for (const user of file) wanted.set(user.name, user)
    const changes: UserValues[number][] = []
    let units = 0
    for (const name of new Set([...wanted.keys(), ...this.names()])) {
      if (this.isLocal(name)) continue
      const user = wanted.get(name)
      const value = user && rulesOf(user)
      if (value === this.valueOf(name)) continue
      units += name.length + (value?.length ?? 0)
      if (changes.length === MOST_AT_ONCE || (units > MOST_UNITS && changes.length > 0)) break
      changes.push({ key: this.#keyOf(name), value })
    }
    return changes
  }

  /** Makes the users of this gateway alone those of a file. */
  loadLocal(file: readonly User[]): void {
    const wanted = new Map([['default', this.#users.builtInDefault]])
    for (const user of file) wanted.set(user.name, user)
    const local = this.#settings.list('upstream-local-users')
    this.#users.replaceSome(new Map(local.map((name) => [name, wanted.get(name)])))
  }

  *names(): IterableIterator<string> {
    for (const { name } of this.#users.list()) if (!this.isLocal(name)) yield name
  }

  valueOf(name: string): string | undefined {
    const user = this.isLocal(name) ? undefined : this.#users.get(name)
    if (!user) return undefined
    if (name === 'default' && this.#defaultRules !== undefined) {
      const closed = this.#read(name, this.#defaultRules)
      if (closed && describeUser(this.#guarded(closed)) === describeUser(user))
        return this.#defaultRules
    }
    return rulesOf(user)
  }

  /** The first gateway brings its users along. Later ones take those of the namespace: what they have beside them is dropped. */
  strays(
    isKnown: (name: string) => boolean,
    isNew: boolean,
  ): readonly { readonly name: string; readonly value: string }[] {
    this.#isJoined = true
    const unknown = [...this.names()].filter((name) => !isKnown(name))
    if (isNew) return unknown.map((name) => ({ name, value: this.valueOf(name) as string }))
    const dropped = unknown.filter((name) => name !== 'default')
    if (dropped.length === 0) return []
    this.#log.warn(
      { users: dropped.slice(0, MOST_SHOWN).map(printable), count: dropped.length },
      'users of this gateway are not in its upstream-namespace, and are dropped; aclfile still has them until it is written',
    )
    this.#users.replaceSome(new Map(dropped.map((name) => [name, undefined])))
    return []
  }

  accepts(name: string, value: string): boolean {
    return this.#read(name, value) !== undefined
  }

  /** @returns The number of sessions that were closed, or lost a subscription. */
  apply(registers: readonly Register[], _change: Change): number {
    const users = new Map<string, User | undefined>()
    for (const { key, value } of registers) {
      const [, name] = splitKey(key)
      if (this.isLocal(name) || (name === 'default' && value === undefined)) continue
      const user = value === undefined ? undefined : this.#read(name, value)
      if (name === 'default') this.#defaultRules = value
      users.set(name, user && name === 'default' ? this.#guarded(user) : user)
    }
    const hit = this.#users.replaceSome(users)
    // The file keeps the users that a gateway came with until it has joined.
    if (this.#isJoined && [...users.keys()].some(isKept)) this.#saved = this.#file.autosave()
    return hit
  }

  #keyOf(name: string): string {
    return `${this.prefix}:${name}`
  }

  #read(name: string, rules: string): User | undefined {
    return this.#users.read(name, rules.split(' '))
  }

  /** What gateways share does not open this one to everybody while its `requirepass` is set. */
  #guarded(user: User): User {
    const password = this.#settings.text('requirepass')
    if (!user.noPassword || password === '') return user
    return { ...user, noPassword: false, passwords: [hashPassword(password)] }
  }
}

/** Reports whether `acl-autosave` writes a change of this user. */
export function isKept(name: string): boolean {
  return isRoleName(name) || isTokenUserName(name)
}

/** The rules of a user as a line of an ACL file has them, without the name. */
function rulesOf(user: User): string {
  return describeUser(user).slice(`user ${user.name} `.length)
}
