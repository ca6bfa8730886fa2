import type { KeyObject } from 'node:crypto'

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
