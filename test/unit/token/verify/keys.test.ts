import { createHash, createHmac, randomBytes, webcrypto } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { calculateJwkThumbprint } from 'jose'
import { parseJwks, secretKey } from '../../../../server/token/verify/keys.ts'
import { jwks, makeKey } from '../../../support/tokens.ts'

const secret = randomBytes(64)
const message = Buffer.from('header.payload')

describe('the thumbprint of a public key', () => {
  test.each(['RS256', 'ES256', 'EdDSA'] as const)('for %s is that of RFC 7638', async (alg) => {
    const key = makeKey(alg, 'k')
    const [parsed] = parseJwks(jwks(key))
    expect(parsed?.names.thumbprint).toBe(await calculateJwkThumbprint(key.jwk))
  })

  test('is that of the example in RFC 7638', () => {
    const n =
      '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMs' +
      'tn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n' +
      '91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw'
    const [parsed] = parseJwks(jwks({ kty: 'RSA', n, e: 'AQAB', alg: 'RS256', kid: '2011-04-29' }))
    expect(parsed?.names).toMatchObject({
      kid: '2011-04-29',
      thumbprint: 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs',
    })
  })

  test('does not depend on what else the set says of the key', () => {
    const { jwk } = makeKey('ES256', 'k')
    const twin = { ...jwk, kid: 'other', x5t: 'x', d: 'ignored' }
    const [one, other] = parseJwks(jwks(jwk, twin))
    expect(one?.names.thumbprint).toBe(other?.names.thumbprint)
    expect([one?.names.kid, other?.names.kid]).toEqual(['k', 'other'])
  })
})

describe('the thumbprint of a secret', () => {
  const phrase = Buffer.from('correct horse battery staple 2026', 'latin1')

  test('is the same for the same bytes, and has the form of other thumbprints', () => {
    const { thumbprint } = secretKey(phrase).names
    expect(thumbprint).toBe(secretKey(Buffer.from(phrase)).names.thumbprint)
    expect(thumbprint).toMatch(/^[\w-]{43}$/)
    expect(thumbprint).not.toBe(secretKey(secret).names.thumbprint)
  })

  test('is none of the fast hashes by which a phrase is guessed', async () => {
    const { thumbprint, digests } = secretKey(phrase).names
    const oct = await calculateJwkThumbprint({ kty: 'oct', k: phrase.toString('base64url') })
    expect(digests).toContain(oct)
    expect(digests).not.toContain(thumbprint)
    for (const hash of ['sha256', 'sha384', 'sha512']) {
      for (const bytes of [phrase, phrase.toString('base64url')]) {
        expect(createHash(hash).update(bytes).digest('base64url')).not.toContain(thumbprint)
      }
    }
  })
})

describe('the key of a secret', () => {
  test.each([
    ['HS256', 'sha256'],
    ['HS384', 'sha384'],
    ['HS512', 'sha512'],
  ])('verifies what %s signed, and nothing else', async (algorithm, hash) => {
    const key = await secretKey(secret).for(algorithm)
    const signature = createHmac(hash, secret).update(message).digest()
    expect(await webcrypto.subtle.verify('HMAC', key, signature, message)).toBe(true)
    signature[0] = (signature[0] as number) ^ 1
    expect(await webcrypto.subtle.verify('HMAC', key, signature, message)).toBe(false)
  })

  test('is imported once for each algorithm', async () => {
    const key = secretKey(secret)
    expect(await key.for('HS256')).toBe(await key.for('HS256'))
    expect(await key.for('HS256')).not.toBe(await key.for('HS512'))
  })

  test('is that of one secret only, though another has the same bytes', async () => {
    const other = secretKey(Buffer.from(secret))
    expect(await other.for('HS256')).not.toBe(await secretKey(secret).for('HS256'))
  })

  test('cannot be taken out', async () => {
    const key = await secretKey(secret).for('HS256')
    await expect(webcrypto.subtle.exportKey('raw', key)).rejects.toThrow('not extractable')
  })
})
