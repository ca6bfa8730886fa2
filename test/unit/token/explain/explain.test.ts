import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { authorize } from '../../../../server/acl/authorize.ts'
import { verdictOf, type Explanation } from '../../../../server/token/explain/explain.ts'
import type { CompiledGrant } from '../../../../server/token/grant/grants.ts'
import { TokenExplainer } from '../../../../server/token/explain/explain.ts'
import type { ClaimsFormat } from '../../../../server/token/verify/issuer.ts'
import { TokenOverlay } from '../../../../server/token/revoke/channels.ts'
import type { RevocationOrder } from '../../../../server/token/revoke/revocation.ts'
import { RevocationTable } from '../../../../server/token/revoke/table.ts'
import type { AuthenticatorParts } from '../../../../server/token/session/authenticator.ts'
import {
  NOW,
  SECRET,
  compact,
  hmac,
  payload,
  revocationOrder,
  testAuthenticator,
  testIssuer,
  token,
  tokenFor,
  userOf,
} from '../../../support/tokens.ts'
import {
  pageExplainer,
  pageToken,
  question,
  tenTokens,
  tenTokensPage,
} from '../support/ten-tokens.ts'

const CHANNEL_ORDER = revocationOrder({ kind: 'channel', target: 'room:*' })

function explaining(changes: Partial<AuthenticatorParts> = {}) {
  const tested = testAuthenticator(changes)
  const revocations = new RevocationTable({ clock: tested.clock })
  const explainer = new TokenExplainer({
    authenticator: tested.authenticator,
    findUser: (name) => tested.roles.get(name),
    grantOf: () => undefined,
    revocations,
  })
  const ask = (text: string, line?: string): Promise<Explanation> =>
    explainer.explainToken(text, line === undefined ? undefined : question(line))
  return { ...tested, revocations, ask }
}

test('docs/tokens.md explains ten tokens as the server explains them', async () => {
  const page = readFileSync(new URL('../../../../docs/tokens.md', import.meta.url), 'utf8')
  const tokens = await tenTokens()
  expect(tokens).toHaveLength(10)
  expect(page).toContain(tenTokensPage(tokens))
})

describe('what a token may do is explained by', () => {
  test('the rule and its source, for a token with a list that is every channel', async () => {
    const { ask } = explaining()
    expect(await ask(tokenFor({ publish: ['*'] }), 'PUBLISH x')).toMatchObject({
      allowed: true,
      rule: 'allchannels',
      source: 'claim',
      role: undefined,
      fix: undefined,
    })
  })

  test('acl-pubsub-default, where the token says nothing', async () => {
    const { ask } = explaining({ pubsubDefault: () => 'allchannels' })
    const explanation = await ask(token(), 'SUBSCRIBE x')
    expect(explanation).toMatchObject({ allowed: true, rule: 'allchannels', source: 'default' })
  })

  test('what every token has, for a command without channels', async () => {
    const { ask } = explaining()
    expect(await ask(token(), 'PING')).toMatchObject({
      allowed: true,
      rule: '+ping',
      source: 'default',
    })
  })

  test('the first selector that allows it, in the order of the roles, the own lists last', async () => {
    const { ask, roles } = explaining()
    roles.set('role:a', userOf('role:a', '+subscribe &other'))
    roles.set('role:b', userOf('role:b', '+subscribe &x*'))
    const text = tokenFor({ roles: ['a', 'b'], subscribe: ['x1'] })
    expect(await ask(text, 'SUBSCRIBE x1')).toMatchObject({ role: 'b', rule: '&x*' })
    expect(await ask(text, 'SUBSCRIBE x1 xx')).toMatchObject({ role: 'b', rule: '&x*' })
  })

  test('all rules that it takes for several channels', async () => {
    const { ask } = explaining()
    const text = tokenFor({ subscribe: ['a', 'b*'] })
    expect(await ask(text, 'SUBSCRIBE a b1 b2')).toMatchObject({ rule: '&a &b*' })
  })

  test('the ceilings that bound it, also where they allow', async () => {
    const { ask, roles } = explaining()
    roles.set('jwt:42', userOf('jwt:42', 'on +@all allchannels'))
    expect(await ask(token(), 'PING')).toMatchObject({ allowed: true, ceiling: 'jwt:42' })
    expect(await ask(token())).toMatchObject({ allowed: true, ceiling: 'jwt:42' })
  })
})

describe('what a token may not do is explained with a fix that fixes it', () => {
  const formats: [string, ClaimsFormat, string, object][] = [
    [
      'respcast',
      { kind: 'respcast' },
      'a token with {"respcast":{"subscribe":["room:7"]}}',
      { respcast: { subscribe: ['room:7'] } },
    ],
    [
      'scope',
      { kind: 'scope', claim: 'scope', prefix: 'rc:' },
      'a token with the scope rc:subscribe:room:7',
      { scope: 'rc:subscribe:room:7' },
    ],
    [
      'authorization-details',
      { kind: 'authorization-details' },
      'a token with {"authorization_details":[{"type":"respcast","actions":["subscribe"],"channels":["room:7"]}]}',
      {
        authorization_details: [{ type: 'respcast', actions: ['subscribe'], channels: ['room:7'] }],
      },
    ],
  ]
  test.each(formats)('by a claim, in the format %s', async (_name, format, fix, claims) => {
    const { ask } = explaining({ issuers: [testIssuer({ format })] })
    expect(await ask(token(), 'SUBSCRIBE room:7')).toMatchObject({ allowed: false, fix })
    expect(await ask(token(payload({ ...claims })), 'SUBSCRIBE room:7')).toMatchObject({
      allowed: true,
    })
  })

  test('by a line of the groups table', async () => {
    const format = { kind: 'groups', claim: 'groups', roles: new Map([['a', ['b']]]) } as const
    const { ask } = explaining({ issuers: [testIssuer({ format })] })
    expect(await ask(token(), 'PUBLISH x')).toMatchObject({ fix: 'jwt-group-role <group> <role>' })
  })

  test('by a role, whose rule names the channel literally', async () => {
    const { ask, roles } = explaining()
    roles.set('role:r', userOf('role:r', '(resetchannels +subscribe &other)'))
    const text = tokenFor({ roles: ['r'] })
    const { fix } = await ask(text, 'PUBLISH a*b')
    expect(fix).toBe('ACL SETUSER role:r (resetchannels +publish +spublish &a\\*b)')
    roles.set(
      'role:r',
      userOf(
        'role:r',
        '(resetchannels +subscribe &other) (resetchannels +publish +spublish &a\\*b)',
      ),
    )
    expect(await ask(text, 'PUBLISH a*b')).toMatchObject({ allowed: true })
    expect(await ask(text, 'PUBLISH axb')).toMatchObject({ allowed: false })
  })

  test('by making the role that it names', async () => {
    const { ask } = explaining()
    expect(await ask(tokenFor({ roles: ['new'] }), 'SUBSCRIBE a')).toMatchObject({
      fix: 'ACL SETUSER role:new off resetchannels (resetchannels +subscribe +psubscribe +ssubscribe &a)',
    })
  })

  test('by the channels that are lacking alone', async () => {
    const { ask, roles } = explaining()
    roles.set('role:r', userOf('role:r', '+subscribe &a'))
    expect(await ask(tokenFor({ roles: ['r'] }), 'SUBSCRIBE a b c')).toMatchObject({
      fix: 'ACL SETUSER role:r (resetchannels +subscribe +psubscribe +ssubscribe &b &c)',
    })
  })

  test('by nothing, for a command that no token can hold', async () => {
    const { ask, roles } = explaining()
    roles.set('role:r', userOf('role:r', '+@all allchannels'))
    expect(await ask(tokenFor({ roles: ['r'] }), 'CONFIG GET x')).toMatchObject({
      allowed: false,
      fix: 'none: a token cannot hold config|get',
    })
  })

  test('by the ceiling, for a channel or for the command', async () => {
    const { ask, roles } = explaining()
    const text = tokenFor({ channels: ['*'] })
    roles.set('jwt:42', userOf('jwt:42', 'on +subscribe &a'))
    expect(await ask(text, 'SUBSCRIBE b')).toMatchObject({
      allowed: false,
      ceiling: 'jwt:42',
      fix: 'ACL SETUSER jwt:42 &b',
    })
    expect(await ask(text, 'PUBLISH a')).toMatchObject({ fix: 'ACL SETUSER jwt:42 +publish' })
    roles.set('jwt:42', userOf('jwt:42', 'on +subscribe &a +publish &b'))
    expect(await ask(text, 'SUBSCRIBE b')).toMatchObject({ allowed: true })
    expect(await ask(text, 'PUBLISH a')).toMatchObject({ allowed: true })
  })

  test('by the ceiling, whose first-argument rule allows one of several channels', async () => {
    const { ask, roles } = explaining()
    const text = tokenFor({ channels: ['*'] })
    roles.set('jwt:42', userOf('jwt:42', 'on +subscribe|a &a &b'))
    expect(await ask(text, 'SUBSCRIBE a b')).toMatchObject({ allowed: true })
    expect(await ask(text, 'SUBSCRIBE b a')).toMatchObject({ fix: 'ACL SETUSER jwt:42 +subscribe' })
    expect(await ask(text, 'SUBSCRIBE a c')).toMatchObject({ fix: 'ACL SETUSER jwt:42 &c' })
    expect(await ask(text, 'SUBSCRIBE c a d')).toMatchObject({
      fix: 'ACL SETUSER jwt:42 +subscribe &c &d',
    })
  })

  test('by switching a ceiling on that is off: nobody logs in under it', async () => {
    const { ask, roles } = explaining()
    roles.set('jwt:42', userOf('jwt:42', 'off +@all allchannels'))
    for (const line of [undefined, 'PING']) {
      expect(await ask(token(), line)).toMatchObject({
        allowed: false,
        ceiling: 'jwt:42',
        fix: 'ACL SETUSER jwt:42 on',
      })
    }
  })

  test('by lifting the revocation, of the token or of the channel', async () => {
    const { ask, revocations } = explaining()
    const text = tokenFor({ channels: ['*'] })
    revocations.add({ ...CHANNEL_ORDER, only: 'subscribe' }, 'admin', 0)
    expect(await ask(text, 'SUBSCRIBE room:7')).toMatchObject({
      allowed: false,
      revocation: '1 CHANNEL room:*',
      fix: 'TOKEN UNREVOKE 1',
    })
    expect(await ask(text, 'PUBLISH room:7')).toMatchObject({ allowed: true })
    expect(await ask(text, 'PSUBSCRIBE *')).toMatchObject({ allowed: true })
    revocations.add({ ...CHANNEL_ORDER, kind: 'sub', target: '42', hard: true }, 'admin', 0)
    expect(await ask(text)).toMatchObject({ allowed: false, revocation: '2 SUB 42' })
    revocations.lift(2)
    revocations.lift(1)
    expect(await ask(text, 'SUBSCRIBE room:7')).toMatchObject({ allowed: true })
  })
})

describe('a token that is refused is explained by its fault', () => {
  test.each([
    ['expired', payload({ exp: NOW }), 'default', 'expired', 'a new token'],
    [
      'for somebody else',
      payload({ aud: 'x' }),
      'default',
      "'aud' names somebody else",
      "a token for this server, or its 'aud' among the audiences of the issuer",
    ],
    [
      'of a stranger',
      payload({ iss: 'https://évil.example' }),
      undefined,
      Buffer.from('no issuer of this name is configured: https://évil.example').toString('latin1'),
      "a configured issuer with exactly this 'iss'",
    ],
    [
      'of a stranger who hides and reorders letters',
      payload({ iss: 'https://\u202eau\u200bth.example' }),
      undefined,
      String.raw`no issuer of this name is configured: https://\u{202e}au\u{200b}th.example`,
      "a configured issuer with exactly this 'iss'",
    ],
    [
      'with a claim that is malformed',
      payload({ respcast: { channel: [] } }),
      'default',
      'unknown key "channel" in the claim',
      undefined,
    ],
  ])('%s', async (_name, body, issuer, rule, fix) => {
    const { ask } = explaining()
    const explanation = await ask(token(body))
    expect(explanation).toMatchObject({
      allowed: false,
      user: undefined,
      issuer,
      grant: undefined,
      role: undefined,
      rule,
      source: undefined,
      ceiling: undefined,
      revocation: undefined,
      fix,
    })
    // The key has verified those of its issuer; a token of a stranger was not verified at all.
    expect(explanation.key === undefined).toBe(issuer === undefined)
  })

  test('and what is no token at all, too', async () => {
    const { ask } = explaining()
    for (const text of ['', 'x', '..', 'a.b.c', 'x'.repeat(10_000)]) {
      expect((await ask(text, 'PING')).allowed).toBe(false)
    }
  })

  test('no part of a token shows in its explanation', async () => {
    const { ask } = explaining()
    const forged = compact({ alg: 'HS256' }, payload(), hmac(Buffer.alloc(32, 'x')))
    for (const text of [forged, token()]) {
      const shown = JSON.stringify(await ask(text, 'SUBSCRIBE a'))
      for (const part of text.split('.')) expect(shown).not.toContain(part)
    }
    expect(SECRET.length).toBe(32)
  })
})

describe('WHY names what refuses, and what beats comes first', () => {
  async function sessionOf(respcast: unknown, ceiling?: string) {
    const tested = explaining()
    if (ceiling !== undefined) tested.roles.set('jwt:42', userOf('jwt:42', ceiling))
    const result = await tested.authenticator.authenticate(tokenFor(respcast))
    if ('refused' in result) throw new Error(result.refused.detail)
    const grant: CompiledGrant = result.ok
    const identity = tested.authenticator.grants.identityOf(grant)
    const overlay = new TokenOverlay(grant, tested.revocations.channels)
    return {
      revoke: (order: RevocationOrder) => tested.revocations.add(order, 'admin', 0),
      why: (line: string) => {
        const { entry, request } = question(line)
        return verdictOf(authorize(identity, overlay, entry, request))
      },
    }
  }

  test('ok, command, channel', async () => {
    const { why } = await sessionOf({ subscribe: ['a'] })
    expect(why('SUBSCRIBE a')).toBe('ok')
    expect(why('SUBSCRIBE b')).toBe('channel')
    expect(why('PUBLISH a')).toBe('command')
    expect(why('CONFIG GET')).toBe('command')
    expect(why('PSUBSCRIBE a*')).toBe('channel')
  })

  test('ceiling before channel, deny before ceiling', async () => {
    const { why } = await sessionOf({ channels: ['a', 'b', 'c'], deny: ['c'] }, 'on +@all &a &c')
    expect(why('SUBSCRIBE a')).toBe('ok')
    expect(why('SUBSCRIBE b')).toBe('ceiling')
    expect(why('SUBSCRIBE x')).toBe('ceiling')
    expect(why('SUBSCRIBE c')).toBe('deny')
    expect(why('PUBLISH c')).toBe('deny')
  })

  test('a revoked channel is denied, in the direction that was revoked', async () => {
    const { why, revoke } = await sessionOf({ channels: ['*'] })
    revoke({ ...CHANNEL_ORDER, only: 'publish' })
    expect(why('PUBLISH room:7')).toBe('deny')
    expect(why('SUBSCRIBE room:7')).toBe('ok')
    revoke(CHANNEL_ORDER)
    expect(why('SUBSCRIBE room:7')).toBe('deny')
    expect(why('PSUBSCRIBE room:*'), 'a pattern lives on, and is filtered').toBe('ok')
  })
})

test('the explainer of the page knows what a live client is not: it has none', () => {
  const { explainer } = pageExplainer()
  expect(explainer.explainClient({} as never)).toBeUndefined()
  expect(pageToken({}).split('.')).toHaveLength(3)
})
