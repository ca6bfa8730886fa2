import { describe, expect, test } from 'vitest'
import { mintToken } from '../../../server/token/mint.ts'
import { MINT_FLAGS, readMintFlags } from '../../../server/cli/mint-flags.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import {
  AUD,
  ISS,
  NOW,
  SECRET,
  testAuthenticator,
  testIssuer,
  userOf,
} from '../../support/tokens.ts'

const defaults = { iss: ISS, aud: AUD, claim: 'respcast' }

function mint(...flags: string[]): Promise<string> {
  const request = readMintFlags(flags, defaults)
  if (typeof request === 'string') throw new Error(request)
  return mintToken(SECRET, request, new FakeClock(NOW * 1000))
}

const payloadOf = (token: string): unknown =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

describe('respcast token mint', () => {
  test('signs what the flags say', async () => {
    const flags =
      '--sub 42 --ttl 60 --role a --role b --channel c --subscribe s:* --publish p --deny d ' +
      '--group g --jti j --claim rooms=["7"] --claim org="acme"'
    const token = await mint(...flags.split(' '))
    expect(payloadOf(token)).toEqual({
      iss: 'https://auth.example',
      aud: 'respcast',
      sub: '42',
      iat: NOW,
      exp: NOW + 60,
      jti: 'j',
      rooms: ['7'],
      org: 'acme',
      respcast: {
        roles: ['a', 'b'],
        channels: ['c'],
        subscribe: ['s:*'],
        publish: ['p'],
        deny: ['d'],
        group: 'g',
      },
    })
  })

  test('leaves out what no flag says, and lasts an hour', async () => {
    expect(payloadOf(await mint('--sub', '42'))).toEqual({
      iss: ISS,
      aud: AUD,
      sub: '42',
      iat: NOW,
      exp: NOW + 3600,
      respcast: {},
    })
  })

  test('makes tokens that log in', async () => {
    const { authenticator, roles } = testAuthenticator()
    roles.set('role:r', userOf('role:r', '+subscribe &{claim.org}:*'))
    const token = await mint('--sub', '42', '--role', 'r', '--claim', 'org="acme"')
    const result = await authenticator.authenticate(token)
    expect(result).toMatchObject({
      ok: { userName: 'jwt:42', user: { selectors: [{}, { channels: [{ pattern: 'acme:*' }] }] } },
    })
  })

  test('writes a claim name with dots as one key, which is looked up first', async () => {
    const claim = 'https://example.com/respcast'
    const { authenticator } = testAuthenticator({ issuers: [testIssuer({ claim })] })
    const request = readMintFlags(['--sub', '1', '--role', 'r'], { ...defaults, claim })
    const token = await mintToken(SECRET, request as never, new FakeClock(NOW * 1000))
    expect(await authenticator.authenticate(token)).toHaveProperty('ok.roles', ['r'])
  })

  test('does not let a further claim replace the others', async () => {
    const token = await mint('--sub', '42', '--claim', 'sub="root"', '--claim', 'exp=9999999999')
    expect(payloadOf(token)).toMatchObject({ sub: '42', exp: NOW + 3600 })
  })

  test.each([
    [[], '--sub is required'],
    [['--sub', ''], '--sub is required'],
    [['--sub'], '--sub needs a value'],
    [['--sub', '1', '--ttl', '0'], "--ttl needs a whole number of seconds, not '0'"],
    [['--sub', '1', '--ttl', '1h'], "--ttl needs a whole number of seconds, not '1h'"],
    [['--sub', '1', '--claim', 'x'], "--claim needs <name>=<json>, not 'x'"],
    [['--sub', '1', '--claim', 'x=y'], "--claim needs <name>=<json>, not 'x=y'"],
    [['--sub', '1', '--roles', 'x'], "unknown flag '--roles'"],
  ])('%j: %s', (flags, problem) => {
    expect(readMintFlags(flags, defaults)).toBe(problem)
  })

  test('explains every flag it knows', () => {
    for (const [flag] of MINT_FLAGS) {
      const name = flag.split(' ')[0] ?? ''
      const value = name === '--claim' ? 'a=1' : '9'
      expect(readMintFlags(['--sub', '1', name, value], defaults)).toBeTypeOf('object')
    }
  })
})
