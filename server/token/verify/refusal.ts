import { createHash } from 'node:crypto'

/** Longest token accepted, in bytes. */
export const MAX_TOKEN_BYTES = 8192

/** Why a login with a token fails: what the peer is told, and what the log is told. */
export interface Refusal {
  /** Error reply without the leading `-`. All faults of a token but its age look alike to the peer. */
  readonly reply: 'WRONGPASS invalid token' | 'WRONGPASS token expired'
  /** WebSocket close code for a connection that was not yet authenticated. */
  readonly closeCode: 4401
  /** For the log alone; never holds the token, may hold names out of it. */
  readonly detail: string
  /** Key id the token names as a byte string, once its header could be read. */
  readonly kid?: string
  /** Token id as a byte string, once the signature was found good. */
  readonly jti?: string
  /** First 16 hex digits of the SHA-256 of the token's first 8192 bytes: tells tokens apart without showing one. */
  readonly tokenHash: string
}

/** A fault of a token, thrown while it is read and caught where it is verified. */
export class TokenFault extends Error {
  readonly expired: boolean

  /** @param detail A clause for the log. @param expired The token was good once. */
  constructor(detail: string, expired = false) {
    super(detail)
    this.name = 'TokenFault'
    this.expired = expired
  }
}

/** The hash under which the log speaks of a token, see {@link Refusal.tokenHash}. */
export function tokenHash(token: string): string {
  const head = token.slice(0, MAX_TOKEN_BYTES)
  return createHash('sha256').update(head, 'latin1').digest('hex').slice(0, 16)
}

/** Makes a refusal of a fault. */
export function refuse(
  token: string,
  fault: TokenFault,
  names: { kid?: string | undefined; jti?: string | undefined } = {},
): Refusal {
  return {
    reply: fault.expired ? 'WRONGPASS token expired' : 'WRONGPASS invalid token',
    closeCode: 4401,
    detail: fault.message,
    ...(names.kid === undefined ? {} : { kid: names.kid }),
    ...(names.jti === undefined ? {} : { jti: names.jti }),
    tokenHash: tokenHash(token),
  }
}
