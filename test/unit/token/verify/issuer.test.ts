import { describe, expect, test } from 'vitest'
import {
  issuerProblems,
  mayNameRole,
  pinnedAlgorithms,
  tokenUserName,
} from '../../../../server/token/verify/issuer.ts'
import { SECRET, testIssuer, type IssuerChanges } from '../../../support/tokens.ts'

const FILE = { kind: 'public-key-file', path: 'issuer.pem' } as const
const URL_KEYS = { kind: 'jwks-url', url: 'https://auth.example/keys' } as const

describe('an issuer can be used', () => {
  const good: [string, IssuerChanges][] = [
    ['with a secret of 32 bytes', {}],
    ['with HS512 named for its secret', { algorithms: ['HS512'] }],
    ['with a public key file and its algorithm', { keys: FILE, algorithms: ['ES256'] }],
    ['with a key set behind https', { keys: URL_KEYS, algorithms: ['RS256', 'EdDSA'] }],
    [
      'with a key set behind http on loopback',
      { keys: { kind: 'jwks-url', url: 'http://127.0.0.1:9/keys' }, algorithms: ['RS256'] },
    ],
    [
      'with a key set behind http on localhost',
      { keys: { kind: 'jwks-url', url: 'http://localhost/keys' }, algorithms: ['RS256'] },
    ],
    [
      'with a previous secret that ends',
      {
        keys: {
          kind: 'secret',
          secret: SECRET,
          previous: { secret: SECRET, validUntilMs: 1_800_000_000_000 },
        },
      },
    ],
    ['under an alias', { alias: 'shop-2' }],
  ]
  test.each(good)('%s', (_name, changes) => {
    expect(issuerProblems([testIssuer(changes)])).toEqual([])
  })
})

describe('the roles that an issuer may name', () => {
  test.each([
    [undefined, 'anything', true],
    [[], 'member', false],
    [['member'], 'member', true],
    [['member'], 'members', false],
    [['mem*', 'x'], 'member', true],
    [['*'], '__proto__', true],
    [['[a-c]?'], 'b1', true],
  ] as [readonly string[] | undefined, string, boolean][])('%j and %s: %j', (roles, role, may) => {
    expect(mayNameRole(testIssuer({ roles }), role)).toBe(may)
  })
})

describe('an issuer is refused, with the directive to change', () => {
  const bad: [string, IssuerChanges, RegExp][] = [
    ['without iss', { iss: '' }, /^jwt-issuer must be/],
    ['without audience', { audience: [] }, /^jwt-audience must be/],
    ['with an empty audience', { audience: [''] }, /^jwt-audience must be/],
    ['without a claim name', { claim: '' }, /^jwt-claim /],
    [
      'with scopes in no claim',
      { format: { kind: 'scope', claim: '', prefix: '' } },
      /^jwt-scope-claim must name a claim$/,
    ],
    [
      'with groups in no claim',
      { format: { kind: 'groups', claim: '', roles: new Map([['a', ['b']]]) } },
      /^jwt-groups-claim must name a claim$/,
    ],
    [
      'with groups that stand for nothing',
      { format: { kind: 'groups', claim: 'groups', roles: new Map() } },
      /^jwt-group-role must name a group and its role/,
    ],
    ['under the name of the default one', { alias: 'default' }, /^issuer 'default' is the one/],
    ['with a negative leeway', { leewaySeconds: -1 }, /^jwt-leeway /],
    ['with a leeway of an hour', { leewaySeconds: 3600 }, /^jwt-leeway /],
    ['with a lifetime of 0', { maxLifetimeSeconds: 0 }, /^jwt-max-lifetime /],
    [
      'with a secret of 31 bytes',
      { keys: { kind: 'secret', secret: SECRET.subarray(1) } },
      /^jwt-secret must be at least 32 bytes; it has 31$/,
    ],
    [
      'with a previous secret of 31 bytes',
      {
        keys: {
          kind: 'secret',
          secret: SECRET,
          previous: { secret: SECRET.subarray(1), validUntilMs: 1 },
        },
      },
      /^jwt-previous-secret must be/,
    ],
    [
      'with a previous secret that never ends',
      {
        keys: { kind: 'secret', secret: SECRET, previous: { secret: SECRET, validUntilMs: 0 } },
      },
      /^jwt-previous-secret-until /,
    ],
    ['with a key file and no algorithms', { keys: FILE }, /^jwt-algorithms must name/],
    ['with a key URL and no algorithms', { keys: URL_KEYS }, /^jwt-algorithms must name/],
    ["with algorithm 'none'", { algorithms: ['none'] }, /^jwt-algorithms cannot hold 'none'/],
    ["with algorithm 'NONE'", { algorithms: ['NONE'] }, /^jwt-algorithms cannot hold 'none'/],
    [
      'with HS256 for a public key',
      { keys: FILE, algorithms: ['HS256'] },
      /^jwt-algorithms cannot hold HS256 for public keys/,
    ],
    [
      'with RS256 for a secret',
      { algorithms: ['RS256'] },
      /^jwt-algorithms cannot hold RS256 for a secret/,
    ],
    ['with an unknown algorithm', { algorithms: ['HS257'] }, /^jwt-algorithms does not know/],
    [
      'with a key set behind plain http',
      { keys: { kind: 'jwks-url', url: 'http://auth.example/keys' }, algorithms: ['RS256'] },
      /^jwt-jwks-url must be https/,
    ],
    [
      'with plain http to a name that only begins like loopback',
      { keys: { kind: 'jwks-url', url: 'http://127.0.0.1.evil.example/' }, algorithms: ['RS256'] },
      /^jwt-jwks-url must be https/,
    ],
    [
      'with a file: URL',
      { keys: { kind: 'jwks-url', url: 'file:///keys' }, algorithms: ['RS256'] },
      /^jwt-jwks-url must be an https URL/,
    ],
    [
      'with a password in the URL',
      { keys: { kind: 'jwks-url', url: 'https://a:b@auth.example/' }, algorithms: ['RS256'] },
      /^jwt-jwks-url cannot hold a user name or password/,
    ],
    [
      'with something that is no URL',
      { keys: { kind: 'jwks-url', url: 'auth.example' }, algorithms: ['RS256'] },
      /^jwt-jwks-url is not a URL/,
    ],
    [
      'with a file of no name',
      { keys: { kind: 'jwks-file', path: '' }, algorithms: ['RS256'] },
      /^jwt-jwks-file must name a file/,
    ],
    [
      'that demands a kid of tokens by a secret',
      { requireKid: true },
      /^jwt-require-kid needs keys that have a kid\. Set jwt-jwks-file or jwt-jwks-url, or jwt-require-kid no$/,
    ],
    ['with an alias in capitals', { alias: 'Shop' }, /^issuer 'Shop' must have a name/],
    ['with an alias of 33 characters', { alias: 'a'.repeat(33) }, /must have a name/],
    ['under an alias, without iss', { alias: 'shop', iss: '' }, /^issuer shop issuer must be/],
  ]
  test.each(bad)('%s', (_name, changes, text) => {
    const problems = issuerProblems([testIssuer(changes)])
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(text)
  })
})

test('two issuers cannot share an iss, which alone chooses between them', () => {
  expect(issuerProblems([testIssuer(), testIssuer({ alias: 'shop' })])).toEqual([
    "issuer shop issuer is the same as jwt-issuer: 'https://auth.example'",
  ])
})

test('two issuers cannot share an alias', () => {
  const twins = [testIssuer({ alias: 'shop' }), testIssuer({ alias: 'shop', iss: 'other' })]
  expect(issuerProblems(twins)).toEqual(["issuer 'shop' is configured twice"])
})

test('a secret without named algorithms means HS256', () => {
  expect(pinnedAlgorithms(testIssuer())).toEqual(['HS256'])
})

test('the user of a token is jwt:<sub>, and jwt@<alias>:<sub> for a further issuer', () => {
  expect(tokenUserName(undefined, '42')).toBe('jwt:42')
  expect(tokenUserName('shop', '42')).toBe('jwt@shop:42')
})
