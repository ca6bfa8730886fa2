import { createHash, createPublicKey, scryptSync, webcrypto } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { isJsonObject, toByteString } from '../text.ts'
import type { JsonObject } from '../text.ts'
import { ProvenTokens } from './proven.ts'

/** A secret as a file has it, without one line end behind it. */
export function withoutLineEnd(bytes: Uint8Array): Uint8Array {
  let end = bytes.length
  if (bytes[end - 1] === 0x0a) end--
  if (bytes[end - 1] === 0x0d && end < bytes.length) end--
  return bytes.subarray(0, end)
}

/** Algorithms with a shared secret (RFC 7518 section 3.2). */
export const SECRET_ALGORITHMS: readonly string[] = ['HS256', 'HS384', 'HS512']

/** Algorithms with a key pair (RFC 7518 sections 3.3 to 3.5, RFC 8037, RFC 9864). */
export const KEY_PAIR_ALGORITHMS: readonly string[] = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]

const RSA = KEY_PAIR_ALGORITHMS.slice(0, 6)
const CURVES = new Map([
  ['prime256v1', ['ES256']],
  ['secp384r1', ['ES384']],
  ['secp521r1', ['ES512']],
])

/** The shortest RSA modulus accepted, in bits (RFC 7518 section 3.3). */
const MIN_RSA_BITS = 2048

/** Longest key set accepted, in bytes. */
export const MAX_JWKS_BYTES = 262_144

/** Most keys accepted in a key set. */
const MAX_JWKS_KEYS = 100

/** The names of a key by which TOKEN REVOKE finds it. */
export interface KeyNames {
  /** `kid` of its JWK, a byte string; undefined for a secret or PEM key, whatever its tokens say. */
  readonly kid: string | undefined
  /**
   * Base64url of 32 bytes, of the key alone: the same in a file and in a key set, and under any `kid`. For public keys that
   * of RFC 7638 with SHA-256, for secrets see {@link secretThumbprint}.
   */
  readonly thumbprint: string
  /** Other digests that KEY takes for the thumbprint, base64url. Those of a secret are fast to guess from: never shown. */
  readonly digests: readonly string[]
}

/** A key that may verify tokens. */
export interface VerificationKey {
  /** Fingerprint of the key itself: another key under the same `kid` has another one. Not for logs. */
  readonly id: string
  readonly kid: string | undefined
  readonly names: KeyNames
  /** The algorithms that it may verify, by its type and by the `alg` of its key set. */
  readonly algorithms: readonly string[]
  /** Tokens that it has verified. */
  readonly proven: ProvenTokens
  /** The key for one of its algorithms. */
  for(algorithm: string): KeyObject | Promise<webcrypto.CryptoKey>
}

interface SecretKey extends VerificationKey {
  for(algorithm: string): Promise<webcrypto.CryptoKey>
}

/**
 * Makes a verification key of a secret. It is imported once for each algorithm: left to the verification, the import took a
 * fifth of the memory that a WebSocket with its login allocates (59 kB, against 47 kB this way).
 *
 * @param secret Not changed afterwards.
 */
export function secretKey(secret: Uint8Array): SecretKey {
  const imported = new Map<string, Promise<webcrypto.CryptoKey>>()
  const octets = JSON.stringify({ k: Buffer.from(secret).toString('base64url'), kty: 'oct' })
  return {
    id: fingerprint(secret),
    kid: undefined,
    names: {
      kid: undefined,
      thumbprint: secretThumbprint(secret),
      digests: [digest(octets), digest(secret)],
    },
    algorithms: SECRET_ALGORITHMS,
    proven: new ProvenTokens(),
    for: (algorithm) => {
      let key = imported.get(algorithm)
      if (key === undefined) {
        const parameters = { name: 'HMAC', hash: `SHA-${algorithm.slice('HS'.length)}` }
        key = webcrypto.subtle.importKey('raw', secret, parameters, false, ['verify'])
        imported.set(algorithm, key)
      }
      return key
    },
  }
}

/** Makes a verification key of a public key. */
export function publicKey(
  key: KeyObject,
  kid: string | undefined,
  algorithms: readonly string[],
): VerificationKey {
  const spki = key.export({ type: 'spki', format: 'der' })
  const names: KeyNames = {
    kid: kid === undefined ? undefined : toByteString(kid),
    thumbprint: jwkThumbprint(key),
    digests: [digest(spki)],
  }
  const proven = new ProvenTokens()
  return { id: fingerprint(spki), kid, names, algorithms, proven, for: () => key }
}

/** Thumbprint of a public key (RFC 7638 section 3): the required members of its JWK in the order of their names, hashed. */
function jwkThumbprint(key: KeyObject): string {
  const { crv, e, kty, n, x, y } = key.export({ format: 'jwk' })
  return digest(JSON.stringify({ crv, e, kty, n, x, y }))
}

/** Domain of the thumbprints of secrets, so that no other use of scrypt yields the same bytes. */
const THUMBPRINT_SALT = 'respcast token secret'

/** Interactive parameters of scrypt (RFC 7914 section 2): 16 MB and some 30 ms for each guess. */
const THUMBPRINT_COST = { N: 16_384, r: 8, p: 1 }

/** Secrets whose thumbprint is remembered. A server has two for each issuer, and reads them again at each SIGHUP. */
const MOST_THUMBPRINTS = 64

const thumbprints = new Map<string, string>()

/**
 * Thumbprint of a secret: scrypt with fixed parameters, so that it is the same on every server.
 *
 * RFC 7638 would make it one SHA-256. It is shown in CLIENT LIST, the log and the audit log, whose readers need not hold any
 * token, and a secret may be a phrase of 32 characters: a fast hash would let them try billions of phrases a second.
 */
function secretThumbprint(secret: Uint8Array): string {
  const name = digest(secret)
  let thumbprint = thumbprints.get(name)
  if (thumbprint === undefined) {
    thumbprint = scryptSync(secret, THUMBPRINT_SALT, 32, THUMBPRINT_COST).toString('base64url')
    if (thumbprints.size >= MOST_THUMBPRINTS) thumbprints.clear()
    thumbprints.set(name, thumbprint)
  }
  return thumbprint
}

/** SHA-256, base64url. */
function digest(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('base64url')
}

/** The first 32 hex digits of a SHA-256, see {@link VerificationKey.id}. */
function fingerprint(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32)
}

/** Algorithms that a public key can verify; empty for a key of another kind, or an RSA key under 2048 bits. */
export function algorithmsOf(key: KeyObject): readonly string[] {
  const details = key.asymmetricKeyDetails
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return (details?.modulusLength ?? 0) >= MIN_RSA_BITS ? RSA : []
    case 'ec':
      return CURVES.get(details?.namedCurve ?? '') ?? []
    case 'ed25519':
      return ['EdDSA', 'Ed25519']
    default:
      return []
  }
}

/** Public members by key type: everything else in a key set (private parts, certificates, URLs) is ignored. */
const PUBLIC_MEMBERS = new Map([
  ['RSA', ['n', 'e']],
  ['EC', ['crv', 'x', 'y']],
  ['OKP', ['crv', 'x']],
])

/**
 * Parses a JSON Web Key Set.
 *
 * Keys that cannot verify signatures are left out: symmetric ones (a published key is no secret), keys for
 * encryption, RSA keys under 2048 bits, unknown types and malformed ones.
 *
 * @param text The document; the caller bounds its size.
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
    const key = isJsonObject(entry) ? readJwk(entry) : undefined
    if (key !== undefined) keys.push(key)
  }
  if (keys.length === 0) throw new Error('the key set holds no key that verifies signatures')
  return keys
}

function readJwk(jwk: JsonObject): VerificationKey | undefined {
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
  return algorithms.length === 0 ? undefined : publicKey(key, kid, algorithms)
}

type JsonWebKeyInput = Extract<Parameters<typeof createPublicKey>[0], { format: 'jwk' }>['key']
