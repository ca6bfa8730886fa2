import fc from 'fast-check'
import { expect, test } from 'vitest'
import { authorize } from '../../../../server/acl/authorize.ts'
import {
  joinSelectors,
  applyRules,
  newUser,
  unrestrictedUser,
} from '../../../../server/acl/rules.ts'
import type { User } from '../../../../server/acl/user.ts'
import { TokenExplainer } from '../../../../server/token/explain/explain.ts'
import { TokenOverlay } from '../../../../server/token/revoke/channels.ts'
import { RevocationTable } from '../../../../server/token/revoke/table.ts'
import { CATALOG, testAuthenticator, tokenFor, userOf } from '../../../support/tokens.ts'
import { question } from '../support/ten-tokens.ts'

/** Names of channels and patterns that meet, some of them only as globs. */
const NAMES = ['a', 'ab', 'a*', '*', 'a?', '[a]', 'b', 'x:42', 'a\\*'] as const
const name = fc.constantFrom(...NAMES)
const names = fc.option(fc.array(name, { maxLength: 3 }), { nil: undefined })

const claims = fc.record({
  roles: fc.option(fc.subarray(['r', 'missing']), { nil: undefined }),
  channels: names,
  subscribe: names,
  publish: names,
  deny: names,
})

const rules = fc.option(
  fc
    .array(
      fc.constantFrom(
        '+subscribe',
        '+publish',
        '+psubscribe',
        '&a',
        '&a*',
        '&x:{sub}',
        '(+subscribe &b)',
      ),
      { maxLength: 4 },
    )
    .map((list) => list.join(' ')),
  { nil: undefined },
)

const ceiling = fc.option(
  fc.constantFrom('on +@all allchannels', 'on +@all &a*', 'on +subscribe &b', 'off +@all', 'on'),
  { nil: undefined },
)

const command = fc
  .tuple(fc.constantFrom('SUBSCRIBE', 'PSUBSCRIBE', 'PUBLISH'), name, name)
  .map(([word, one, other]) => (word === 'PUBLISH' ? `${word} ${one}` : `${word} ${one} ${other}`))

interface Said {
  roles?: string[] | undefined
  channels?: string[] | undefined
  subscribe?: string[] | undefined
  publish?: string[] | undefined
  deny?: string[] | undefined
}

/** Carries out what a fix says. @returns False where it is not a change of rules or of the token. */
function carryOut(fix: string, users: Map<string, User>, said: Said): boolean {
  if (fix.startsWith('ACL SETUSER ')) {
    const [, , userName = '', ...words] = fix.split(' ')
    const joined = joinSelectors(words)
    if ('error' in joined) throw new Error(fix)
    const fresh = userName.startsWith('jwt')
      ? unrestrictedUser(CATALOG, userName)
      : newUser(CATALOG, userName, { pubsubDefault: 'resetchannels' })
    const options = { pubsubDefault: 'resetchannels' } as const
    const result = applyRules(CATALOG, users.get(userName) ?? fresh, joined.rules, options)
    if (!('user' in result)) throw new Error(`${fix}: ${result.error}`)
    users.set(userName, result.user)
    return true
  }
  const [, list] = /^a token with (\{.*\})$/.exec(fix) ?? []
  if (list !== undefined) {
    const { respcast } = JSON.parse(list) as { respcast: Pick<Said, 'subscribe' | 'publish'> }
    for (const key of ['subscribe', 'publish'] as const) {
      if (respcast[key]) said[key] = [...(said[key] ?? []), ...respcast[key]]
    }
    return true
  }
  const [, pattern] = /^a token without (".*") in deny$/.exec(fix) ?? []
  if (pattern === undefined) return false
  said.deny = said.deny?.filter((one) => one !== JSON.parse(pattern))
  return true
}

test('an explanation agrees with the check, and its fixes, carried out one by one, lead to what was asked', async () => {
  await fc.assert(
    fc.asyncProperty(claims, rules, ceiling, command, async (asked, role, bound, line) => {
      const { authenticator, roles: users, clock } = testAuthenticator()
      const revocations = new RevocationTable({ clock })
      const explainer = new TokenExplainer({
        authenticator,
        findUser: (userName) => users.get(userName),
        grantOf: () => undefined,
        revocations,
      })
      if (role !== undefined) users.set('role:r', userOf('role:r', role))
      if (bound !== undefined) users.set('jwt:42', userOf('jwt:42', bound))
      const said: Said = { ...asked }
      for (let steps = 0; ; steps++) {
        expect(steps, 'fixes come to an end').toBeLessThan(10)
        const token = tokenFor(said)
        const explanation = await explainer.explainToken(token, question(line))
        const result = await authenticator.authenticate(token)
        if ('refused' in result) throw new Error(result.refused.detail)
        const grant = result.ok
        const identity = authenticator.grants.identityOf(grant)
        const mayLogIn = identity.ceilings.every(({ enabled }) => enabled)
        const overlay = new TokenOverlay(grant, revocations.channels)
        const { entry, request } = question(line)
        const denial = authorize(identity, overlay, entry, request)
        expect(explanation.allowed).toBe(mayLogIn && denial === undefined)
        if (explanation.allowed) {
          expect(explanation.fix).toBeUndefined()
          expect(explanation.rule).toBeDefined()
          return
        }
        const { fix } = explanation
        expect(fix).toBeDefined()
        if (fix === 'one command for each channel') return
        expect(carryOut(fix ?? '', users, said), fix).toBe(true)
      }
    }),
    { numRuns: 200 },
  )
}, 30_000)
