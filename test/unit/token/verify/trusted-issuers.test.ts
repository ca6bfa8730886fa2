import { describe, expect, test } from 'vitest'
import {
  compact,
  hmac,
  payload,
  SECRET,
  testAuthenticator,
  type IssuerChanges,
  testIssuer,
  token,
  tokenFor,
  userOf,
} from '../../../support/tokens.ts'
import {
  fromShop,
  login,
  maySubscribe,
  OTHER,
  refusal,
  shop,
  type Tested,
} from '../support/shop.ts'

describe('two issuers', () => {
  const both = { issuers: [testIssuer(), shop()] }

  test('have name spaces of their own: jwt:<sub> and jwt@<alias>:<sub>', async () => {
    const tested = testAuthenticator(both)
    expect((await login(tested, token())).userName).toBe('jwt:42')
    expect((await login(tested, fromShop({}))).userName).toBe('jwt@shop:42')
  })

  test('have keys of their own: who signs for one signs for no other', async () => {
    const tested = testAuthenticator(both)
    const stolen = compact({ alg: 'HS256' }, payload({ iss: 'https://shop.example' }), hmac(SECRET))
    expect(await refusal(tested, stolen)).toBe('the signature is wrong')
  })

  test('have audiences, algorithms and lifetimes of their own', async () => {
    const tested = testAuthenticator({
      issuers: [
        testIssuer(),
        shop({ audience: ['shop'], algorithms: ['HS512'], maxLifetimeSeconds: 60 }),
      ],
    })
    expect(await refusal(tested, fromShop({}))).toBe('the algorithm is not one of HS512')
    const sign = (changes: object): string =>
      compact(
        { alg: 'HS512' },
        payload({ iss: 'https://shop.example', aud: 'shop', ...changes }),
        hmac(OTHER, 'sha512'),
      )
    expect(await refusal(tested, sign({ aud: 'respcast' }))).toBe("'aud' names somebody else")
    expect(await refusal(tested, sign({}))).toBe('valid for longer than 60 seconds')
  })

  test('have claims of their own', async () => {
    const tested = testAuthenticator({
      issuers: [testIssuer(), shop({ claim: 'app.push' })],
    })
    const text = fromShop({ channels: ['wrong'] }, { app: { push: { channels: ['right'] } } })
    const grant = await login(tested, text)
    expect([maySubscribe(grant, 'right'), maySubscribe(grant, 'wrong')]).toEqual([true, false])
  })

  test('fill {iss} with their own name, escaped', async () => {
    const tested = testAuthenticator({
      issuers: [
        testIssuer({ iss: 'accounts' }),
        shop({ iss: 'shop*', roles: undefined }),
        shop({ alias: 'third', iss: 'a:b', roles: undefined }),
      ],
    })
    tested.roles.set('role:r', userOf('role:r', '+subscribe &of:{iss}:x'))
    const sign = (iss: string, secret: Buffer): string =>
      compact({ alg: 'HS256' }, payload({ iss, respcast: { roles: ['r'] } }), hmac(secret))
    const own = await login(tested, sign('accounts', SECRET))
    const other = await login(tested, sign('shop*', OTHER))
    const third = await login(tested, sign('a:b', OTHER))
    expect(maySubscribe(own, 'of:accounts:x')).toBe(true)
    expect(maySubscribe(other, 'of:shop*:x')).toBe(true)
    expect(maySubscribe(other, 'of:shop-of-others:x')).toBe(false)
    expect(third.user.selectors[1]?.channels, 'a separator makes it vanish').toEqual([])
  })
})

describe('the roles that an issuer may name', () => {
  const roles = (...allowed: string[]): Tested => {
    const tested = testAuthenticator({ issuers: [testIssuer(), shop({ roles: allowed })] })
    tested.roles.set('role:member', userOf('role:member', '+subscribe &members'))
    tested.roles.set('role:admin', userOf('role:admin', '+subscribe &admins'))
    return tested
  }

  test('are all for the default issuer', async () => {
    const grant = await login(roles(), tokenFor({ roles: ['member', 'admin'] }))
    expect([maySubscribe(grant, 'members'), maySubscribe(grant, 'admins')]).toEqual([true, true])
  })

  test('are none for another issuer that says nothing', async () => {
    const grant = await login(roles(), fromShop({ roles: ['member'] }))
    expect(maySubscribe(grant, 'members')).toBe(false)
  })

  test('are those that one of its globs matches', async () => {
    const grant = await login(roles('mem*', 'guest'), fromShop({ roles: ['member', 'admin'] }))
    expect([maySubscribe(grant, 'members'), maySubscribe(grant, 'admins')]).toEqual([true, false])
  })

  test('a role beyond them grants nothing, like one that does not exist, and the rest of the token holds', async () => {
    const grant = await login(roles(), fromShop({ roles: ['admin'], subscribe: ['a'] }))
    expect([maySubscribe(grant, 'a'), maySubscribe(grant, 'admins')]).toEqual([true, false])
    expect(grant.roles).toEqual(['admin'])
  })

  test('a role beyond them is still an explicit list: acl-pubsub-default allchannels opens nothing', async () => {
    const tested = testAuthenticator({
      issuers: [testIssuer(), shop()],
      pubsubDefault: () => 'allchannels',
    })
    expect(maySubscribe(await login(tested, fromShop({ roles: ['x'] })), 'a')).toBe(false)
    expect(maySubscribe(await login(tested, fromShop({})), 'a')).toBe(true)
  })

  test('bound the roles of a groups table as well, so that a table beyond them is refused', () => {
    const format = {
      kind: 'groups',
      claim: 'groups',
      roles: new Map([['staff', ['admin']]]),
    } as const
    expect(() => testAuthenticator({ issuers: [shop({ format, roles: ['member'] })] })).toThrow(
      "issuer shop group-role gives 'staff' the role 'admin', which issuer shop roles lacks",
    )
  })
})

describe('the ceiling of an issuer', () => {
  const bounded = (changes: IssuerChanges = {}): Tested =>
    testAuthenticator({ issuers: [testIssuer(), shop({ ceiling: 'partners', ...changes })] })

  test('bounds its tokens, beside the ceiling of the subject', async () => {
    const tested = bounded()
    const partners = userOf('partners', 'on +@all &shop:*')
    const own = userOf('jwt@shop:42', 'on +@all &shop:1')
    tested.roles.set('partners', partners)
    const grant = await login(tested, fromShop({ channels: ['*'] }))
    expect(tested.authenticator.grants.identityOf(grant).ceilings).toEqual([partners])
    tested.roles.set('jwt@shop:42', own)
    expect(tested.authenticator.grants.identityOf(grant).ceilings).toEqual([own, partners])
  })

  test('bounds no other issuer', async () => {
    const tested = bounded()
    tested.roles.set('partners', userOf('partners', 'on'))
    expect(tested.authenticator.grants.identityOf(await login(tested, token())).ceilings).toEqual(
      [],
    )
    expect(tested.authenticator.issuers.isCeiling('partners')).toBe(true)
    expect(tested.authenticator.issuers.isCeiling('jwt:42')).toBe(false)
  })

  test('that does not exist is off and allows nothing', async () => {
    const tested = bounded()
    const grant = await login(tested, fromShop({ channels: ['*'] }))
    const [ceiling] = tested.authenticator.grants.identityOf(grant).ceilings
    expect(ceiling).toMatchObject({ name: 'partners', enabled: false, passwords: [] })
    expect(ceiling?.selectors).toMatchObject([
      { allChannels: false, channels: [], allCommands: false, commandRules: [] },
    ])
  })

  test('that does not exist keeps the server from starting, and a change from being made', async () => {
    const { authenticator } = bounded()
    const message = "issuer shop ceiling: there is no ACL user 'partners'. Make it first."
    await expect(authenticator.issuers.start()).rejects.toThrow(message)
    expect(() => authenticator.issuers.prepare([shop({ ceiling: 'partners' })])).toThrow(message)
  })
})
