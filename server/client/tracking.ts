/**
 * What CLIENT TRACKING was told: kept and shown, and followed by nothing, since there are no keys whose changes a
 * client could be told of. Replaced as a whole by each CLIENT TRACKING ON.
 */
export interface Tracking {
  readonly broadcast: boolean
  readonly mode: 'optin' | 'optout' | undefined
  readonly noLoop: boolean
  /** Id of the client that would get the invalidations; 0 is this one. */
  readonly redirect: number
  /** Byte strings, in byte order. */
  readonly prefixes: readonly string[]
  /** The client's count of commands at its last CLIENT CACHING: that one holds for the next command. */
  cachingAt: number | undefined
  /** The client that {@link redirect} names is gone. */
  isBroken: boolean
}
