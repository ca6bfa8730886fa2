import type { Glob } from '../../shared/glob.ts'

/** A channel rule `&pattern`. */
export interface ChannelRule {
  /** The pattern as a byte string, without the `&`. */
  readonly pattern: string
  readonly glob: Glob
}

/** A key rule `~pattern` or `%RW~pattern`. Kept so that ACL files of a Redis round-trip; there are no keys here. */
export interface KeyRule {
  readonly pattern: string
  readonly glob: Glob
  readonly read: boolean
  readonly write: boolean
}

/**
 * One alternative of a user's permissions: a command passes a selector only if the selector allows the
 * command, all its keys and all its channels. Never changed once built.
 */
export interface Selector {
  /** `+@all` was given and not withdrawn: commands not known yet are allowed as well. */
  readonly allCommands: boolean
  /** Rules after the leading `+@all` or `-@all`, lower-case, in the order given. */
  readonly commandRules: readonly string[]
  /** One bit per catalog id. */
  readonly allowed: Uint32Array
  /** First arguments (lower-case) allowed by `+command|argument`, by catalog id. */
  readonly firstArguments: ReadonlyMap<number, readonly string[]>
  readonly allKeys: boolean
  readonly keys: readonly KeyRule[]
  readonly allChannels: boolean
  readonly channels: readonly ChannelRule[]
}

/** A stored or compiled user. Never changed once built: an edit makes a new one. */
export interface User {
  /** Byte string. */
  readonly name: string
  readonly enabled: boolean
  /** Any password logs in. */
  readonly noPassword: boolean
  /** SHA-256 of each password, 64 lower-case hex digits. */
  readonly passwords: readonly string[]
  /** The root permissions first, then the selectors in the order given. */
  readonly selectors: Selectors
}

/** The root selector, which every user has, and those after it. */
export type Selectors = readonly [root: Selector, ...others: Selector[]]

/**
 * White space of C's `isspace` in the C locale, and NUL. User names, patterns and first arguments must not contain
 * them, since ACL text is split at spaces and lines.
 */
const SPACE_OR_NUL = /[\0\t-\r ]/

/** Reports whether a byte string contains white space or NUL. */
export function hasSpaceOrNul(text: string): boolean {
  return SPACE_OR_NUL.test(text)
}

/** Reports whether a byte string may be a user's name: any bytes but white space and NUL, the empty name included. */
export function isValidUserName(name: string): boolean {
  return !hasSpaceOrNul(name)
}

/** Reports whether users of this name are roles, which tokens name and no client logs in as. */
export function isRoleName(name: string): boolean {
  return name.startsWith('role:')
}

/** Reports whether this is the name of a token's user: a stored user of that name is a ceiling on the token. */
export function isTokenUserName(name: string): boolean {
  return name.startsWith('jwt:') || name.startsWith('jwt@')
}
