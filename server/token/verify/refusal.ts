import { createHash } from 'node:crypto'
import type { KeyNames } from './keys.ts'

/** Longest token accepted, in bytes. */
export const MAX_TOKEN_BYTES = 8192

/** Reasons why a token is refused. Code decides by these; the texts that go with them are for the log. */
export type FaultCode =
  /** Not a signed token in compact form: length, parts, base64url, JSON. */
  | 'malformed'
  /** The header asks for something that is not accepted, or lacks a required field. */
  | 'header'
  | 'no-issuer'
  | 'unknown-issuer'
  | 'algorithm'
  /** Its header names no key, and `jwt-require-kid` demands it. */
  | 'no-kid'
  | 'unknown-key'
  /** No fault of the token: its key is not known, and keys cannot be loaded now. */
  | 'keys-unavailable'
  | 'key-removed'
  | 'signature'
  /** A registered claim (`sub`, `jti`, a time) has the wrong form. */
  | 'claim'
  | 'no-audience'
  | 'wrong-audience'
  | 'no-expiry'
  | 'lifetime'
  | 'issued-in-future'
  | 'not-yet-valid'
  /** Good but for its age. */
  | 'expired'
  /** The claim of the grants is malformed. */
  | 'grants'
  | 'too-many-names'
  /** The roles expand to too many patterns. */
  | 'role-expansion'
  /** A defect of the server. */
  | 'internal'

/** The replies to a token that is not accepted. */
type TokenReply =
  | 'WRONGPASS invalid token'
  | 'WRONGPASS token expired'
  | 'TRYAGAIN the keys of the issuer cannot be loaded now'

/** A refused token: the reply to the peer, and the details for the log. */
export interface TokenRefusal {
  readonly code: FaultCode
  /** Error reply without the leading `-`. All faults of a token but its age look alike to the peer. */
  readonly reply: TokenReply
  /** A clause for the log alone; never holds the token, may hold names out of it. */
  readonly detail: string
  /** Key id the token names as a byte string, once its header could be read. */
  readonly kid?: string
  /** Token id as a byte string, once the signature was found good. */
  readonly jti?: string
  /** Thumbprint of the key that verified it, once the signature was found good. */
  readonly key?: string
  /** First 16 hex digits of the SHA-256 of the token's first 8192 bytes: tells tokens apart without showing one. */
  readonly tokenHash: string
}

/** Names of a token that are known before it is known to be good; byte strings. */
export interface TokenNames {
  /** Of its header. */
  kid: string | undefined
  jti: string | undefined
  /** Of the key that verified it. */
  key: KeyNames | undefined
}

/** A fault of a token, thrown while it is read and caught where it is verified. */
export class TokenFault extends Error {
  readonly code: FaultCode

  /** @param detail A clause for the log. */
  constructor(code: FaultCode, detail: string) {
    super(detail)
    this.name = 'TokenFault'
    this.code = code
  }
}

/** The hash under which the log speaks of a token, see {@link TokenRefusal.tokenHash}. */
function tokenHash(token: string): string {
  const head = token.slice(0, MAX_TOKEN_BYTES)
  return createHash('sha256').update(head, 'latin1').digest('hex').slice(0, 16)
}

function replyOf(code: FaultCode): TokenReply {
  if (code === 'expired') return 'WRONGPASS token expired'
  if (code === 'keys-unavailable') return 'TRYAGAIN the keys of the issuer cannot be loaded now'
  return 'WRONGPASS invalid token'
}

/** Makes a refusal of an error that was thrown while a token was read. */
export function refuse(
  token: string,
  error: unknown,
  names: Partial<TokenNames> = {},
): TokenRefusal {
  const { code, message } =
    error instanceof TokenFault ? error : new TokenFault('internal', `failed: ${String(error)}`)
  return {
    code,
    reply: replyOf(code),
    detail: message,
    ...(names.kid === undefined ? {} : { kid: names.kid }),
    ...(names.jti === undefined ? {} : { jti: names.jti }),
    ...(names.key === undefined ? {} : { key: names.key.thumbprint }),
    tokenHash: tokenHash(token),
  }
}
