import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Issuer } from '../../../server/token/verify/issuer.ts'
import type { Fetch } from '../../../server/token/verify/key-fetch.ts'
import {
  jwks,
  makeKey,
  payload,
  SECRET,
  testAuthenticator,
  type IssuerChanges,
  testIssuer,
  token,
  tokenBy,
  userOf,
} from '../../support/tokens.ts'
import { fromShop, login, maySubscribe, OTHER, refusal, shop, type Tested } from './support/shop.ts'
import { folderWith } from '../../support/folder.ts'

describe('issuers that change under a running server', () => {
  test('a candidate that cannot be used changes nothing', async () => {
    const tested = testAuthenticator({ issuers: [testIssuer(), shop()] })
    const { authenticator } = tested
    const missing = { kind: 'secret-file', path: '/nonexistent/secret' } as const
    expect(() => authenticator.issuers.prepare([testIssuer(), shop({ keys: missing })])).toThrow(
      '/nonexistent/secret: cannot be read',
    )
    expect(() => authenticator.issuers.prepare([testIssuer(), shop({ audience: [] })])).toThrow(
      'issuer shop audience must be',
    )
    expect(await authenticator.authenticate(fromShop({}))).toHaveProperty('ok')
  })

  test('what is ready is not in force before it is put in force', async () => {
    const tested = testAuthenticator()
    const prepared = tested.authenticator.issuers.prepare([testIssuer(), shop()])
    expect(await refusal(tested, fromShop({}))).toBe('no issuer of this name is configured')
    expect(tested.authenticator.issuers.replace(prepared)).toEqual(new Set(['shop']))
    expect(await login(tested, fromShop({}))).toHaveProperty('userName', 'jwt@shop:42')
  })

  test('only those that changed are named', () => {
    const remote = testIssuer({ keys: url(), algorithms: ['ES256'] })
    const { authenticator } = testAuthenticator({ issuers: [remote, shop()] })
    const same = authenticator.issuers.prepare([remote, shop({ leewaySeconds: 9 })])
    expect(authenticator.issuers.replace(same)).toEqual(new Set(['shop']))
    const gone = authenticator.issuers.prepare([remote])
    expect(authenticator.issuers.replace(gone)).toEqual(new Set(['shop']))
    authenticator.issuers.stop()
  })

  test('a session of an issuer that is gone is trusted no longer', async () => {
    const tested = testAuthenticator({ issuers: [testIssuer(), shop()] })
    const own = await login(tested, token())
    const other = await login(tested, fromShop({}))
    tested.authenticator.issuers.replace(tested.authenticator.issuers.prepare([testIssuer()]))
    expect(tested.authenticator.trusts(own)).toBe(true)
    expect(tested.authenticator.trusts(other)).toBe(false)
  })

  test.each([
    ['another iss under its alias', { iss: 'https://else.example' }],
    ['another audience', { audience: ['else'] }],
    ['another algorithm', { algorithms: ['HS384'] }],
    ['a shorter lifetime than it has', { maxLifetimeSeconds: 60 }],
    ['another secret', { keys: { kind: 'secret', secret: SECRET } }],
    ['another claim', { claim: 'elsewhere' }],
    ['another format', { format: { kind: 'scope', claim: 'scope', prefix: '' } }],
  ] as [string, IssuerChanges][])(
    'a session whose token would be refused or read in another way is trusted no longer: %s',
    async (_name, changes) => {
      const tested = testAuthenticator({ issuers: [shop()] })
      const { authenticator } = tested
      const grant = await login(tested, fromShop({ channels: ['a'] }))
      authenticator.issuers.replace(authenticator.issuers.prepare([shop(changes)]))
      expect(authenticator.trusts(grant)).toBe(false)
      expect(authenticator.recompile(grant).user.selectors).toBe(grant.user.selectors)
    },
  )

  test.each([
    ['the same secret', {}],
    ['a further audience', { audience: ['else', 'respcast'] }],
    ['a longer lifetime', { maxLifetimeSeconds: 100_000 }],
    [
      'its secret as the one before',
      {
        keys: {
          kind: 'secret',
          secret: SECRET,
          previous: { secret: OTHER, validUntilMs: 1_800_000_000_000 },
        },
      },
    ],
  ] as [string, IssuerChanges][])(
    'a session stays where its token stays good: %s',
    async (_name, changes) => {
      const tested = testAuthenticator({ issuers: [shop()] })
      const { authenticator } = tested
      const grant = await login(tested, fromShop({ channels: ['a'] }))
      authenticator.issuers.replace(authenticator.issuers.prepare([shop(changes)]))
      expect(authenticator.trusts(grant)).toBe(true)
      authenticator.issuers.stop()
    },
  )

  test('a session is not cut for the age of its token: that is for its own end', async () => {
    const tested = testAuthenticator({ issuers: [shop()] })
    const grant = await login(tested, fromShop({}))
    tested.clock.stepWall(4_000_000)
    const { authenticator } = tested
    authenticator.issuers.replace(
      authenticator.issuers.prepare([shop({ audience: ['respcast', 'b'] })]),
    )
    expect(authenticator.trusts(grant)).toBe(true)
  })

  test('roles that the issuer may name no longer are gone from a live grant, others stay', async () => {
    const tested = testAuthenticator({ issuers: [shop({ roles: ['*'] })] })
    const { authenticator } = tested
    for (const name of ['member', 'admin']) {
      tested.roles.set(`role:${name}`, userOf(`role:${name}`, `+subscribe &${name}s`))
    }
    const grant = await login(tested, fromShop({ roles: ['member', 'admin'] }))
    authenticator.issuers.replace(
      authenticator.issuers.prepare([shop({ roles: ['member'], ceiling: '' })]),
    )
    const now = authenticator.recompile(grant)
    expect([maySubscribe(now, 'members'), maySubscribe(now, 'admins')]).toEqual([true, false])
    expect(authenticator.recompile(now)).toBe(now)
  })

  test('what acl-pubsub-default meant at login stays when the issuer changes', async () => {
    let pubsubDefault: 'allchannels' | 'resetchannels' = 'allchannels'
    const tested = testAuthenticator({ issuers: [shop()], pubsubDefault: () => pubsubDefault })
    const grant = await login(tested, fromShop({}))
    pubsubDefault = 'resetchannels'
    const { authenticator } = tested
    authenticator.issuers.replace(authenticator.issuers.prepare([shop({ leewaySeconds: 1 })]))
    expect(maySubscribe(authenticator.recompile(grant), 'any')).toBe(true)
  })

  test('a verification under way when its issuer goes is refused', async () => {
    const tested = testAuthenticator({ issuers: [testIssuer(), shop()] })
    const pending = tested.authenticator.authenticate(fromShop({}))
    tested.authenticator.issuers.replace(tested.authenticator.issuers.prepare([testIssuer()]))
    expect(await pending).toHaveProperty('refused.detail', 'no issuer of this name is configured')
  })

  test('a verification under way when the secret changes is judged by the new one', async () => {
    const tested = testAuthenticator({ issuers: [shop()] })
    const pending = tested.authenticator.authenticate(fromShop({}))
    const keys = { kind: 'secret', secret: SECRET } as const
    tested.authenticator.issuers.replace(tested.authenticator.issuers.prepare([shop({ keys })]))
    expect(await pending).toHaveProperty('refused.detail', 'the signature is wrong')
  })
})

function url(path = 'keys'): { kind: 'jwks-url'; url: string } {
  return { kind: 'jwks-url', url: `https://shop.example/${path}` }
}

describe('key sets of issuers that change', () => {
  const key = makeKey('ES256', 'one')
  const next = makeKey('ES256', 'two')
  const text = tokenBy(key, payload({ iss: 'https://shop.example' }))

  function remote(changes: IssuerChanges = {}): Issuer {
    return shop({ keys: url(), algorithms: ['ES256'], ...changes })
  }

  function serving(answers: Record<string, () => Promise<string>>): {
    tested: Tested
    fetched: string[]
    removed: string[]
  } {
    const fetched: string[] = []
    const removed: string[] = []
    const fetch: Fetch = async (from) => {
      const name = from.slice(from.lastIndexOf('/') + 1)
      fetched.push(name)
      return new Response(await (answers[name]?.() ?? Promise.reject(new Error('no route'))))
    }
    const events = {
      keysRemoved: (_issuer: Issuer, ids: readonly string[]) => removed.push(...ids),
    }
    return { tested: testAuthenticator({ issuers: [remote()], fetch, events }), fetched, removed }
  }

  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 30; turn++) await Promise.resolve()
  }

  test('the keys of a URL are kept, and not fetched again, while other settings change', async () => {
    const { tested, fetched } = serving({ keys: () => Promise.resolve(jwks(key)) })
    const { authenticator } = tested
    await authenticator.issuers.start()
    authenticator.issuers.replace(authenticator.issuers.prepare([remote({ leewaySeconds: 1 })]))
    expect(await authenticator.authenticate(text)).toHaveProperty('ok')
    expect(fetched).toEqual(['keys'])
    authenticator.issuers.stop()
  })

  test('under another URL live sessions are judged when its keys have come, and logins by its keys alone', async () => {
    let answer: (text: string) => void = () => {}
    const { tested, removed } = serving({
      keys: () => Promise.resolve(jwks(key)),
      moved: () => new Promise((resolve) => (answer = resolve)),
    })
    const { authenticator } = tested
    await authenticator.issuers.start()
    const grant = await login(tested, text)
    authenticator.issuers.replace(authenticator.issuers.prepare([remote({ keys: url('moved') })]))
    expect(authenticator.trusts(grant)).toBe(true)
    const early = authenticator.authenticate(text)
    answer(jwks(next))
    expect(await early).toHaveProperty('refused.detail', 'no key of the issuer fits')
    await settle()
    expect(removed).toEqual([grant.keyId])
    expect(authenticator.trusts(grant)).toBe(false)
    authenticator.issuers.stop()
  })

  test('a session whose key is in the set of the new URL stays', async () => {
    const { tested, removed } = serving({
      keys: () => Promise.resolve(jwks(key)),
      moved: () => Promise.resolve(jwks(next, key)),
    })
    const { authenticator } = tested
    await authenticator.issuers.start()
    const grant = await login(tested, text)
    authenticator.issuers.replace(authenticator.issuers.prepare([remote({ keys: url('moved') })]))
    await settle()
    expect(removed).toEqual([])
    expect(authenticator.trusts(grant)).toBe(true)
    authenticator.issuers.stop()
  })

  test('what a key set that was given up fetches has no effect any more', async () => {
    let answer: (text: string) => void = () => {}
    const { tested } = serving({
      keys: () => Promise.resolve(jwks(key)),
      moved: () => new Promise((resolve) => (answer = resolve)),
    })
    const { authenticator } = tested
    await authenticator.issuers.start()
    const grant = await login(tested, text)
    authenticator.issuers.discard(authenticator.issuers.prepare([remote({ keys: url('moved') })]))
    answer(jwks(next))
    await settle()
    expect(authenticator.trusts(grant)).toBe(true)
    expect(await authenticator.authenticate(text)).toHaveProperty('ok')
    authenticator.issuers.stop()
  })

  test('one key of two issuers is two keys: what one removes leaves the sessions of the other alone', async () => {
    let ours = jwks(key)
    const fetch: Fetch = (from) =>
      Promise.resolve(new Response(from.endsWith('ours') ? ours : jwks(key)))
    const removed: string[] = []
    const tested = testAuthenticator({
      issuers: [
        remote({ keys: url('ours') }),
        remote({ alias: 'twin', iss: 'https://twin.example', keys: url('theirs') }),
      ],
      fetch,
      events: { keysRemoved: (_issuer, ids) => removed.push(...ids) },
    })
    const { authenticator, clock } = tested
    await authenticator.issuers.start()
    const grant = await login(tested, text)
    const twin = await login(tested, tokenBy(key, payload({ iss: 'https://twin.example' })))
    ours = jwks(next)
    clock.advance(600_000)
    await settle()
    await authenticator.issuers.start()
    expect(removed).toEqual([grant.keyId])
    expect(twin.keyId).not.toBe(grant.keyId)
    authenticator.issuers.stop()
  })

  test('a key set in a file is read when the change is made, and a bad one refuses it', async () => {
    const path = join(folderWith(), 'keys.json')
    const { authenticator } = testAuthenticator()
    const issuers = [remote({ keys: { kind: 'jwks-file', path } })]
    expect(() => authenticator.issuers.prepare(issuers)).toThrow(`${path}: cannot be read`)
    writeFileSync(path, '{"keys":[]}')
    expect(() => authenticator.issuers.prepare(issuers)).toThrow(
      `${path}: the key set holds no key that verifies signatures`,
    )
    writeFileSync(path, jwks(key))
    authenticator.issuers.replace(authenticator.issuers.prepare(issuers))
    expect(await authenticator.authenticate(text)).toHaveProperty('ok')
    authenticator.issuers.stop()
  })

  test('the sessions of a previous secret are told of its end', async () => {
    const removed: string[] = []
    const previous = { secret: OTHER, validUntilMs: 1_700_000_060_000 }
    const tested = testAuthenticator({
      issuers: [shop({ keys: { kind: 'secret', secret: SECRET, previous } })],
      events: { keysRemoved: (_issuer, ids) => removed.push(...ids) },
    })
    await tested.authenticator.issuers.start()
    const grant = await login(tested, fromShop({}))
    tested.clock.advance(59_999)
    expect(removed).toEqual([])
    tested.clock.advance(1)
    expect(removed).toEqual([grant.keyId])
  })
})
