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
  /** `+@all` was given and not withdrawn: commands yet unknown are allowed as well. */
  readonly allCommands: boolean
  /** Rules behind the leading `+@all` or `-@all`, lower-case, in the order given. */
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
  readonly selectors: readonly Selector[]
}
