import { createHmac, randomBytes, webcrypto } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { secretKey } from '../../../../server/token/verify/keys.ts'

const secret = randomBytes(64)
const message = Buffer.from('header.payload')

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
