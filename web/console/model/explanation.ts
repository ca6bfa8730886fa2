import { bytesOfString } from '../../../shared/bytes.ts'
import type { RespValue } from '../../../shared/resp/types.ts'
import { alternativesOf, splitRules } from './acl-rules.ts'
import type { Alternative } from './acl-rules.ts'
import { fieldsOf } from './reply.ts'

/** Answer of TOKEN EXPLAIN; fields that do not apply are empty. */
export interface Explanation {
  readonly allowed: boolean
  /** The ACL user of the token. */
  readonly user: string
  readonly issuer: string
  /** Its permissions: each alternative with its commands and channels. */
  readonly alternatives: readonly Alternative[]
  readonly role: string
  /** The deciding rule; for a refused token the fault. */
  readonly rule: string
  /** `role`, `claim` or `default`. */
  readonly source: string
  readonly ceiling: string
  readonly revocation: string
  /** The smallest change that would allow it. */
  readonly fix: string
  /** Id and thumbprint of the key that verified the token. */
  readonly kid: string
  readonly key: string
}

/** Reads the reply of TOKEN EXPLAIN. */
export function parseExplanation(reply: RespValue): Explanation {
  const text = fieldsOf(reply)
  const [, , ...rules] = splitRules(text('grant'))
  return {
    allowed: text('allowed') === '1' || text('allowed') === 'true',
    user: text('user'),
    issuer: text('issuer'),
    alternatives: alternativesOf(rules),
    role: text('role'),
    rule: text('rule'),
    source: text('source'),
    ceiling: text('ceiling'),
    revocation: text('revocation'),
    fix: text('fix'),
    kid: text('kid'),
    key: text('key'),
  }
}

/** Contents of a token, not verified. */
export interface TokenParts {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
}

/** Reads header and claims of a JWT (RFC 7519); undefined if it is none. */
export function tokenParts(token: string): TokenParts | undefined {
  const [header, claims, ...rest] = token.split('.').map((part) => jsonOf(part))
  return header && claims && rest.length === 1 ? { header, claims } : undefined
}

function jsonOf(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const units = atob(part.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = bytesOfString(units)
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    return undefined
  }
}
