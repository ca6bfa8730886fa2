import { describe, expect, test } from 'vitest'
import { readClaims } from '../../../../server/token/verify/claims.ts'
import { TokenFault } from '../../../../server/token/verify/refusal.ts'
import type { JsonObject } from '../../../../server/token/text.ts'

const read = (json: string, path = 'respcast'): ReturnType<typeof readClaims> =>
  readClaims(JSON.parse(json) as JsonObject, path)

const NOTHING = {
  roles: undefined,
  channels: undefined,
  subscribe: undefined,
  publish: undefined,
  deny: [],
  group: undefined,
}

describe('the claim of the grants', () => {
  test('is read whole', () => {
    const json = `{"respcast":{"roles":["member"],"channels":["room:7"],"subscribe":["news:*"],
      "publish":["typing:7"],"deny":["room:7:mods"],"group":"tenant:acme"}}`
    expect(read(json)).toEqual({
      roles: ['member'],
      channels: ['room:7'],
      subscribe: ['news:*'],
      publish: ['typing:7'],
      deny: ['room:7:mods'],
      group: 'tenant:acme',
    })
  })

  test('asks for nothing if it is absent or empty', () => {
    expect(read('{}')).toEqual(NOTHING)
    expect(read('{"respcast":{}}')).toEqual(NOTHING)
  })

  test('tells an empty list from an absent one', () => {
    expect(read('{"respcast":{"channels":[]}}')).toEqual({ ...NOTHING, channels: [] })
  })

  test('holds names as the bytes of their UTF-8', () => {
    expect(read('{"respcast":{"channels":["caf\u00e9"]}}').channels).toEqual(['caf\xc3\xa9'])
  })

  test('gives braces no meaning: placeholders work in roles only', () => {
    expect(read('{"respcast":{"channels":["u:{sub}"]}}').channels).toEqual(['u:{sub}'])
  })

  test('holds up to 256 patterns of up to 256 bytes', () => {
    const channels = Array.from({ length: 256 }, (_, at) => `${at}`.padStart(256, 'x'))
    expect(read(JSON.stringify({ respcast: { channels } })).channels).toEqual(channels)
  })
})

describe('jwt-claim', () => {
  test('is an own key first, since some providers demand URL-shaped names', () => {
    const json = '{"https://a.example/r":{"channels":["x"]}}'
    expect(read(json, 'https://a.example/r').channels).toEqual(['x'])
  })

  test('is a dotted path otherwise', () => {
    expect(read('{"ext":{"respcast":{"channels":["x"]}}}', 'ext.respcast').channels).toEqual(['x'])
  })

  test('prefers the own key to the path', () => {
    const json = '{"a.b":{"channels":["own"]},"a":{"b":{"channels":["path"]}}}'
    expect(read(json, 'a.b').channels).toEqual(['own'])
  })

  test.each(['constructor', '__proto__', 'toString.constructor', 'a.__proto__', 'a.constructor'])(
    'finds nothing inherited: %s',
    (path) => {
      expect(read('{"a":{}}', path)).toEqual(NOTHING)
    },
  )

  test('rejects a path that runs through something else than objects', () => {
    for (const value of ['"x"', '1', 'null', '[{"b":{}}]']) {
      expect(() => read(`{"a":${value}}`, 'a.b')).toThrow(TokenFault)
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
    expect(() => read(`{"respcast":${claim}}`)).toThrow(TokenFault)
  })
})
