import type { User } from '../acl/user.ts'

/** What is known of a token session, for CLIENT LIST and the log. */
export interface TokenIdentity {
  readonly sub: string
  readonly iss: string
  readonly jti: string | undefined
  /** Wall clock, milliseconds since 1970. */
  readonly expiresAtMs: number
}

/** Who a client is: what its commands are judged by. Replaced as a whole, never changed. */
export interface Identity {
  /** The user, stored or compiled from a token. */
  readonly user: User
  /** Users that bound what `user` grants: a command passes only if each of them allows it too. */
  readonly ceilings: readonly User[]
  /** Present for a token session. */
  readonly token: TokenIdentity | undefined
}
