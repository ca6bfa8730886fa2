import { describe, expect, test } from 'vitest'
import { readGrants, type ClaimedGrant } from '../../../../server/token/verify/claims.ts'
import { TokenFault } from '../../../../server/token/verify/refusal.ts'
import { toByteString, type JsonObject } from '../../../../server/token/text.ts'

const SILENT: ClaimedGrant = {
  roles: undefined,
  channels: undefined,
  subscribe: undefined,
  publish: undefined,
  deny: [],
  group: undefined,
}

const readClaim = (json: string, claim = 'respcast'): ClaimedGrant =>
  readGrants(JSON.parse(json) as JsonObject, { claim, format: { kind: 'respcast' } })

const readScopeClaim = (payload: JsonObject, claim: string, prefix = ''): ClaimedGrant =>
  readGrants(payload, { claim: '', format: { kind: 'scope', claim, prefix } })

const readScopes = (scope: unknown, prefix = ''): ClaimedGrant =>
  readScopeClaim({ scope }, 'scope', prefix)

const DETAILS = { claim: '', format: { kind: 'authorization-details' } } as const

const readDetails = (json: string): ClaimedGrant =>
  readGrants(JSON.parse(`{"authorization_details":${json}}`) as JsonObject, DETAILS)

const TABLE = new Map([
  ['staff', ['member', 'editor']],
  ['Domain Admins', ['admin']],
  [toByteString('Prüfer'), ['auditor']],
])

const readGroups = (payload: JsonObject, claim = 'groups', roles = TABLE) =>
  readGrants(payload, { claim: '', format: { kind: 'groups', claim, roles } })

const rolesOf = (groups: unknown): readonly string[] | undefined => readGroups({ groups }).roles

describe('the claim of the grants', () => {
  test('is read whole', () => {
    const json = `{"respcast":{"roles":["member"],"channels":["room:7"],"subscribe":["news:*"],
      "publish":["typing:7"],"deny":["room:7:mods"],"group":"tenant:acme"}}`
    expect(readClaim(json)).toEqual({
      roles: ['member'],
      channels: ['room:7'],
      subscribe: ['news:*'],
      publish: ['typing:7'],
      deny: ['room:7:mods'],
      group: 'tenant:acme',
    })
  })

  test('asks for nothing if it is absent or empty', () => {
    expect(readClaim('{}')).toEqual(SILENT)
    expect(readClaim('{"respcast":{}}')).toEqual(SILENT)
  })

  test('tells an empty list from an absent one', () => {
    expect(readClaim('{"respcast":{"channels":[]}}')).toEqual({ ...SILENT, channels: [] })
  })

  test('holds names as the bytes of their UTF-8', () => {
    expect(readClaim('{"respcast":{"channels":["caf\u00e9"]}}').channels).toEqual(['caf\xc3\xa9'])
  })

  test('gives braces no meaning: placeholders work in roles only', () => {
    expect(readClaim('{"respcast":{"channels":["u:{sub}"]}}').channels).toEqual(['u:{sub}'])
  })

  test('holds up to 256 patterns of up to 256 bytes', () => {
    const channels = Array.from({ length: 256 }, (_, at) => `${at}`.padStart(256, 'x'))
    expect(readClaim(JSON.stringify({ respcast: { channels } })).channels).toEqual(channels)
  })
})

describe('jwt-claim', () => {
  test('is an own key first, since some providers demand URL-shaped names', () => {
    const json = '{"https://a.example/r":{"channels":["x"]}}'
    expect(readClaim(json, 'https://a.example/r').channels).toEqual(['x'])
  })

  test('is a dotted path otherwise', () => {
    expect(readClaim('{"ext":{"respcast":{"channels":["x"]}}}', 'ext.respcast').channels).toEqual([
      'x',
    ])
  })

  test('prefers the own key to the path', () => {
    const json = '{"a.b":{"channels":["own"]},"a":{"b":{"channels":["path"]}}}'
    expect(readClaim(json, 'a.b').channels).toEqual(['own'])
  })

  test.each(['constructor', '__proto__', 'toString.constructor', 'a.__proto__', 'a.constructor'])(
    'finds nothing inherited: %s',
    (path) => {
      expect(readClaim('{"a":{}}', path)).toEqual(SILENT)
    },
  )

  test('rejects a path that runs through something else than objects', () => {
    for (const value of ['"x"', '1', 'null', '[{"b":{}}]']) {
      expect(() => readClaim(`{"a":${value}}`, 'a.b')).toThrow(TokenFault)
    }
  })
})

describe('any malformed part rejects the whole token', () => {
  const long = 'x'.repeat(257)
  const bad: [string, string][] = [
    ['the claim is null', 'null'],
    ['the claim is an array', '[]'],
    ['the claim is a text', '"channels"'],
    ['an unknown key', '{"channel":["x"]}'],
    ['an unknown key beside good ones', '{"channels":["x"],"admin":true}'],
    ['the key __proto__', '{"__proto__":{"channels":["*"]}}'],
    ['the key constructor', '{"constructor":[]}'],
    ['a key in capitals', '{"Channels":["x"]}'],
    ['a list that is a text', '{"channels":"x"}'],
    ['a list that is null', '{"subscribe":null}'],
    ['a list that is an object', '{"publish":{"0":"x"}}'],
    ['an entry that is a number', '{"channels":[7]}'],
    ['an entry that is null', '{"channels":[null]}'],
    ['an entry that is a list', '{"channels":[["x"]]}'],
    ['an empty pattern', '{"channels":[""]}'],
    ['a blank', '{"channels":["a* +@all &*"]}'],
    ['a selector with a blank', '{"channels":["(&x) "]}'],
    ['a line feed', '{"channels":["a\\nb"]}'],
    ['NUL', '{"channels":["a\\u0000"]}'],
    ['a tab', '{"deny":["a\\tb"]}'],
    ['DEL', '{"channels":["a\\u007f"]}'],
    ['a next-line control', '{"channels":["a\\u0085"]}'],
    ['a no-break space', '{"channels":["a\\u00a0b"]}'],
    ['a line separator', '{"channels":["a\\u2028b"]}'],
    ['half a surrogate pair', '{"channels":["a\\ud800"]}'],
    ['a pattern of 257 bytes', `{"channels":["${long}"]}`],
    ['a pattern of 129 characters and 258 bytes', `{"channels":["${'\u00e9'.repeat(129)}"]}`],
    ['a role with a blank', '{"roles":["a b"]}'],
    ['an empty role', '{"roles":[""]}'],
    ['roles as a text', '{"roles":"member"}'],
    ['group as a list', '{"group":["x"]}'],
    ['an empty group', '{"group":""}'],
    ['a group of 257 bytes', `{"group":"${long}"}`],
    ['257 patterns in one list', JSON.stringify({ channels: Array(257).fill('x') })],
    [
      '257 patterns in all lists',
      JSON.stringify({ channels: Array(200).fill('x'), deny: Array(57).fill('y') }),
    ],
    ['257 roles', JSON.stringify({ roles: Array(257).fill('x') })],
  ]
  test.each(bad)('%s', (_name, claim) => {
    expect(() => readClaim(`{"respcast":${claim}}`)).toThrow(TokenFault)
  })
})

describe('scopes in one string', () => {
  test('grant what their prefixes say', () => {
    expect(readScopes('subscribe:news:* publish:chat:1 role:member')).toEqual({
      ...SILENT,
      roles: ['member'],
      subscribe: ['news:*'],
      publish: ['chat:1'],
    })
  })

  test('channel: is both directions, deny: takes away, group: is a handle for revoking', () => {
    expect(readScopes('channel:room:7 deny:room:7:mods group:tenant:acme')).toEqual({
      ...SILENT,
      roles: [],
      channels: ['room:7'],
      deny: ['room:7:mods'],
      group: 'tenant:acme',
    })
  })

  test.each(['openid profile email', 'subscribes:x', 'subscribe', 'Subscribe:x', ''])(
    'a claim with nothing for this server is an explicit list of nothing: %j',
    (scope) => {
      expect(readScopes(scope)).toEqual({ ...SILENT, roles: [] })
    },
  )

  test('an absent claim leaves the decision to acl-pubsub-default', () => {
    expect(readScopeClaim({}, 'scope')).toEqual(SILENT)
  })

  test('with scope-prefix only scopes that begin with it are for this server', () => {
    expect(readScopes('respcast:subscribe:a subscribe:b role:root', 'respcast:')).toEqual({
      ...SILENT,
      roles: [],
      subscribe: ['a'],
    })
  })

  test('the claim may lie deeper, and under a name with dots', () => {
    const deep = { app: { scp: 'publish:x' }, 'a.b': 'publish:y' }
    expect(readScopeClaim(deep, 'app.scp').publish).toEqual(['x'])
    expect(readScopeClaim(deep, 'a.b').publish).toEqual(['y'])
  })

  test.each([
    ['a number', 7],
    ['null', null],
    ['an array', ['subscribe:a']],
    ['an object', { subscribe: 'a' }],
    ['two blanks between scopes', 'role:a  role:b'],
    ['a blank in front', ' role:a'],
    ['a blank after it', 'role:a '],
    ['a tab', 'role:a\trole:b'],
    ['a line feed', 'role:a\nrole:b'],
    ['a quote (RFC 6749 section 3.3)', 'subscribe:"a"'],
    ['a backslash', 'subscribe:a\\*'],
    ['a letter beyond ASCII', 'subscribe:é'],
    ['an empty pattern', 'subscribe:'],
    ['an empty role among others', 'role: role:a'],
    ['a pattern of 257 bytes', `subscribe:${'x'.repeat(257)}`],
    ['a role of 257 bytes', `role:${'x'.repeat(257)}`],
    ['two groups', 'group:a group:b'],
    ['257 patterns', Array.from({ length: 257 }, (_, at) => `publish:${at}`).join(' ')],
    ['257 roles', Array.from({ length: 257 }, (_, at) => `role:${at}`).join(' ')],
  ])('reject the token: %s', (_name, scope) => {
    expect(() => readScopes(scope)).toThrow(TokenFault)
  })

  test('a path that runs through something else than an object rejects the token', () => {
    expect(() => readScopeClaim({ app: 'x' }, 'app.scp')).toThrow(TokenFault)
  })

  test('rules do not come in by a scope', () => {
    expect(readScopes('subscribe:(+@all subscribe:&* role:+@all').subscribe).toEqual([
      '(+@all',
      '&*',
    ])
  })
})

describe('authorization_details (RFC 9396)', () => {
  test('grant actions on channels', () => {
    expect(
      readDetails(
        '[{"type":"respcast","actions":["subscribe"],"channels":["news:*"]},' +
          '{"type":"respcast","actions":["subscribe","publish"],"channels":["room:7"]}]',
      ),
    ).toEqual({ ...SILENT, roles: [], subscribe: ['news:*', 'room:7'], publish: ['room:7'] })
  })

  test('locations is the name that the RFC has for the channels', () => {
    expect(
      readDetails('[{"type":"respcast","actions":["publish"],"locations":["a"]}]').publish,
    ).toEqual(['a'])
  })

  test('roles may be named, alone or beside actions', () => {
    expect(
      readDetails(
        '[{"type":"respcast","roles":["member"]},' +
          '{"type":"respcast","roles":["guest"],"actions":["publish"],"channels":["a"]}]',
      ),
    ).toEqual({ ...SILENT, roles: ['member', 'guest'], publish: ['a'] })
  })

  test('objects of other types are for others, whatever is in them', () => {
    expect(
      readDetails('[{"type":"payment_initiation","actions":["initiate"],"amount":{"x":1}}]'),
    ).toEqual({ ...SILENT, roles: [] })
  })

  test('an empty list is an explicit list; an absent claim is none', () => {
    expect(readDetails('[]')).toEqual({ ...SILENT, roles: [] })
    expect(readGrants({}, DETAILS)).toEqual(SILENT)
  })

  test('actions on no channel grant nothing', () => {
    expect(readDetails('[{"type":"respcast","actions":["subscribe"],"channels":[]}]')).toEqual({
      ...SILENT,
      roles: [],
    })
  })

  test.each([
    ['null', 'null'],
    ['a text', '"respcast"'],
    ['one object', '{"type":"respcast"}'],
    ['a text in the list', '["respcast"]'],
    ['a list in the list', '[[]]'],
    ['an object without a type', '[{"actions":["subscribe"],"channels":["a"]}]'],
    ['a type that is no text, of somebody else', '[{"type":7}]'],
    ['type in the prototype', '[{"__proto__":{"type":"respcast"}}]'],
    ['an unknown key', '[{"type":"respcast","actions":["publish"],"channels":["a"],"x":1}]'],
    ['__proto__ as a key', '[{"type":"respcast","__proto__":{"roles":["admin"]}}]'],
    ['an unknown action', '[{"type":"respcast","actions":["read"],"channels":["a"]}]'],
    ['an action in capitals', '[{"type":"respcast","actions":["Publish"],"channels":["a"]}]'],
    ['actions that are a text', '[{"type":"respcast","actions":"publish","channels":["a"]}]'],
    ['actions without channels', '[{"type":"respcast","actions":["publish"]}]'],
    ['channels without actions', '[{"type":"respcast","channels":["a"]}]'],
    [
      'channels and locations',
      '[{"type":"respcast","actions":["publish"],"channels":["a"],"locations":["b"]}]',
    ],
    ['a channel that is a number', '[{"type":"respcast","actions":["publish"],"channels":[1]}]'],
    ['a channel with a blank', '[{"type":"respcast","actions":["publish"],"channels":["a b"]}]'],
    ['an empty channel', '[{"type":"respcast","actions":["publish"],"channels":[""]}]'],
    ['a role that is null', '[{"type":"respcast","roles":[null]}]'],
    [
      '257 patterns',
      `[{"type":"respcast","actions":["publish"],"channels":${JSON.stringify(
        Array.from({ length: 257 }, (_, at) => `${at}`),
      )}}]`,
    ],
    [
      '129 channels in both directions',
      `[{"type":"respcast","actions":["publish","subscribe"],"channels":${JSON.stringify(
        Array.from({ length: 129 }, (_, at) => `${at}`),
      )}}]`,
    ],
  ])('reject the token: %s', (_name, json) => {
    expect(() => readDetails(json)).toThrow(TokenFault)
  })
})

describe('groups', () => {
  test('stand for the roles that the table gives them', () => {
    expect(rolesOf(['staff', 'Domain Admins'])).toEqual(['member', 'editor', 'admin'])
    expect(rolesOf(['Prüfer'])).toEqual(['auditor'])
  })

  test('that the table does not know say nothing, and leave an explicit list', () => {
    expect(rolesOf(['everyone', 'STAFF', 'staff '])).toEqual([])
    expect(rolesOf([])).toEqual([])
  })

  test('give a role once, however many of them stand for it', () => {
    expect(rolesOf(['staff', 'staff'])).toEqual(['member', 'editor'])
  })

  test('that are absent leave the decision to acl-pubsub-default', () => {
    expect(readGroups({}, 'groups', TABLE).roles).toBeUndefined()
  })

  test('name no role themselves: neither role:admin nor admin is one', () => {
    expect(rolesOf(['role:admin', 'admin', '__proto__', 'constructor'])).toEqual([])
  })

  test.each([
    ['a text', 'staff'],
    ['null', null],
    ['an object', { staff: true }],
    ['a number among them', ['staff', 7]],
    ['null among them', [null]],
    ['half a surrogate pair', ['\ud800']],
  ])('reject the token: %s', (_name, groups) => {
    expect(() => rolesOf(groups)).toThrow(TokenFault)
  })

  test('that come to more than 256 roles reject the token', () => {
    const roles = Array.from({ length: 257 }, (_, at) => `r${at}`)
    const table = new Map([['all', roles]])
    expect(() => readGroups({ groups: ['all'] }, 'groups', table)).toThrow(TokenFault)
  })
})

describe('the format of an issuer', () => {
  const payload = {
    respcast: { channels: ['a'] },
    scope: 'subscribe:b',
    authorization_details: [{ type: 'respcast', actions: ['publish'], channels: ['c'] }],
    groups: ['staff'],
  }

  test.each([
    ['respcast', { kind: 'respcast' }, { channels: ['a'] }],
    ['scope', { kind: 'scope', claim: 'scope', prefix: '' }, { subscribe: ['b'] }],
    ['authorization-details', { kind: 'authorization-details' }, { publish: ['c'] }],
    [
      'groups',
      { kind: 'groups', claim: 'groups', roles: TABLE },
      { roles: ['member', 'editor'], channels: undefined },
    ],
  ] as const)('%s reads its own claim and no other', (_name, format, expected) => {
    const grant = readGrants(payload, { claim: 'respcast', format })
    expect(grant).toMatchObject(expected)
    const lists = [grant.channels, grant.subscribe, grant.publish, grant.roles]
    expect(lists.filter((list) => (list?.length ?? 0) > 0)).toHaveLength(1)
  })
})
