import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  RespcastError,
  tokenMinter,
  type MinterOptions,
  type MintRequest,
} from '../../../server/token/minter.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { folderWith } from '../../support/folder.ts'
import { AUD, ISS, NOW, SECRET, testAuthenticator, testIssuer } from '../../support/tokens.ts'
import { join } from 'node:path'

const clock = new FakeClock(NOW * 1000)
const OPTIONS: MinterOptions = { issuer: ISS, audience: AUD, secret: SECRET }

const partOf = (token: string, at: number): unknown =>
  JSON.parse(Buffer.from(token.split('.')[at] ?? '', 'base64url').toString())

/** A pair of keys of each kind. */
const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 })
const SHORT_RSA = generateKeyPairSync('rsa', { modulusLength: 1024 })
const EC = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const EC384 = generateKeyPairSync('ec', { namedCurve: 'P-384' })
const EC521 = generateKeyPairSync('ec', { namedCurve: 'P-521' })
const ED = generateKeyPairSync('ed25519')

function pemOf(key: KeyObject): string {
  return key.export({ type: key.type === 'public' ? 'spki' : 'pkcs8', format: 'pem' }) as string
}

describe('tokenMinter', () => {
  test('makes tokens that say what was asked for, for 15 minutes unless told otherwise', async () => {
    const minter = tokenMinter<{ org: { id: string } }>(OPTIONS, clock)
    const token = await minter.mint({
      sub: '42',
      roles: ['member'],
      channels: ['room:7'],
      subscribe: ['news:*'],
      publish: ['typing:7'],
      deny: ['room:7:mods'],
      group: 'acme',
      jti: 'token-1',
      claims: { org: { id: 'acme' } },
    })
    expect(partOf(token, 0)).toEqual({ alg: 'HS256', typ: 'JWT' })
    expect(partOf(token, 1)).toEqual({
      iss: ISS,
      aud: AUD,
      sub: '42',
      iat: NOW,
      exp: NOW + 900,
      jti: 'token-1',
      org: { id: 'acme' },
      respcast: {
        roles: ['member'],
        channels: ['room:7'],
        subscribe: ['news:*'],
        publish: ['typing:7'],
        deny: ['room:7:mods'],
        group: 'acme',
      },
    })
  })

  test('names each token, so that it can be revoked, and writes no claim where nothing is granted', async () => {
    const minter = tokenMinter({ ...OPTIONS, lifetimeSeconds: 60 }, clock)
    const [one, two] = [await minter.mint({ sub: '42' }), await minter.mint({ sub: '42' })]
    expect(partOf(one, 1)).toEqual({
      iss: ISS,
      aud: AUD,
      sub: '42',
      iat: NOW,
      exp: NOW + 60,
      jti: expect.stringMatching(/^[\da-f-]{36}$/) as string,
    })
    expect(partOf(one, 1)).not.toEqual(partOf(two, 1))
  })

  test('leaves a list out that is undefined, and keeps one that is empty', async () => {
    const minter = tokenMinter({ ...OPTIONS, claim: 'app.push' }, clock)
    const token = await minter.mint({ sub: '42', roles: undefined, channels: [] })
    expect(partOf(token, 1)).toHaveProperty(['app.push'], { channels: [] })
  })

  test('does not count a line break at the end of the secret, as the server does not in its file', async () => {
    const { authenticator } = testAuthenticator()
    for (const end of ['', '\n', '\r\n']) {
      const minter = tokenMinter({ ...OPTIONS, secret: `${SECRET.toString()}${end}` }, clock)
      const result = await authenticator.authenticate(await minter.mint({ sub: '42' }))
      expect(result).toHaveProperty('ok.userName', 'jwt:42')
    }
  })

  test.each<[MinterOptions & { algorithm: string }, KeyObject | undefined]>([
    [{ ...OPTIONS, secret: SECRET, algorithm: 'HS384' }, undefined],
    [{ ...OPTIONS, secret: SECRET, algorithm: 'HS512' }, undefined],
    ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const).map(
      (algorithm): [MinterOptions & { algorithm: string }, KeyObject] => [
        { issuer: ISS, audience: AUD, privateKey: RSA.privateKey, algorithm },
        RSA.publicKey,
      ],
    ),
    [{ issuer: ISS, audience: AUD, privateKey: EC.privateKey, algorithm: 'ES256' }, EC.publicKey],
    [
      { issuer: ISS, audience: AUD, privateKey: pemOf(EC384.privateKey), algorithm: 'ES384' },
      EC384.publicKey,
    ],
    [
      { issuer: ISS, audience: AUD, privateKey: EC521.privateKey, algorithm: 'ES512' },
      EC521.publicKey,
    ],
    [
      { issuer: ISS, audience: AUD, privateKey: pemOf(ED.privateKey), algorithm: 'EdDSA' },
      ED.publicKey,
    ],
    [{ issuer: ISS, audience: AUD, privateKey: ED.privateKey, algorithm: 'Ed25519' }, ED.publicKey],
  ])('makes tokens that the server accepts: $algorithm', async (options, publicKey) => {
    const keys =
      publicKey === undefined
        ? ({ kind: 'secret', secret: SECRET } as const)
        : ({
            kind: 'public-key-file',
            path: join(folderWith({ 'key.pem': pemOf(publicKey) }), 'key.pem'),
          } as const)
    const { authenticator } = testAuthenticator({
      issuers: [testIssuer({ keys, algorithms: [options.algorithm] })],
    })
    const token = await tokenMinter({ ...options, kid: 'k1' }, clock).mint({ sub: '42' })
    expect(partOf(token, 0)).toEqual({ alg: options.algorithm, typ: 'JWT', kid: 'k1' })
    expect(await authenticator.authenticate(token)).toHaveProperty('ok.userName', 'jwt:42')
  })
})

describe('a minter is refused', () => {
  const PAIR = { issuer: ISS, audience: AUD, algorithm: 'ES256' } as const
  test.each<[string, MinterOptions]>([
    ['issuer is empty', { ...OPTIONS, issuer: '' }],
    ['audience is empty', { ...OPTIONS, audience: [] }],
    ['claim is empty', { ...OPTIONS, claim: '' }],
    ['the secret has 31 bytes, and needs 32', { ...OPTIONS, secret: `${'x'.repeat(31)}\n` }],
    ['ES256 does not go with a secret', { ...OPTIONS, algorithm: 'ES256' } as never],
    ['there is no key', { ...PAIR, privateKey: undefined } as never],
    ['privateKey is a public key', { ...PAIR, privateKey: EC.publicKey }],
    ['privateKey is no private key in PEM', { ...PAIR, privateKey: pemOf(EC.publicKey) }],
    ['does not go with ES256: use ES384', { ...PAIR, privateKey: EC384.privateKey }],
    ['does not go with none', { ...PAIR, privateKey: EC.privateKey, algorithm: 'none' } as never],
    ['none of RSA with 2048 bits', { ...PAIR, privateKey: SHORT_RSA.privateKey }],
    ["'kid' is not a string of at most 128 bytes", { ...OPTIONS, kid: 'k'.repeat(129) }],
  ])('%s', (reason, options) => {
    expect(() => tokenMinter(options, clock)).toThrow(RespcastError)
    expect(() => tokenMinter(options, clock)).toThrow(reason)
  })
})

describe('a token is not minted, which the server would refuse', () => {
  test.each<[string, MintRequest]>([
    ["'sub' is not a string of 1 to 256 bytes", { sub: '' }],
    ["'sub' is not a string of 1 to 256 bytes", { sub: 'a b' }],
    ["'sub' is not a string of 1 to 256 bytes", { sub: 42 } as never],
    ["'jti' is not a plain string", { sub: '42', jti: 'é'.repeat(129) }],
    ['roles in the claim is not an array', { sub: '42', roles: 'member' } as never],
    ['channels in the claim holds what is not', { sub: '42', channels: ['room 7'] }],
    ['subscribe in the claim holds what is not', { sub: '42', subscribe: ['\u200broom'] }],
    ['group in the claim is not a plain string', { sub: '42', group: '' }],
    [
      'more than 256 channel patterns',
      { sub: '42', publish: Array<string>(200).fill('a'), deny: Array<string>(57).fill('b') },
    ],
    ["a token has no 'channel'", { sub: '42', channel: ['room:7'] } as never],
    ['valid for longer than 86400 seconds', { sub: '42', lifetimeSeconds: 86_401 }],
    ['must be 1 or more whole seconds', { sub: '42', lifetimeSeconds: 0 }],
    ['must be 1 or more whole seconds', { sub: '42', lifetimeSeconds: 1.5 }],
    ["claims must not hold 'nbf'", { sub: '42', claims: { nbf: NOW } }],
    ["claims must not hold 'respcast'", { sub: '42', claims: { respcast: {} } }],
    ['longer than 8192: name a role', { sub: '42', claims: { text: 'x'.repeat(8192) } }],
  ])('%s', async (reason, request) => {
    const minted = tokenMinter(OPTIONS, clock).mint(request)
    await expect(minted).rejects.toThrow(reason)
    await expect(minted).rejects.toMatchObject({ code: 'ERR_MINT' })
  })

  test('a longer life is minted where the server allows it', async () => {
    const minter = tokenMinter({ ...OPTIONS, maxLifetimeSeconds: 172_800 }, clock)
    const token = await minter.mint({ sub: '42', lifetimeSeconds: 172_800 })
    expect(partOf(token, 1)).toMatchObject({ exp: NOW + 172_800 })
  })
})
