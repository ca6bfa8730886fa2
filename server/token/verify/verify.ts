import { isDeepStrictEqual } from 'node:util'
import { compactVerify } from 'jose'
import type { Clock } from '../../clock.ts'
import { MAX_NAME_BYTES, readGrants } from './claims.ts'
import type { ClaimedGrant } from './claims.ts'
import { decodeCompact, decodeObject, parseObject, readHeader } from './compact.ts'
import { pinnedAlgorithms } from './issuer.ts'
import type { Issuer, PayloadRules } from './issuer.ts'
import type { KeyNames, VerificationKey } from './keys.ts'
import type { KeySet } from './key-set.ts'
import { digestOf } from './proven.ts'
import { MAX_TOKEN_BYTES, refuse, TokenFault } from './refusal.ts'
import type { TokenNames, TokenRefusal } from './refusal.ts'
import { plainName, toByteString } from '../text.ts'
import type { JsonObject } from '../text.ts'

/** The last second that a `Date` can hold. */
const LAST_SECOND = 8_640_000_000_000

/** An issuer and its keys. */
export interface TrustedIssuer {
  readonly issuer: Issuer
  readonly keys: KeySet
}

/** A token whose signature and claims are good. Names are byte strings. */
export interface VerifiedToken {
  readonly issuer: Issuer
  readonly sub: string
  readonly jti: string | undefined
  /** `kid` of its header. */
  readonly kid: string | undefined
  /** The algorithm of its signature. */
  readonly alg: string
  /** The key that verified it, see {@link KeySet.holds}. */
  readonly keyId: string
  /** Names of that key. */
  readonly key: KeyNames
  /** `iat` in ms since 1970; 0 for a token that does not say. */
  readonly issuedAtMs: number
  /** `exp` in ms since 1970. */
  readonly expiresAtMs: number
  readonly claimed: ClaimedGrant
  /** The payload as JSON text: placeholders in roles read it, also when a role is edited later. */
  readonly payload: string
}

/** The result of a verification. */
type Verification = { readonly ok: VerifiedToken } | { readonly refused: TokenRefusal }

/**
 * Reports whether the part before the first dot decodes to a JOSE header, so that a one-argument `AUTH` may be a token,
 * a good or a bad one.
 */
export function looksLikeToken(text: string): boolean {
  const end = text.slice(0, MAX_TOKEN_BYTES).indexOf('.')
  if (end < 2) return false
  try {
    return typeof decodeObject(text.slice(0, end), 'header')['alg'] === 'string'
  } catch {
    return false
  }
}

/**
 * Verifies a token (RFC 7519 section 7.2, RFC 8725).
 *
 * The issuer is chosen by the exact `iss` of the unverified payload; everything else that decides (keys, algorithms,
 * audience) comes from its settings. Never rejects.
 *
 * @param token The compact form, as it came.
 * @param issuers By `iss`.
 */
export async function verify(
  token: string,
  issuers: ReadonlyMap<string, TrustedIssuer>,
  clock: Clock,
): Promise<Verification> {
  const names: TokenNames = { kid: undefined, jti: undefined, key: undefined }
  try {
    const { header, payload, json } = decodeCompact(token)
    const { alg, kid } = readHeader(header)
    names.kid = kid === undefined ? undefined : toByteString(kid)
    const trusted = issuers.get(readIssuer(payload))
    if (trusted === undefined)
      throw new TokenFault('unknown-issuer', 'no issuer of this name is configured')
    const pinned = pinnedAlgorithms(trusted.issuer)
    if (!pinned.includes(alg)) {
      throw new TokenFault('algorithm', `the algorithm is not one of ${pinned.join(', ')}`)
    }

    checkKid(trusted.issuer, kid)
    const keys = await trusted.keys.candidates(alg, kid)
    if (keys.length === 0) throw missingKey(trusted.keys)
    const key = await verifySignature(token, alg, keys)
    names.key = key.names
    // The key may have been removed during the verification, and its sessions closed without this one.
    if (!trusted.keys.holds(key.id))
      throw new TokenFault('key-removed', 'its key was removed meanwhile')
    // From here on the payload is what the key signed: each part of a token has one spelling, and the signature is over it.
    names.jti = readJti(payload)
    const read = readPayload(trusted.issuer, payload, clock)
    if (read.expiresAtMs <= clock.wallMs()) throw new TokenFault('expired', 'expired')
    return {
      ok: {
        // Written out: spread together, each would get a hidden class of its own, 340 bytes a session.
        issuer: trusted.issuer,
        sub: read.sub,
        jti: names.jti,
        kid: names.kid,
        alg,
        keyId: key.id,
        key: key.names,
        issuedAtMs: read.issuedAtMs,
        expiresAtMs: read.expiresAtMs,
        claimed: read.claimed,
        payload: json,
      },
    }
  } catch (error) {
    return { refused: refuse(token, error, names) }
  }
}

function readIssuer(payload: JsonObject): string {
  const iss = Object.hasOwn(payload, 'iss') ? payload['iss'] : undefined
  if (typeof iss !== 'string') throw new TokenFault('no-issuer', "no 'iss'")
  return iss
}

function checkKid({ requireKid }: Issuer, kid: string | undefined): void {
  if (requireKid && !kid) throw new TokenFault('no-kid', "no 'kid' in its header")
}

function missingKey({ outage }: KeySet): TokenFault {
  if (outage === undefined) return new TokenFault('unknown-key', 'no key of the issuer fits')
  return new TokenFault('keys-unavailable', `the keys of the issuer cannot be loaded: ${outage}`)
}

async function verifySignature(
  token: string,
  alg: string,
  keys: readonly VerificationKey[],
): Promise<VerificationKey> {
  const digest = digestOf(token)
  for (const key of keys) {
    if (key.proven.has(digest)) return key
    try {
      await compactVerify(token, await key.for(alg), { algorithms: [alg] })
      key.proven.add(digest)
      return key
    } catch {
      // The next key may fit; the failure of each does not matter.
    }
  }
  throw new TokenFault('signature', 'the signature is wrong')
}

function readJti(payload: JsonObject): string | undefined {
  if (!Object.hasOwn(payload, 'jti')) return undefined
  const jti = plainName(payload['jti'], MAX_NAME_BYTES)
  if (jti === undefined) throw new TokenFault('claim', "'jti' is not a plain string")
  return jti
}

/**
 * Checks a token that logged in earlier, under changed settings of its issuer: all its claims but its age.
 *
 * @returns The token under the new settings.
 * @throws TokenFault where it would be refused now, or would ask for something else.
 */
export function judgeAgain(token: VerifiedToken, issuer: Issuer, clock: Clock): VerifiedToken {
  if (!pinnedAlgorithms(issuer).includes(token.alg)) {
    throw new TokenFault('algorithm', 'the algorithm is pinned no longer')
  }
  checkKid(issuer, token.kid)
  const { claimed } = readPayload(issuer, parseObject(token.payload, 'payload'), clock)
  if (!isDeepStrictEqual(claimed, token.claimed)) {
    throw new TokenFault('grants', 'its claims are read in another way')
  }
  return { ...token, issuer }
}

/**
 * Checks a payload by the rules of its issuer, all but its age, before anybody signs it.
 *
 * @throws TokenFault where its token would be refused.
 */
export function checkPayload(
  rules: PayloadRules,
  payload: JsonObject,
  clock: Pick<Clock, 'wallMs'>,
): void {
  readJti(payload)
  readPayload(rules, payload, clock)
}

/** Checks the registered claims and reads the grants. The caller checks the age, so that only an otherwise good token is called expired. */
function readPayload(
  issuer: PayloadRules,
  payload: JsonObject,
  clock: Pick<Clock, 'wallMs'>,
): Pick<VerifiedToken, 'sub' | 'issuedAtMs' | 'expiresAtMs' | 'claimed'> {
  const own = (name: string): unknown => (Object.hasOwn(payload, name) ? payload[name] : undefined)
  const nowSeconds = clock.wallMs() / 1000
  const latest = nowSeconds + issuer.leewaySeconds
  checkAudience(own('aud'), issuer.audience)
  const sub = plainName(own('sub'), MAX_NAME_BYTES)
  if (sub === undefined) {
    throw new TokenFault(
      'claim',
      "'sub' is not a string of 1 to 256 bytes without white space or controls",
    )
  }
  const exp = readTime(own('exp'), 'exp')
  if (exp === undefined) throw new TokenFault('no-expiry', "no 'exp'")
  const iat = readTime(own('iat'), 'iat')
  if (iat !== undefined && iat > latest)
    throw new TokenFault('issued-in-future', "'iat' lies in the future")
  const nbf = readTime(own('nbf'), 'nbf')
  if (nbf !== undefined && nbf > latest)
    throw new TokenFault('not-yet-valid', "'nbf' lies in the future")
  if (exp - (iat ?? nowSeconds) > issuer.maxLifetimeSeconds) {
    throw new TokenFault('lifetime', `valid for longer than ${issuer.maxLifetimeSeconds} seconds`)
  }
  return {
    sub,
    issuedAtMs: Math.floor((iat ?? 0) * 1000),
    expiresAtMs: Math.floor(exp * 1000),
    claimed: readGrants(payload, issuer),
  }
}

/** RFC 7519 section 4.1.3: a string, or an array of strings. */
function checkAudience(aud: unknown, accepted: readonly string[]): void {
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  if (!named.every((name) => typeof name === 'string'))
    throw new TokenFault('no-audience', "no 'aud'")
  if (!named.some((name) => accepted.includes(name))) {
    throw new TokenFault('wrong-audience', "'aud' names somebody else")
  }
}

/** A NumericDate (RFC 7519 section 2): seconds since 1970, fractions allowed. */
function readTime(value: unknown, name: string): number | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'number' || !(Math.abs(value) <= LAST_SECOND)) {
    throw new TokenFault('claim', `'${name}' is not a time`)
  }
  return value
}
