import { beforeAll, describe, expect, test } from 'vitest'
import type { TokenAuthenticator } from '../../../../server/token/session/authenticator.ts'
import { tokenUserName } from '../../../../server/token/verify/issuer.ts'
import {
  compact,
  hmac,
  jwks,
  makeKey,
  payload,
  SECRET,
  testAuthenticator,
  testIssuer,
  token,
  tokenBy,
  userOf,
} from '../../../support/tokens.ts'

const OTHER_SECRET = Buffer.from('fedcba9876543210fedcba9876543210', 'latin1')
const TRUSTED = 'https://auth.example'
const SHOP = 'https://shop.example'
const APPS = 'https://apps.example'
const BANK = 'https://bank.example'

// Two issuers have a key under one kid; whose token it is decides which of them counts.
const appsKey = makeKey('ES256', 'shared')
const bankKey = makeKey('ES256', 'shared')
const appsOwn = makeKey('ES256', 'apps-1')

let all: TokenAuthenticator

beforeAll(async () => {
  const tested = testAuthenticator({
    issuers: [
      testIssuer(),
      testIssuer({
        alias: 'shop',
        iss: SHOP,
        audience: ['shop'],
        keys: { kind: 'secret', secret: OTHER_SECRET },
        roles: [],
      }),
      testIssuer({
        alias: 'apps',
        iss: APPS,
        algorithms: ['ES256'],
        keys: { kind: 'jwks-url', url: 'https://apps.example/keys' },
        roles: ['guest'],
      }),
      testIssuer({
        alias: 'bank',
        iss: BANK,
        algorithms: ['ES256'],
        keys: { kind: 'jwks-url', url: 'https://bank.example/keys' },
        roles: [],
      }),
    ],
    fetch: (url) =>
      Promise.resolve(new Response(url.startsWith(APPS) ? jwks(appsKey, appsOwn) : jwks(bankKey))),
  })
  tested.roles.set('role:admin', userOf('role:admin', '+@all allchannels'))
  tested.roles.set('role:guest', userOf('role:guest', '+subscribe &guests:{iss}:{sub}'))
  all = tested.authenticator
  await all.issuers.start()
  all.issuers.stop()
})

const from = (iss: unknown, changes: object = {}): Record<string, unknown> =>
  payload({ iss, ...changes })

const hs = (body: object, secret: Buffer): string => compact({ alg: 'HS256' }, body, hmac(secret))

const refused: [string, () => string][] = [
  ["the default issuer's secret under another iss", () => hs(from(SHOP, { aud: 'shop' }), SECRET)],
  ["another issuer's secret under the default iss", () => hs(from(TRUSTED), OTHER_SECRET)],
  ['the audience of the default issuer at another one', () => hs(from(SHOP), OTHER_SECRET)],
  ['the audience of another issuer at the default one', () => token(payload({ aud: 'shop' }))],
  ['a secret where a key set is configured', () => hs(from(APPS), SECRET)],
  ['a key where a secret is configured', () => tokenBy(appsOwn, from(TRUSTED))],
  ['one kid of two issuers, signed with the key of the other', () => tokenBy(bankKey, from(APPS))],
  ['the same the other way round', () => tokenBy(appsKey, from(BANK))],
  ['a kid of one issuer under the iss of another', () => tokenBy(appsOwn, from(BANK))],
  [
    'a kid that names another issuer',
    () => tokenBy(bankKey, from(APPS), { kid: `${BANK}#shared` }),
  ],
  ['a jku of another trusted issuer', () => tokenBy(bankKey, from(APPS), { jku: `${BANK}/keys` })],
  [
    'an iss in the header, of the issuer whose key it is',
    () => tokenBy(bankKey, from(APPS), { iss: BANK }),
  ],
  ['two iss, the good one first', () => twoIssuers(APPS, BANK)],
  ['two iss, the good one last', () => twoIssuers(BANK, APPS)],
  ['iss in capitals', () => tokenBy(appsKey, from('https://APPS.example'))],
  ['iss with a slash after it', () => tokenBy(appsKey, from(`${APPS}/`))],
  ['iss with a port that is the usual one', () => tokenBy(appsKey, from(`${APPS}:443`))],
  ['iss with a blank after it', () => tokenBy(appsKey, from(`${APPS} `))],
  ['iss with a NUL after it', () => tokenBy(appsKey, from(`${APPS}\0`))],
  ['iss that is the alias', () => tokenBy(appsKey, from('apps'))],
  ['iss that is the empty text', () => tokenBy(appsKey, from(''))],
  ['iss in a list with a good one', () => tokenBy(appsKey, from([APPS, BANK]))],
  ['iss __proto__', () => tokenBy(appsKey, from('__proto__'))],
  ['iss constructor', () => tokenBy(appsKey, from('constructor'))],
  ['iss of a stranger', () => tokenBy(appsKey, from('https://evil.example'))],
  [
    'sub with the white space that would end a name in ACL text',
    () => tokenBy(appsKey, from(APPS, { sub: 'a on nopass' })),
  ],
]

/** A payload in which `iss` stands twice. JSON.parse keeps the last one, here as when the token was chosen its issuer. */
function twoIssuers(first: string, last: string): string {
  const body = JSON.stringify(from(last)).replace('{', `{"iss":${JSON.stringify(first)},`)
  // Each is signed with the key of the issuer that does not count.
  return tokenBy(last === APPS ? bankKey : appsKey, body)
}

describe('with several issuers a bad token gets the one same refusal', () => {
  test.each(refused)('%s', async (_name, make) => {
    expect(await all.authenticate(make())).toMatchObject({
      refused: { reply: 'WRONGPASS invalid token' },
    })
  })
})

test('the good tokens beside these attacks are accepted, each as its own user', async () => {
  const good = [
    token(),
    hs(from(SHOP, { aud: 'shop' }), OTHER_SECRET),
    tokenBy(appsKey, from(APPS)),
    tokenBy(bankKey, from(BANK)),
  ]
  const names: unknown[] = []
  for (const text of good) {
    const result = await all.authenticate(text)
    names.push('ok' in result ? result.ok.userName : result.refused.detail)
  }
  expect(names).toEqual(['jwt:42', 'jwt@shop:42', 'jwt@apps:42', 'jwt@bank:42'])
})

describe('names of users cannot be made to meet', () => {
  const subs = [
    'alice',
    '@apps:alice',
    'apps:alice',
    'jwt@apps:alice',
    'jwt:alice',
    ':alice',
    '@',
    'default',
  ]

  test('whatever the subjects of several issuers are', async () => {
    const seen = new Map<string, string>()
    for (const sub of subs) {
      const tokens = [
        [TRUSTED, token(payload({ sub }))],
        [APPS, tokenBy(appsKey, from(APPS, { sub }))],
        [BANK, tokenBy(bankKey, from(BANK, { sub }))],
      ] as const
      for (const [iss, text] of tokens) {
        const result = await all.authenticate(text)
        if ('refused' in result) throw new Error(result.refused.detail)
        const who = `${iss} ${sub}`
        expect(seen.get(result.ok.userName), `${who} has the name of another`).toBeUndefined()
        seen.set(result.ok.userName, who)
        expect(['default', 'admin', 'role:admin']).not.toContain(result.ok.userName)
      }
    }
    expect(seen.size).toBe(subs.length * 3)
  })

  test('since an alias holds no colon, what follows the first one is the subject', () => {
    expect(tokenUserName('a', 'b:c')).toBe('jwt@a:b:c')
    expect(tokenUserName(undefined, '@a:b:c')).toBe('jwt:@a:b:c')
    for (const alias of ['a:b', 'A', '', 'a b', 'é', 'x'.repeat(33), 'a@b', 'default']) {
      const make = (): unknown => testAuthenticator({ issuers: [testIssuer({ alias })] })
      expect(make, alias).toThrow(/^issuer '/)
    }
  })

  test('nor do two issuers have one alias, or one iss', () => {
    const twice = (one: object, other: object) => () =>
      testAuthenticator({ issuers: [testIssuer(one), testIssuer(other)] })
    expect(twice({ alias: 'a', iss: 'x' }, { alias: 'a', iss: 'y' })).toThrow(
      "issuer 'a' is configured twice",
    )
    expect(twice({ alias: 'a', iss: 'x' }, { alias: 'b', iss: 'x' })).toThrow(
      "issuer b issuer is the same as issuer a issuer: 'x'",
    )
    expect(twice({ iss: 'x' }, { alias: 'b', iss: 'x' })).toThrow(
      "issuer b issuer is the same as jwt-issuer: 'x'",
    )
  })
})

describe('an issuer does not get beyond its bounds', () => {
  const channels = async (text: string): Promise<readonly string[]> => {
    const result = await all.authenticate(text)
    if ('refused' in result) throw new Error(result.refused.detail)
    return result.ok.user.selectors.flatMap((selector) => [
      ...(selector.allChannels ? ['*'] : []),
      ...selector.channels.map(({ pattern }) => pattern),
    ])
  }

  test.each([
    ['admin'],
    ['role:admin'],
    ['guest:admin'],
    ['*'],
    ['gues?'],
    ['../admin'],
    ['__proto__'],
    ['Guest'],
  ])('by a role that it may not name: %s', async (role) => {
    expect(await channels(tokenBy(appsKey, from(APPS, { respcast: { roles: [role] } })))).toEqual(
      [],
    )
  })

  test('by its own role, which knows the issuer by {iss}: the separators of a URL make it vanish', async () => {
    const text = tokenBy(appsKey, from(APPS, { respcast: { roles: ['guest'] } }))
    expect(await channels(text)).toEqual([])
  })

  test('by an algorithm that only another issuer has pinned', async () => {
    expect(await all.authenticate(hs(from(APPS), OTHER_SECRET))).toHaveProperty(
      'refused.detail',
      'the algorithm is not one of ES256',
    )
  })
})
