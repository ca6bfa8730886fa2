import { describe, expect, test } from 'vitest'
import { authorize } from '../../../../server/acl/authorize.ts'
import type { PubsubDefault } from '../../../../server/acl/rules.ts'
import { ArgumentList } from '../../../../server/resp/request.ts'
import type { CompiledGrant } from '../../../../server/token/grant/grants.ts'
import { isDenied } from '../../../../server/token/grant/grants.ts'
import {
  CATALOG,
  testAuthenticator,
  testIssuer,
  token,
  payload,
  tokenFor,
  userOf,
} from '../../../support/tokens.ts'

type Tested = ReturnType<typeof testAuthenticator>

async function login(tested: Tested, text: string): Promise<CompiledGrant> {
  const result = await tested.authenticator.authenticate(text)
  if ('refused' in result) throw new Error(result.refused.detail)
  return result.ok
}

async function grantOf(
  respcast: unknown,
  roles: Readonly<Record<string, string>> = {},
  {
    pubsubDefault = 'resetchannels',
    ...claims
  }: Record<string, unknown> & {
    pubsubDefault?: PubsubDefault
  } = {},
): Promise<CompiledGrant> {
  const tested = testAuthenticator({ pubsubDefault: () => pubsubDefault })
  for (const [name, rules] of Object.entries(roles)) tested.roles.set(name, userOf(name, rules))
  return login(tested, tokenFor(respcast, claims))
}

/** Reports whether the compiled user passes the ACL check for a command line. */
function may(grant: CompiledGrant, line: string): boolean {
  const words = line.split(' ')
  const sub = CATALOG.lookup(`${words[0]}|${words[1]}`)
  const entry = sub ?? CATALOG.lookup(words[0] ?? '')
  if (!entry) throw new Error(line)
  const identity = { user: grant.user, ceilings: [], token: undefined }
  return authorize(identity, undefined, entry, ArgumentList.of(...words)) === undefined
}

/** Which of these command lines pass. */
const passing = (grant: CompiledGrant, ...commands: string[]): string[] =>
  commands.filter((line) => may(grant, line))

/** Command lines with commas between them. */
const lines = (text: string): string[] => text.split(', ')

const EVERY_WAY = ['subscribe x', 'ssubscribe x', 'psubscribe x', 'publish x m', 'spublish x m']
const SUBSCRIBING = EVERY_WAY.slice(0, 3)
const PUBLISHING = EVERY_WAY.slice(3)

describe('5: the compiled user', () => {
  test('is named jwt:<sub>, is on, and has no password', async () => {
    const { user, userName } = await grantOf({})
    expect(userName).toBe('jwt:42')
    expect(user).toMatchObject({
      name: 'jwt:42',
      enabled: true,
      noPassword: false,
      passwords: [],
    })
  })

  test('is named jwt@<alias>:<sub> for a further issuer', async () => {
    const tested = testAuthenticator({ issuers: [testIssuer({ alias: 'shop' })] })
    expect(await login(tested, token())).toMatchObject({
      userName: 'jwt@shop:42',
      issuerAlias: 'shop',
      sub: '42',
    })
  })

  test('is named by the bytes of a subject that is not ASCII', async () => {
    expect((await grantOf({}, {}, { sub: '\u00e9' })).userName).toBe('jwt:\xc3\xa9')
  })

  test('holds the common commands and no other', async () => {
    const grant = await grantOf({})
    const identity = { user: grant.user, ceilings: [], token: undefined }
    const allowed = CATALOG.all.filter((entry) => {
      const request = ArgumentList.of(...entry.name.split('|'))
      return authorize(identity, undefined, entry, request) === undefined
    })
    expect(allowed.map((entry) => entry.name).sort()).toEqual(
      lines(
        'acl|whoami, auth, client|getname, client|id, client|info, client|setinfo, client|setname, discard, echo, exec, hello, multi, ping, punsubscribe, quit, reset, select, sunsubscribe, token|why, unsubscribe',
      ).sort(),
    )
  })

  test('subscribes to subscribe and channels, publishes to publish and channels', async () => {
    const grant = await grantOf({ channels: ['both'], subscribe: ['s:*'], publish: ['p'] })
    expect(
      passing(
        grant,
        ...lines(
          'subscribe both, subscribe s:1, ssubscribe s:1, psubscribe s:*, subscribe p, psubscribe s:1, publish both m, spublish p m, publish s:1 m',
        ),
      ),
    ).toEqual(
      lines(
        'subscribe both, subscribe s:1, ssubscribe s:1, psubscribe s:*, publish both m, spublish p m',
      ),
    )
  })

  test('a list that contains * compiles to allchannels', async () => {
    const grant = await grantOf({ subscribe: ['a', '*'] })
    expect(grant.user.selectors[1]).toMatchObject({ allChannels: true, channels: [] })
    expect(passing(grant, 'subscribe b', 'psubscribe ?', 'publish a m')).toEqual([
      'subscribe b',
      'psubscribe ?',
    ])
  })

  test('keeps alternatives apart: a channel for publishing is none for subscribing', async () => {
    const grant = await grantOf({ publish: ['x'] })
    expect(passing(grant, ...EVERY_WAY)).toEqual(PUBLISHING)
  })

  test('has the order root, roles, subscribe, publish', async () => {
    const grant = await grantOf(
      { roles: ['r'], channels: ['c'] },
      { 'role:r': '+publish &r (+subscribe &s)' },
    )
    expect(
      grant.user.selectors.map(({ commandRules, channels }) => [
        commandRules.length,
        channels.map(({ pattern }) => pattern),
      ]),
    ).toEqual([
      [20, []],
      [1, ['r']],
      [1, ['s']],
      [3, ['c']],
      [2, ['c']],
    ])
  })

  test('carries the names and times of the token', async () => {
    const grant = await grantOf({ group: 'tenant:acme', deny: ['d'] }, {}, { jti: 'j' })
    expect(grant).toMatchObject({
      iss: 'https://auth.example',
      sub: '42',
      jti: 'j',
      kid: undefined,
      group: 'tenant:acme',
      issuedAtMs: 1_700_000_000_000,
      expiresAtMs: 1_700_003_600_000,
      issuerAlias: undefined,
    })
  })
})

describe('5: identical grants share one compiled object', () => {
  test('across subjects, with and without roles', async () => {
    const tested = testAuthenticator()
    tested.roles.set('role:r', userOf('role:r', '+subscribe &r:* (+publish &p)'))
    const respcast = { roles: ['r'], channels: ['c'], deny: ['d'] }
    const one = await login(tested, tokenFor(respcast, { sub: 'a' }))
    const other = await login(tested, tokenFor(respcast, { sub: 'b' }))
    expect(one.user.selectors).toBe(other.user.selectors)
    expect(one.deny).toBe(other.deny)
    expect(one.userName).not.toBe(other.userName)
  })

  test('for the same values of placeholders, and only for those', async () => {
    const tested = testAuthenticator()
    tested.roles.set('role:r', userOf('role:r', '+subscribe &u:{claim.org}'))
    const at = (org: string): Promise<CompiledGrant> =>
      login(tested, tokenFor({ roles: ['r'] }, { org, sub: org }))
    const [one, same, other] = [await at('a'), await at('a'), await at('b')]
    expect(one.user.selectors).toBe(same.user.selectors)
    expect(one.user.selectors).not.toBe(other.user.selectors)
  })

  test('but two sessions of one subject may hold different grants', async () => {
    const tested = testAuthenticator()
    const one = await login(tested, tokenFor({ channels: ['x'] }))
    const other = await login(tested, tokenFor({ channels: ['y'] }))
    expect(one.userName).toBe(other.userName)
    expect(passing(one, 'subscribe x', 'subscribe y')).toEqual(['subscribe x'])
    expect(passing(other, 'subscribe x', 'subscribe y')).toEqual(['subscribe y'])
  })
})

describe('4: roles', () => {
  const MEMBER =
    'off resetchannels (resetchannels +subscribe +psubscribe +ssubscribe &news:* &user:{sub}:*) (resetchannels +publish +spublish &typing:{sub})'

  test('grant as in the manual, on or off', async () => {
    for (const rules of [MEMBER, MEMBER.replace('off', 'on')]) {
      const grant = await grantOf({ roles: ['member'] }, { 'role:member': rules })
      expect(
        passing(
          grant,
          ...lines(
            'subscribe news:1, psubscribe user:42:*, subscribe user:42:a, publish typing:42 m, subscribe user:1:a, psubscribe user:*, publish typing:1 m, publish news:1 m',
          ),
        ),
      ).toEqual(
        lines('subscribe news:1, psubscribe user:42:*, subscribe user:42:a, publish typing:42 m'),
      )
    }
  })

  test('count root permissions and selectors as alternatives', async () => {
    const grant = await grantOf({ roles: ['r'] }, { 'role:r': '+subscribe &a (+publish &b)' })
    expect(passing(grant, 'subscribe a', 'publish b m', 'subscribe b', 'publish a m')).toEqual([
      'subscribe a',
      'publish b m',
    ])
  })

  test('never hand out other commands, not even with +@all', async () => {
    const grant = await grantOf({ roles: ['r'] }, { 'role:r': 'on +@all ~* &* (+config|get &*)' })
    expect(passing(grant, ...EVERY_WAY)).toEqual(EVERY_WAY)
    expect(
      passing(grant, 'config get x', 'acl setuser x', 'shutdown', 'client list', 'pubsub channels'),
    ).toEqual([])
    for (const selector of grant.user.selectors) {
      expect(selector).toMatchObject({ allCommands: false, allKeys: false, keys: [] })
    }
  })

  test('respect what they take away', async () => {
    const grant = await grantOf({ roles: ['r'] }, { 'role:r': '+@pubsub -publish allchannels' })
    expect(passing(grant, ...EVERY_WAY)).toEqual(
      lines('subscribe x, ssubscribe x, psubscribe x, spublish x m'),
    )
  })

  test('keep a first argument that they insist on', async () => {
    const grant = await grantOf({ roles: ['r'] }, { 'role:r': '+subscribe|lobby allchannels' })
    expect(passing(grant, 'subscribe lobby', 'subscribe other', 'publish lobby m')).toEqual([
      'subscribe lobby',
    ])
  })

  test('that do not exist grant nothing, and the login succeeds', async () => {
    const grant = await grantOf({ roles: ['ghost'] })
    expect(grant.roles).toEqual(['ghost'])
    expect(passing(grant, ...EVERY_WAY)).toEqual([])
  })

  test('are only users named role:, whatever the claim says', async () => {
    const tested = testAuthenticator()
    const asked: string[] = []
    const spy = testAuthenticator({
      findUser: (name) => (asked.push(name), tested.roles.get(name)),
    })
    await login(spy, tokenFor({ roles: ['default', 'role:x', '__proto__'] }))
    expect(asked).toEqual(['role:default', 'role:role:x', 'role:__proto__'])
  })

  test('expand arrays of the token', async () => {
    const grant = await grantOf(
      { roles: ['r'] },
      { 'role:r': '+subscribe &room:{claim.rooms[]}' },
      { rooms: ['7', '9', '1:1'] },
    )
    expect(passing(grant, 'subscribe room:7', 'subscribe room:9', 'subscribe room:1:1')).toEqual([
      'subscribe room:7',
      'subscribe room:9',
    ])
  })

  test('write literal braces as {{ and }}', async () => {
    const grant = await grantOf({ roles: ['r'] }, { 'role:r': '+ssubscribe &{{slot}}:*' })
    expect(passing(grant, 'ssubscribe {slot}:1', 'ssubscribe {{slot}}:1')).toEqual([
      'ssubscribe {slot}:1',
    ])
  })

  test('with a pattern that nobody checked lose that pattern alone', async () => {
    const tested = testAuthenticator()
    const stray = userOf('stray', '+subscribe &{oops} &[{sub}] &ok')
    tested.roles.set('role:r', { ...stray, name: 'role:r' })
    const grant = await login(tested, tokenFor({ roles: ['r'] }))
    expect(passing(grant, 'subscribe ok', 'subscribe {oops}', 'subscribe 4')).toEqual([
      'subscribe ok',
    ])
  })
})

describe('3: at most 256 patterns after expansion', () => {
  const rooms = Array.from({ length: 200 }, (_, at) => `${at}`)
  const ROLE = { 'role:r': '+subscribe &room:{claim.rooms[]} &fixed' }

  test('count what the token lists and what its placeholders make', async () => {
    const channels = Array.from({ length: 56 }, (_, at) => `c${at}`)
    const grant = await grantOf({ roles: ['r'], channels }, ROLE, { rooms })
    expect(grant.user.selectors[1]?.channels).toHaveLength(201)
    await expect(
      grantOf({ roles: ['r'], channels: [...channels, 'one-more'] }, ROLE, {
        rooms,
      }),
    ).rejects.toThrow('more than 256 channel patterns')
  })

  test('do not count the fixed patterns of a role, which are the operator’s', async () => {
    const rules = `+subscribe ${Array.from({ length: 400 }, (_, at) => `&f${at}`).join(' ')}`
    const grant = await grantOf({ roles: ['r'] }, { 'role:r': rules })
    expect(grant.user.selectors[1]?.channels).toHaveLength(400)
  })

  test('refuse the login like any other bad token', async () => {
    const tested = testAuthenticator()
    tested.roles.set('role:r', userOf('role:r', '+subscribe &{claim.a[]}{claim.a[]}'))
    const text = tokenFor({ roles: ['r'] }, { a: rooms, jti: 'j' })
    expect(await tested.authenticator.authenticate(text)).toMatchObject({
      refused: { reply: 'WRONGPASS invalid token', jti: 'j' },
    })
  })
})

describe('6: acl-pubsub-default', () => {
  const NONE: string[] = []
  const rows: [string, unknown, string[], string[]][] = [
    ['no claim object', undefined, NONE, SUBSCRIBING],
    ['an empty claim object', {}, NONE, SUBSCRIBING],
    ['roles that grant nothing', { roles: ['ghost'] }, NONE, NONE],
    ['an empty list of roles', { roles: [] }, NONE, NONE],
    ['an empty list of channels', { channels: [] }, NONE, NONE],
    ['an empty list to subscribe to', { subscribe: [] }, NONE, NONE],
    ['an empty list to publish to', { publish: [] }, NONE, NONE],
    ['a list', { subscribe: ['x'] }, SUBSCRIBING, SUBSCRIBING],
    ['a list of other channels', { channels: ['y'] }, NONE, NONE],
    ['only deny and group', { deny: ['y'], group: 'g' }, NONE, SUBSCRIBING],
  ]
  test.each(rows)('%s', async (_name, respcast, reset, all) => {
    expect(passing(await grantOf(respcast), ...EVERY_WAY)).toEqual(reset)
    const open = await grantOf(respcast, {}, { pubsubDefault: 'allchannels' })
    expect(passing(open, ...EVERY_WAY)).toEqual(all)
  })

  test('only deny under allchannels: everything but what is denied', async () => {
    const grant = await grantOf({ deny: ['x'] }, {}, { pubsubDefault: 'allchannels' })
    expect(isDenied(grant, 'x')).toBe(true)
    expect(isDenied(grant, 'y')).toBe(false)
  })

  test('a selector compiled from a list starts from no channel, whatever the default', async () => {
    const grant = await grantOf({ channels: ['x'] }, {}, { pubsubDefault: 'allchannels' })
    expect(grant.user.selectors.map(({ allChannels }) => allChannels)).toEqual([
      false,
      false,
      false,
    ])
  })

  test('a change does not touch live sessions, new logins see it', async () => {
    let pubsubDefault: PubsubDefault = 'allchannels'
    const tested = testAuthenticator({ pubsubDefault: () => pubsubDefault })
    const live = await login(tested, token())
    pubsubDefault = 'resetchannels'
    expect(passing(tested.authenticator.recompile(live), ...EVERY_WAY)).toEqual(SUBSCRIBING)
    expect(passing(await login(tested, token()), ...EVERY_WAY)).toEqual([])
  })
})

describe('deny wins over every allow', () => {
  test('by glob, for whatever allows the channel', async () => {
    const grant = await grantOf({ channels: ['room:7:*'], deny: ['room:7:mods*'] })
    expect(may(grant, 'subscribe room:7:mods')).toBe(true)
    expect(isDenied(grant, 'room:7:mods')).toBe(true)
    expect(isDenied(grant, 'room:7:mods:2')).toBe(true)
    expect(isDenied(grant, 'room:7:chat')).toBe(false)
  })

  test('* denies every channel, the empty one included', async () => {
    const grant = await grantOf({ channels: ['*'], deny: ['*'] })
    expect(isDenied(grant, '')).toBe(true)
    expect(isDenied(grant, 'x')).toBe(true)
  })

  test('compares bytes', async () => {
    const grant = await grantOf({ deny: ['caf\u00e9?'] })
    expect(isDenied(grant, 'caf\xc3\xa9\xff')).toBe(true)
    expect(isDenied(grant, 'caf\xe9x')).toBe(false)
  })
})

describe('editing a role re-evaluates a live session', () => {
  test('to what the role grants now', async () => {
    const tested = testAuthenticator()
    tested.roles.set('role:r', userOf('role:r', '+subscribe &a:{sub} &b'))
    const before = await login(tested, tokenFor({ roles: ['r'], channels: ['own'] }))
    tested.roles.set('role:r', userOf('role:r', '+subscribe &a:{sub} &c:{claim.org}'))
    const after = tested.authenticator.recompile(before)
    const tried = ['subscribe a:42', 'subscribe b', 'subscribe own', 'subscribe c:x']
    expect(passing(before, ...tried)).toEqual(tried.slice(0, 3))
    expect(passing(after, ...tried)).toEqual(['subscribe a:42', 'subscribe own'])
    expect(after).toMatchObject({
      userName: 'jwt:42',
      roles: ['r'],
      expiresAtMs: before.expiresAtMs,
    })
  })

  test('a placeholder that is new to the role still finds its claim', async () => {
    const tested = testAuthenticator()
    tested.roles.set('role:r', userOf('role:r', '+subscribe &a'))
    const before = await login(tested, tokenFor({ roles: ['r'] }, { org: 'acme' }))
    tested.roles.set('role:r', userOf('role:r', '+subscribe &{claim.org}:{sub}'))
    expect(passing(tested.authenticator.recompile(before), 'subscribe acme:42')).toHaveLength(1)
  })

  test('deleting it leaves what the token itself lists', async () => {
    const tested = testAuthenticator()
    tested.roles.set('role:r', userOf('role:r', '+subscribe &a'))
    const before = await login(tested, tokenFor({ roles: ['r'], channels: ['own'] }))
    tested.roles.delete('role:r')
    expect(passing(tested.authenticator.recompile(before), 'subscribe a', 'subscribe own')).toEqual(
      ['subscribe own'],
    )
  })

  test('asks for no role while no user has changed', async () => {
    const asked: string[] = []
    let version = 1
    const { authenticator } = testAuthenticator({
      findUser: (name) => (asked.push(name), undefined),
      usersVersion: () => version,
    })
    const result = await authenticator.authenticate(tokenFor({ roles: ['r'] }))
    const grant = 'ok' in result ? result.ok : undefined
    expect(grant && authenticator.recompile(grant)).toBe(grant)
    expect(asked).toEqual(['role:r'])
    version++
    expect(grant && authenticator.recompile(grant)).toBe(grant)
    expect(asked).toEqual(['role:r', 'role:r'])
  })

  test('that changes nothing yields the same object', async () => {
    const tested = testAuthenticator()
    tested.roles.set('role:r', userOf('role:r', '+subscribe &a &{sub}'))
    const grant = await login(tested, tokenFor({ roles: ['r'] }))
    expect(tested.authenticator.recompile(grant)).toBe(grant)
    tested.roles.set('role:r', userOf('role:r', 'on ~* +get +subscribe &a &{sub}'))
    expect(tested.authenticator.recompile(grant)).toBe(grant)
  })

  test('to more than 256 patterns drops those that do not fit, and ends nobody', async () => {
    const tested = testAuthenticator()
    tested.roles.set('role:r', userOf('role:r', '+subscribe &a'))
    const many = Array.from({ length: 200 }, (_, at) => `${at}`)
    const grant = await login(tested, tokenFor({ roles: ['r'] }, { many }))
    tested.roles.set('role:r', userOf('role:r', '+subscribe &x{claim.many[]} &y{claim.many[]} &z'))
    const after = tested.authenticator.recompile(grant)
    expect(passing(after, 'subscribe x1', 'subscribe y1', 'subscribe z')).toEqual([
      'subscribe x1',
      'subscribe z',
    ])
  })
})

describe('a claim never becomes rules', () => {
  test.each(['+@all', '(+@all)', '&*', 'allchannels', 'reset', '>pw', '~*', 'on', ')'])(
    '%s is the name of a channel',
    async (name) => {
      const grant = await grantOf({ channels: [name] })
      expect(grant.user.selectors).toHaveLength(3)
      for (const selector of grant.user.selectors.slice(1)) {
        expect(selector).toMatchObject({ allChannels: false, allCommands: false, allKeys: false })
        expect(selector.channels.map(({ pattern }) => pattern)).toEqual([name])
      }
      expect(grant.user.passwords).toEqual([])
    },
  )

  test('a token without the claim reads no other', async () => {
    const grant = await login(
      testAuthenticator(),
      token(payload({ channels: ['x'], Respcast: { channels: ['x'] } })),
    )
    expect(passing(grant, ...EVERY_WAY)).toEqual([])
  })
})
