import { webcrypto } from 'node:crypto'

const imported = new WeakMap<Uint8Array, Map<string, Promise<webcrypto.CryptoKey>>>()

/**
 * A secret as the key of one algorithm. It is imported once: left to the verification, that took a fifth of what a WebSocket
 * with its login allocates (59 kB, against 47 kB this way).
 *
 * @param secret Not changed afterwards by anybody.
 * @param algorithm `HS256`, `HS384` or `HS512` (RFC 7518 section 3.2).
 */
export function hmacKey(secret: Uint8Array, algorithm: string): Promise<webcrypto.CryptoKey> {
  let keys = imported.get(secret)
  if (keys === undefined) imported.set(secret, (keys = new Map()))
  let key = keys.get(algorithm)
  if (key === undefined) {
    const parameters = { name: 'HMAC', hash: `SHA-${algorithm.slice('HS'.length)}` }
    key = webcrypto.subtle.importKey('raw', secret, parameters, false, ['verify'])
    keys.set(algorithm, key)
  }
  return key
}
