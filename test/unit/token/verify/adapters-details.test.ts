import { describe, expect, test } from 'vitest'
import { readAuthorizationDetails } from '../../../../server/token/verify/adapters-details.ts'
import type { ClaimedGrant } from '../../../../server/token/verify/claims.ts'
import { TokenFault } from '../../../../server/token/verify/refusal.ts'
import type { JsonObject } from '../../../../server/token/text.ts'

const SILENT: ClaimedGrant = {
  roles: undefined,
  channels: undefined,
  subscribe: undefined,
  publish: undefined,
  deny: [],
  group: undefined,
}

const read = (json: string): ClaimedGrant =>
  readAuthorizationDetails(JSON.parse(`{"authorization_details":${json}}`) as JsonObject)

describe('authorization_details (RFC 9396)', () => {
  test('grant actions on channels', () => {
    expect(
      read(
        '[{"type":"respcast","actions":["subscribe"],"channels":["news:*"]},' +
          '{"type":"respcast","actions":["subscribe","publish"],"channels":["room:7"]}]',
      ),
    ).toEqual({ ...SILENT, roles: [], subscribe: ['news:*', 'room:7'], publish: ['room:7'] })
  })

  test('locations is the name that the RFC has for the channels', () => {
    expect(read('[{"type":"respcast","actions":["publish"],"locations":["a"]}]').publish).toEqual([
      'a',
    ])
  })

  test('roles may be named, alone or beside actions', () => {
    expect(
      read(
        '[{"type":"respcast","roles":["member"]},' +
          '{"type":"respcast","roles":["guest"],"actions":["publish"],"channels":["a"]}]',
      ),
    ).toEqual({ ...SILENT, roles: ['member', 'guest'], publish: ['a'] })
  })

  test('objects of other types are for others, whatever is in them', () => {
    expect(read('[{"type":"payment_initiation","actions":["initiate"],"amount":{"x":1}}]')).toEqual(
      { ...SILENT, roles: [] },
    )
  })

  test('an empty list is an explicit list; an absent claim is none', () => {
    expect(read('[]')).toEqual({ ...SILENT, roles: [] })
    expect(readAuthorizationDetails({})).toEqual(SILENT)
  })

  test('actions on no channel grant nothing', () => {
    expect(read('[{"type":"respcast","actions":["subscribe"],"channels":[]}]')).toEqual({
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
    expect(() => read(json)).toThrow(TokenFault)
  })
})
