import { createHash, createPublicKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { algorithmsOf } from './algorithms.ts'
import { isJsonObject } from '../text.ts'
import type { JsonObject } from '../text.ts'

/** Longest key set accepted, in bytes. */
export const MAX_JWKS_BYTES = 262_144

/** Most keys accepted in a key set. */
export const MAX_JWKS_KEYS = 100

/** A key that may verify tokens. */
export interface VerificationKey {
  /** Fingerprint of the key itself: another key under the same `kid` has another one. Not for logs. */
  readonly id: string
  readonly kid: string | undefined
  readonly key: KeyObject | Uint8Array
  /** What it may verify, by its type and by the `alg` of its key set. */
  readonly algorithms: readonly string[]
}

/** Public members by key type: whatever else a key set holds (private parts, certificates, URLs) is never looked at. */
const PUBLIC_MEMBERS = new Map([
  ['RSA', ['n', 'e']],
  ['EC', ['crv', 'x', 'y']],
  ['OKP', ['crv', 'x']],
])

/**
 * Reads a JSON Web Key Set.
 *
 * Keys that cannot verify signatures are left out: symmetric ones (what everybody can fetch is no secret), keys for
 * encryption, RSA keys under 2048 bits, unknown types and malformed ones.
 *
 * @param text The document; its size is for the caller to bound.
 * @returns At least one key.
 * @throws Error with a sentence for the log if the document is no key set, holds more than 100 keys or no usable one.
 * @see RFC 7517 sections 4 and 5
 */
export function parseJwks(text: string): readonly VerificationKey[] {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    throw new Error('the key set is not JSON')
  }
  const entries =
    isJsonObject(document) && Object.hasOwn(document, 'keys') ? document['keys'] : undefined
  if (!Array.isArray(entries)) throw new Error("the key set has no array 'keys'")
  if (entries.length > MAX_JWKS_KEYS) {
    throw new Error(`the key set holds ${entries.length} keys, more than ${MAX_JWKS_KEYS}`)
  }

  const keys: VerificationKey[] = []
  for (const entry of entries as readonly unknown[]) {
    const key = isJsonObject(entry) ? readKey(entry) : undefined
    if (key !== undefined) keys.push(key)
  }
  if (keys.length === 0) throw new Error('the key set holds no key that verifies signatures')
  return keys
}

/** Makes a verification key of a public key. */
export function publicVerificationKey(
  key: KeyObject,
  kid: string | undefined,
  algorithms: readonly string[],
): VerificationKey {
  return { id: fingerprint(key.export({ type: 'spki', format: 'der' })), kid, key, algorithms }
}

/** The first 32 hex digits of a SHA-256, see {@link VerificationKey.id}. */
export function fingerprint(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32)
}

function readKey(jwk: JsonObject): VerificationKey | undefined {
  const own = (name: string): unknown => (Object.hasOwn(jwk, name) ? jwk[name] : undefined)
  const kty = own('kty')
  const members = typeof kty === 'string' ? PUBLIC_MEMBERS.get(kty) : undefined
  if (members === undefined) return undefined
  if (own('use') !== undefined && own('use') !== 'sig') return undefined
  const operations = own('key_ops')
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) {
    return undefined
  }
  const kid = own('kid')
  if (kid !== undefined && typeof kid !== 'string') return undefined

  let key: KeyObject
  try {
    const parts = Object.fromEntries(members.map((name) => [name, own(name)]))
    key = createPublicKey({ key: { kty, ...parts } as JsonWebKeyInput, format: 'jwk' })
  } catch {
    return undefined
  }
  const alg = own('alg')
  const algorithms = algorithmsOf(key).filter((name) => alg === undefined || name === alg)
  return algorithms.length === 0 ? undefined : publicVerificationKey(key, kid, algorithms)
}

type JsonWebKeyInput = Extract<Parameters<typeof createPublicKey>[0], { format: 'jwk' }>['key']
