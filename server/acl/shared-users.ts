import type { Settings } from '../config/settings.ts'
import type { Change, SharedPart } from '../control/part.ts'
import { splitKey, type Register } from '../control/register.ts'
import type { Logger } from '../log.ts'
import { describeUser } from './describe.ts'
import type { AclFile } from './file.ts'
import { hashPassword } from './password.ts'
import { printable } from './rules.ts'
import { isRoleName, isTokenUserName, type User } from './user.ts'
import type { UserTable } from './users.ts'

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

  constructor(users: UserTable, settings: Settings, log: Logger, file: Pick<AclFile, 'autosave'>) {
    this.#users = users
    this.#settings = settings
    this.#log = log
    this.#file = file
  }

  *names(): IterableIterator<string> {
    for (const { name } of this.#users.list()) if (!this.#isLocal(name)) yield name
  }

  valueOf(name: string): string | undefined {
    const user = this.#isLocal(name) ? undefined : this.#users.get(name)
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
      if (this.#isLocal(name) || (name === 'default' && value === undefined)) continue
      const user = value === undefined ? undefined : this.#read(name, value)
      if (name === 'default') this.#defaultRules = value
      users.set(name, user && name === 'default' ? this.#guarded(user) : user)
    }
    const hit = this.#users.replaceSome(users)
    const isKept = [...users.keys()].some((name) => isRoleName(name) || isTokenUserName(name))
    // The file keeps the users that a gateway came with until it has joined.
    if (isKept && this.#isJoined) void this.#file.autosave()
    return hit
  }

  #isLocal(name: string): boolean {
    return this.#settings.list('upstream-local-users').includes(name)
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

/** The rules of a user as a line of an ACL file has them, without the name. */
function rulesOf(user: User): string {
  return describeUser(user).slice(`user ${user.name} `.length)
}
