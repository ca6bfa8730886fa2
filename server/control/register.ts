/**
 * One versioned value that gateways share: a user or a revocation. Whoever holds two states of a register keeps the newer one, so
 * that any two gateways, and any two upstreams, come to the same.
 */
export interface Register {
  /** Its part and its name in it, `<prefix>:<name>`, a byte string: see {@link SharedPart}. */
  readonly key: string
  /** 1 for the first value. Each edit adds one. */
  readonly version: number
  /** Of the edit: 16 lower-case hexadecimal digits, random. It decides between two edits of one version. */
  readonly uuid: string
  /** Undefined once it has been deleted: the deletion itself is kept, so that an older value does not come back. */
  readonly value: string | undefined
}

/** A register without its value. */
export type Stamp = Pick<Register, 'version' | 'uuid'>

/** Reports whether `one` replaces `other`. */
export function isNewer(one: Stamp, other: Stamp | undefined): boolean {
  if (other === undefined || one.version !== other.version) {
    return one.version > (other?.version ?? 0)
  }
  return one.uuid > other.uuid
}

/** The prefix and the name of a register's key. */
export function splitKey(key: string): readonly [prefix: string, name: string] {
  const colon = key.indexOf(':')
  return [key.slice(0, colon), key.slice(colon + 1)]
}
