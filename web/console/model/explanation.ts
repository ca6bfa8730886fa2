import type { RespValue } from '../../../shared/resp/types.ts'
import { alternativesOf, splitRules } from './acl-rules.ts'
import type { Alternative } from './acl-rules.ts'
import { fieldsOf } from './reply.ts'

/** What TOKEN EXPLAIN says; what does not apply is empty. */
export interface Explanation {
  readonly allowed: boolean
  /** The ACL user that the token is compiled into. */
  readonly user: string
  readonly issuer: string
  /** What it may do: each alternative with its commands and its channels. */
  readonly alternatives: readonly Alternative[]
  readonly role: string
  /** The rule that decides; for a refused token what is wrong with it. */
  readonly rule: string
  /** `role`, `claim` or `default`. */
  readonly source: string
  readonly ceiling: string
  readonly revocation: string
  /** The smallest change that would allow it. */
  readonly fix: string
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
  }
}

/** What stands in a token, read without verifying anything. */
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
    const bytes = Uint8Array.from(units, (unit) => unit.charCodeAt(0))
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    return undefined
  }
}
