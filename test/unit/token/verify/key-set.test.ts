import { writeFileSync } from 'node:fs'
import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { RespcastError } from '../../../../server/errors.ts'
import type { KeySource } from '../../../../server/token/verify/issuer.ts'
import { createKeySet } from '../../../../server/token/verify/key-set.ts'
import type { KeySet } from '../../../../server/token/verify/key-set.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import {
  compact,
  hmac,
  jwks,
  makeKey,
  noFetch,
  NOW,
  payload,
  SECRET,
  testAuthenticator,
  testIssuer,
  token,
  tokenBy,
} from '../../../support/tokens.ts'
import { folderWith } from '../../../support/folder.ts'

const folder = folderWith({}, afterAll)

let files = 0
function file(content: string | Buffer): string {
  const path = join(folder, `${files++}`)
  writeFileSync(path, content)
  return path
}

function keySet(keys: KeySource, algorithms: readonly string[], clock = new FakeClock()): KeySet {
  return createKeySet(testIssuer({ keys, algorithms }), { clock, fetch: noFetch, listener: {} })
}

function failure(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    if (error instanceof RespcastError && error.code === 'ERR_CONFIG') return error.message
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('a secret in a file', () => {
  test.each([
    ['without a line break', ''],
    ['with a line feed', '\n'],
    ['with carriage return and line feed', '\r\n'],
  ])('is the bytes of the file %s', async (_name, end) => {
    const path = file(Buffer.concat([SECRET, Buffer.from(end)]))
    const { authenticator } = testAuthenticator({
      issuers: [testIssuer({ keys: { kind: 'secret-file', path } })],
    })
    expect(await authenticator.authenticate(token())).toHaveProperty('ok')
  })

  test('of 31 bytes and a line feed is too short', () => {
    const path = file(Buffer.concat([SECRET.subarray(1), Buffer.from('\n')]))
    expect(failure(() => keySet({ kind: 'secret-file', path }, []))).toBe(
      `jwt-secret-file ${path}: the secret must be at least 32 bytes; it has 31`,
    )
  })

  test('that is missing is named', () => {
    const path = join(folder, 'missing')
    expect(failure(() => keySet({ kind: 'secret-file', path }, []))).toContain(
      `${path}: cannot be read`,
    )
  })

  test('may have a predecessor in a file', async () => {
    const old = Buffer.alloc(32, 'o')
    const previous = { path: file(old), validUntilMs: (NOW + 1) * 1000 }
    const { authenticator } = testAuthenticator({
      issuers: [testIssuer({ keys: { kind: 'secret', secret: SECRET, previous } })],
    })
    const text = compact({ alg: 'HS256' }, payload(), hmac(old))
    expect(await authenticator.authenticate(text)).toHaveProperty('ok')
  })
})

describe('a public key in a PEM file', () => {
  test.each(['RS256', 'ES256', 'EdDSA'] as const)('verifies %s, whatever kid says', async (alg) => {
    const key = makeKey(alg, 'k')
    const keys = { kind: 'public-key-file', path: file(key.pem) } as const
    const { authenticator } = testAuthenticator({
      issuers: [testIssuer({ keys, algorithms: [alg] })],
    })
    expect(await authenticator.authenticate(tokenBy(key))).toHaveProperty('ok')
    const other = tokenBy(makeKey(alg, 'k'))
    expect(await authenticator.authenticate(other)).toHaveProperty('refused')
  })

  test('that is a private key is refused, so that it does not lie about', () => {
    const pem = makeKey('ES256', 'k').privateKey.export({ type: 'pkcs8', format: 'pem' })
    const path = file(pem)
    expect(failure(() => keySet({ kind: 'public-key-file', path }, ['ES256']))).toContain(
      'holds a private key',
    )
  })

  test('for another algorithm is refused', () => {
    const path = file(makeKey('ES256', 'k').pem)
    expect(failure(() => keySet({ kind: 'public-key-file', path }, ['RS256']))).toBe(
      `jwt-public-key-file ${path}: holds a key for ES256, not for RS256`,
    )
  })

  test('of RSA with 1024 bits is refused', () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
    const path = file(publicKey.export({ type: 'spki', format: 'pem' }))
    expect(failure(() => keySet({ kind: 'public-key-file', path }, ['RS256']))).toContain(
      'holds a key for no supported algorithm',
    )
  })

  test('that is no key is refused', () => {
    const path = file('hello')
    expect(failure(() => keySet({ kind: 'public-key-file', path }, ['RS256']))).toBe(
      `jwt-public-key-file ${path}: holds no PEM public key`,
    )
  })
})

describe('a key set in a file', () => {
  const key = makeKey('ES256', 'one')

  test('must be good at start', async () => {
    for (const [content, detail] of [
      ['{}', "the key set has no array 'keys'"],
      [`{"keys":[]}${' '.repeat(262_144)}`, 'is longer than 262144 bytes'],
    ] as const) {
      const path = file(content)
      const keys = keySet({ kind: 'jwks-file', path }, ['ES256'])
      await expect(keys.start()).rejects.toThrow(
        new RespcastError('ERR_CONFIG', `jwt-jwks-file ${path}: ${detail}`),
      )
    }
    const missing = keySet({ kind: 'jwks-file', path: join(folder, 'missing') }, ['ES256'])
    await expect(missing.start()).rejects.toThrow('ENOENT')
  })

  test('must be good when it is put in force later, for the same reasons in the same words', async () => {
    const long = file(`{"keys":[]}${' '.repeat(262_144)}`)
    for (const [path, problem] of [
      [long, /: is longer than 262144 bytes$/],
      [folder, /: cannot be read: EISDIR: .*\. Name a file that the server may read\.$/],
      [
        join(folder, 'missing'),
        /: cannot be read: ENOENT: .*\. Name a file that the server may read\.$/,
      ],
    ] as const) {
      const keys = keySet({ kind: 'jwks-file', path }, ['ES256'])
      expect(failure(() => keys.startNow())).toMatch(problem)
      await expect(keys.start()).rejects.toThrow(problem)
    }
  })

  test('may be replaced while the server runs: an unknown key id reads it again', async () => {
    const clock = new FakeClock()
    const path = file(jwks(key))
    const keys = keySet({ kind: 'jwks-file', path }, ['ES256'], clock)
    await keys.start()
    expect(await keys.candidates('ES256', 'one')).toHaveLength(1)
    writeFileSync(path, jwks(key, makeKey('ES256', 'two')))
    expect(await keys.candidates('ES256', 'two')).toHaveLength(0)
    clock.advance(30_000)
    expect(await keys.candidates('ES256', 'two')).toHaveLength(1)
    keys.stop()
  })
})
