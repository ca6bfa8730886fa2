import { describe, expect, test } from 'vitest'
import type { Identity } from '../../../../server/client/identity.ts'
import { SubscriptionJudge } from '../../../../server/token/session/judge.ts'
import { TestServer } from '../../../support/test-server-parts.ts'
import { CATALOG, userOf } from '../../../support/tokens.ts'

const judge = new SubscriptionJudge(CATALOG)

function identity(rules: string, ...ceilings: string[]): Identity {
  const user = userOf('u', rules)
  return { user, ceilings: ceilings.map((text) => userOf('c', text)), token: undefined }
}

describe('A subscription is judged', () => {
  test('by the command that makes it', () => {
    const who = identity('on (resetchannels +publish &foo) (resetchannels +subscribe &bar)')
    expect(judge.allows(who, 'channel', 'foo')).toBe(false)
    expect(judge.allows(who, 'channel', 'bar')).toBe(true)
    expect(judge.allows(who, 'shard', 'bar')).toBe(false)
    expect(judge.allows(who, 'pattern', 'bar')).toBe(false)
  })

  test('by globs for channels and shard channels, literally for patterns', () => {
    const who = identity('on +subscribe +psubscribe +ssubscribe resetchannels &room:*')
    expect(judge.allows(who, 'channel', 'room:7')).toBe(true)
    expect(judge.allows(who, 'shard', 'room:7')).toBe(true)
    expect(judge.allows(who, 'pattern', 'room:*')).toBe(true)
    expect(judge.allows(who, 'pattern', 'room:7*')).toBe(false)
  })

  test('by every ceiling as well, where a wide one leaves narrower patterns alone', () => {
    const all = 'on +@all allchannels'
    expect(judge.allows(identity(all, all, all), 'channel', 'a')).toBe(true)
    expect(judge.allows(identity(all, all, 'on +@all resetchannels &b'), 'channel', 'a')).toBe(
      false,
    )
    const wide = 'on +@all resetchannels &room:*'
    expect(judge.allows(identity(all, wide), 'pattern', 'room:7:*')).toBe(true)
    expect(judge.allows(identity(all, wide), 'pattern', 'roo*')).toBe(false)
    expect(judge.allows(identity(all, 'on -@all allchannels'), 'channel', 'a')).toBe(false)
  })
})

describe('What a client has lost', () => {
  function subscribed() {
    const server = new TestServer()
    const { client } = server.connect({ protocol: 3 })
    for (const name of ['a', 'b']) server.registry.subscribe('channel', client, name, 'u')
    server.registry.subscribe('pattern', client, 'a*', 'u')
    server.registry.subscribe('shard', client, 'b', 'u')
    return { server, client }
  }

  test('is what it could not subscribe to now', () => {
    const { server, client } = subscribed()
    server.clients.setIdentity(client, identity('on +@all resetchannels &a'))
    expect(judge.lost(client)).toEqual([
      { space: 'channel', name: 'b' },
      { space: 'pattern', name: 'a*' },
      { space: 'shard', name: 'b' },
    ])
  })

  test('is nothing while it may have everything', () => {
    const { server, client } = subscribed()
    server.clients.setIdentity(client, identity('on +@all allchannels'))
    expect(judge.lost(client)).toEqual([])
  })

  test('is a channel that its deny overlay names, but never a pattern, which is filtered', () => {
    const { server, client } = subscribed()
    server.clients.setIdentity(client, identity('on +@all allchannels'))
    client.overlay = {
      mayReceive: (channel) => channel === 'a',
      mayPublish: () => true,
      mayDeny: () => true,
    }
    expect(judge.lost(client)).toEqual([
      { space: 'channel', name: 'b' },
      { space: 'shard', name: 'b' },
    ])
  })
})
