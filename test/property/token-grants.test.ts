import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readGrants, type ClaimedGrant } from '../../server/token/verify/claims.ts'
import { GrantCompiler, isDenied } from '../../server/token/grant/grants.ts'
import {
  expandRolePattern,
  fixedText,
  parseRolePattern,
} from '../../server/token/grant/placeholders.ts'
import { TokenFault } from '../../server/token/verify/refusal.ts'
import { compileGlob } from '../../shared/glob.ts'
import { literal, may, NAMES, reaches, steps, type Step } from '../support/naive-pattern.ts'
import {
  CATALOG,
  NOW,
  payload,
  testAuthenticator,
  testIssuer,
  token,
  userOf,
} from '../support/tokens.ts'

const patternText = fc.string({
  unit: fc.constantFrom('a', 'b', ':', '*', '?', '[', ']', '^', '-', '\\'),
  maxLength: 6,
})
const badText = fc.constantFrom('', 'a b', 'a\n', '\0', '\ud800', 'x'.repeat(257), '\u00a0', 'a\t')
const entry = fc.oneof(
  { weight: 30, arbitrary: patternText.filter((text) => text !== '') },
  { weight: 1, arbitrary: badText },
  { weight: 1, arbitrary: fc.constantFrom(null, 7, true, [], {}) },
)
const list = fc.oneof(
  { weight: 20, arbitrary: fc.array(entry, { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.constantFrom(null, '*', 7, {}) },
)
const claim = fc.record(
  { channels: list, subscribe: list, publish: list, deny: list, typo: fc.constant([]) },
  { requiredKeys: [] },
)

const LISTS = ['channels', 'subscribe', 'publish', 'deny']

function isWellFormed(claims: Readonly<Record<string, unknown>>): boolean {
  const isFit = (one: unknown): boolean =>
    typeof one === 'string' && one !== '' && one.length <= 256 && /^[!-~]+$/.test(one)
  return Object.entries(claims).every(
    ([key, value]) => LISTS.includes(key) && Array.isArray(value) && value.every(isFit),
  )
}

const strings = (value: unknown): string[] => (value === undefined ? [] : (value as string[]))

const RESPCAST = { claim: 'respcast', format: { kind: 'respcast' } } as const

const verified = (claimed: ClaimedGrant, body: object, sub = '42') => ({
  issuer: testIssuer(),
  sub,
  jti: undefined,
  kid: undefined,
  alg: 'HS256',
  keyId: '',
  key: { kid: undefined, thumbprint: '', digests: [] },
  issuedAtMs: 0,
  expiresAtMs: (NOW + 60) * 1000,
  claimed,
  payload: JSON.stringify(body),
})

function compiler(roleRules = '', separators = ':'): GrantCompiler {
  const role = roleRules === '' ? undefined : userOf('role:r', roleRules)
  return new GrantCompiler({
    catalog: CATALOG,
    findUser: (name) => (name === 'role:r' ? role : undefined),
    usersVersion: () => 0,
    pubsubDefault: () => 'resetchannels',
    separators,
  })
}

describe('no channel outside the intended set becomes reachable', () => {
  test('by whatever stands in the lists of a token', () => {
    const grants = compiler()
    fc.assert(
      fc.property(claim, (claims) => {
        const body = { respcast: claims }
        let claimed
        try {
          claimed = readGrants(body, RESPCAST)
        } catch (error) {
          expect(error).toBeInstanceOf(TokenFault)
          expect(isWellFormed(claims)).toBe(false)
          return
        }
        expect(isWellFormed(claims)).toBe(true)
        const grant = grants.compile(verified(claimed, body))
        const both = strings(claims.channels)
        const intended = {
          subscribe: [...both, ...strings(claims.subscribe)],
          publish: [...both, ...strings(claims.publish)],
        }
        const denied = strings(claims.deny)
        const all = (patterns: string[]): boolean => patterns.includes('*')
        const stepsOf = (patterns: string[]): Step[][] => patterns.map(steps)
        const ways = { subscribe: stepsOf(intended.subscribe), publish: stepsOf(intended.publish) }
        const denies = stepsOf(denied)
        for (const name of NAMES) {
          for (const command of ['subscribe', 'publish'] as const) {
            const wanted =
              all(intended[command]) || ways[command].some((pattern) => reaches(pattern, name))
            if (may(grant, command, name) !== wanted) expect([command, name]).toBe(wanted)
          }
          const isPattern = all(intended.subscribe) || intended.subscribe.includes(name)
          if (may(grant, 'psubscribe', name) !== isPattern)
            expect(['psubscribe', name]).toBe(isPattern)
          const isGone = all(denied) || denies.some((pattern) => reaches(pattern, name))
          if (isDenied(grant, name) !== isGone) expect(['deny', name]).toBe(isGone)
        }
      }),
      { numRuns: 400 },
    )
  })

  test('by whatever values fill the placeholders of a role', () => {
    const value = fc.string({
      unit: fc.constantFrom('a', 'b', '*', '[', '\\', '?', ':'),
      maxLength: 2,
    })
    const body = fc.record({
      v: fc.oneof(value, fc.constantFrom(null, 7, ['a'], {})),
      l: fc.oneof(fc.array(value, { maxLength: 3 }), value),
    })
    // Each with what it means: `sub`, `v` and the elements of `l` are literal.
    const roles: [string, (fill: { sub: string; v: string; l: string }) => Step[]][] = [
      ['{sub}', ({ sub }) => lit(sub)],
      ['a{sub}', ({ sub }) => [...lit('a'), ...lit(sub)]],
      ['{claim.v}*', ({ v }) => [...lit(v), 'star']],
      ['?{claim.l[]}', ({ l }) => [() => true, ...lit(l)]],
      ['{claim.v}{claim.l[]}', ({ v, l }) => [...lit(v), ...lit(l)]],
      ['[ab]{sub}', ({ sub }) => [(byte) => 'ab'.includes(byte), ...lit(sub)]],
    ]
    const lit = (text: string): Step[] => text.split('').map(literal)
    fc.assert(
      fc.property(fc.constantFrom(...roles), value, body, ([text, meaning], sub, claims) => {
        fc.pre(sub !== '')
        const grants = compiler(`+subscribe &${text}`)
        const whole = { ...claims, respcast: { roles: ['r'] } }
        const grant = grants.compile(verified(readGrants(whole, RESPCAST), whole, sub))
        const isFit = (one: unknown): one is string =>
          typeof one === 'string' && one !== '' && !one.includes(':')
        const subs = text.includes('{sub}') ? [sub].filter(isFit) : ['']
        const vs = text.includes('{claim.v}') ? [claims.v].filter(isFit) : ['']
        const l: unknown[] = Array.isArray(claims.l) ? claims.l : []
        const ls = text.includes('[]}') ? l.filter(isFit) : ['']
        const intended = subs.flatMap((one) =>
          vs.flatMap((v) => ls.map((element) => meaning({ sub: one, v, l: element }))),
        )
        for (const name of NAMES) {
          const wanted = intended.some((pattern) => reaches(pattern, name))
          if (may(grant, 'subscribe', name) !== wanted)
            expect([text, sub, claims, name]).toBe(wanted)
          expect(may(grant, 'publish', name)).toBe(false)
        }
      }),
      { numRuns: 200 },
    )
  })

  test('by whatever pattern SETUSER lets into a role: a value is always literal there', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', '*', '?', '[', ']', '^', '-', '\\', '{{', '}}', '[a-]', '{sub}'),
      maxLength: 8,
    })
    let placed = 0
    fc.assert(
      fc.property(
        text,
        fc.constantFrom('*', 'b', '?', '[a', '\\', 'a-', ']', '^'),
        (pattern, sub) => {
          const parsed = parseRolePattern(pattern)
          if (typeof parsed === 'string' || fixedText(parsed) !== undefined) return
          placed++
          const values = { sub, iss: 'i', payload: () => ({}), separators: ':' }
          const [expanded = ''] = expandRolePattern(parsed, values) ?? []
          // The text between placeholders, each piece a pattern of its own: nothing runs over a placeholder.
          const naive = pattern
            .split('{sub}')
            .map((piece) => steps(piece.replaceAll('{{', '{').replaceAll('}}', '}')))
            .flatMap((piece, at) => (at === 0 ? piece : [...sub.split('').map(literal), ...piece]))
          const glob = compileGlob(expanded)
          for (const name of [...NAMES, sub, `${sub}${sub}`, `a${sub}`, `{${sub}}`, `${sub}a`]) {
            if (glob.matches(name) !== reaches(naive, name))
              expect([pattern, sub, expanded]).toBe(name)
          }
        },
      ),
      { numRuns: 3000 },
    )
    expect(placed).toBeGreaterThan(300)
  })
})

describe('a token that was changed on its way', () => {
  test('is refused, at whichever byte and by whatever other', async () => {
    const { authenticator } = testAuthenticator()
    const good = token(payload({ respcast: { channels: ['a'] } }), { kid: 'k' })
    await fc.assert(
      fc.asyncProperty(
        fc.nat(good.length - 1),
        fc.constantFrom(...'AQgw-_.=+/ {}"\0\n\xff'.split('')),
        async (at, byte) => {
          fc.pre(good[at] !== byte)
          const changed = good.slice(0, at) + byte + good.slice(at + 1)
          expect(await authenticator.authenticate(changed)).toHaveProperty(
            'refused.reply',
            'WRONGPASS invalid token',
          )
        },
      ),
      { numRuns: 500 },
    )
  })

  test('or is no token at all, is refused and never throws', async () => {
    const { authenticator } = testAuthenticator()
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 60 }), async (text) => {
        expect(await authenticator.authenticate(text)).toHaveProperty(
          'refused.reply',
          'WRONGPASS invalid token',
        )
      }),
      { numRuns: 300 },
    )
  })

  test('whatever JSON its payload is, it is a grant or a refusal', async () => {
    const { authenticator } = testAuthenticator()
    const name = fc.constantFrom('sub', 'exp', 'iat', 'nbf', 'aud', 'iss', 'jti')
    const json = fc.json({ maxDepth: 3 })
    await fc.assert(
      fc.asyncProperty(name, json, json, async (changed, value, claims) => {
        const text = JSON.stringify({
          ...payload({ respcast: JSON.parse(claims) as unknown }),
          [changed]: JSON.parse(value) as unknown,
        })
        const result = await authenticator.authenticate(token(text))
        expect('ok' in result || 'refused' in result).toBe(true)
        if ('ok' in result) expect(result.ok.userName).toMatch(/^jwt:[^\s\0]+$/)
      }),
      { numRuns: 300 },
    )
  })
})
