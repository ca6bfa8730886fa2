import { ok, strictEqual } from 'node:assert/strict'
import { isDenied, GrantCompiler } from '../../server/token/grant/grants.ts'
import { readGrants } from '../../server/token/verify/claims.ts'
import { TokenFault } from '../../server/token/verify/refusal.ts'
import { may, NAMES, reaches, steps } from '../support/naive-pattern.ts'
import { CATALOG, NOW, testIssuer } from '../support/tokens.ts'
import type { Dice } from './dice.ts'
import type { FuzzTarget } from './targets.ts'

const PATTERN_PIECES = [
  'a',
  'b',
  ':',
  '*',
  '?',
  '[',
  ']',
  '^',
  '-',
  '\\',
  '{sub}',
  '|',
  '&',
  '+@all',
]
const UNFIT = [
  ...[
    '',
    'a b',
    'a\n',
    '\0',
    '\ud800',
    'x'.repeat(257),
    '\u00a0',
    'a\t',
    '\u2028',
    '(&x) ',
    'é'.repeat(129),
  ],
  ...[null, 7, true, [], {}, ['a'], { a: 1 }],
]
const LISTS = ['channels', 'subscribe', 'publish', 'deny'] as const

type Claims = Record<string, unknown>

function entryOf(dice: Dice): unknown {
  if (dice.oneIn(40)) return dice.pick(UNFIT)
  return dice.several(1, 6, () => dice.pick(PATTERN_PIECES)).join('')
}

function claimsOf(dice: Dice): Claims {
  const claims: Claims = {}
  for (const list of LISTS) {
    if (dice.oneIn(2)) continue
    claims[list] = dice.oneIn(40)
      ? dice.pick<unknown>([null, '*', 7, {}, Array(300).fill('a')])
      : dice.several(0, 3, () => entryOf(dice))
  }
  if (dice.oneIn(40)) claims[dice.pick(['typo', '__proto__x', 'Channels', 'constructor'])] = []
  return claims
}

/** The same grants as scopes (RFC 6749 section 3.3), if they can be said so. */
function scopesOf(claims: Claims): string {
  const kinds = { channels: 'channel', subscribe: 'subscribe', publish: 'publish', deny: 'deny' }
  return LISTS.flatMap((list) => {
    const entries = Array.isArray(claims[list]) ? (claims[list] as unknown[]) : []
    return entries.map((entry) => `${kinds[list]}:${String(entry)}`)
  }).join(' ')
}

/** Reports whether a token with these claims has to be accepted: judged without any code of the server. */
function isWellFormed(claims: Claims): boolean {
  const isFit = (one: unknown): boolean =>
    typeof one === 'string' && one !== '' && one.length <= 256 && /^[!-~]+$/.test(one)
  return Object.entries(claims).every(
    ([key, value]) =>
      (LISTS as readonly string[]).includes(key) &&
      Array.isArray(value) &&
      value.every(isFit) &&
      value.length <= 256,
  )
}

/**
 * Claims of a token: one that is not understood as a whole is refused with a `TokenFault`, and one that is opens exactly those
 * channels that a second, naive implementation finds in its lists.
 */
export const claims: FuzzTarget = {
  name: 'claims',
  open: () => {
    const compiler = new GrantCompiler({
      catalog: CATALOG,
      findUser: () => undefined,
      usersVersion: () => 0,
      pubsubDefault: () => 'resetchannels',
      separators: ':',
    })
    return (dice) => {
      const made = claimsOf(dice)
      const hasScopes = dice.oneIn(4) && isWellFormed(made) && !scopesOf(made).includes('\\')
      const payload = hasScopes ? { scope: scopesOf(made) } : { respcast: made }
      let claimed
      try {
        claimed = readGrants(payload, {
          claim: 'respcast',
          format: hasScopes ? { kind: 'scope', claim: 'scope', prefix: '' } : { kind: 'respcast' },
        })
      } catch (error) {
        ok(error instanceof TokenFault, String(error))
        strictEqual(isWellFormed(made), false)
        return
      }
      strictEqual(isWellFormed(made), true)
      const grant = compiler.compile({
        issuer: testIssuer(),
        sub: '42',
        jti: undefined,
        kid: undefined,
        alg: 'HS256',
        keyId: '',
        key: { kid: undefined, thumbprint: '', digests: [] },
        issuedAtMs: 0,
        expiresAtMs: (NOW + 60) * 1000,
        claimed,
        payload: JSON.stringify(payload),
      })
      const listed = (list: (typeof LISTS)[number]): string[] => (made[list] ?? []) as string[]
      const intended = {
        subscribe: [...listed('channels'), ...listed('subscribe')],
        publish: [...listed('channels'), ...listed('publish')],
      }
      // Names that a pattern was written for, and others.
      const names = [
        ...dice.several(12, 12, () => dice.pick(NAMES)),
        ...[...intended.subscribe, ...intended.publish].flatMap((text) => [
          text,
          text.replaceAll('*', 'a'),
        ]),
      ]
      const among = (patterns: readonly string[], name: string): boolean =>
        patterns.some((text) => text === '*' || reaches(steps(text), name))
      for (const name of names) {
        for (const command of ['subscribe', 'publish'] as const) {
          strictEqual(
            may(grant, command, name),
            among(intended[command], name),
            `${command} ${name}`,
          )
        }
        const isListed = intended.subscribe.includes('*') || intended.subscribe.includes(name)
        strictEqual(may(grant, 'psubscribe', name), isListed, `psubscribe ${name}`)
        strictEqual(isDenied(grant, name), among(listed('deny'), name), `deny ${name}`)
      }
    }
  },
}
