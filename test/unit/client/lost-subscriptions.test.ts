import { describe, expect, test } from 'vitest'
import type { Identity } from '../../../server/acl/authorize.ts'
import type { Client } from '../../../server/client/client.ts'
import {
  applyUserChanges,
  lostSubscriptions,
  ruleOfSession,
} from '../../../server/client/lost-subscriptions.ts'
import type { Space } from '../../../server/pubsub/subscriber.ts'
import { TestCore } from '../../support/test-core.ts'
import { CATALOG, userOf } from '../../support/tokens.ts'

/** Reports whether a session of this identity keeps a subscription. */
function keeps(who: Identity, space: Space, name: string): boolean {
  return (
    ruleOfSession({ identity: who, overlay: undefined }, CATALOG)(space, name, 'u') === undefined
  )
}

/** The subscriptions that a token session loses. */
const lostBySession = (client: Client) =>
  lostSubscriptions(client, ruleOfSession(client, CATALOG)).map(({ space, name }) => ({
    space,
    name,
  }))

function identity(rules: string, ...ceilings: string[]): Identity {
  const user = userOf('u', rules)
  return { user, ceilings: ceilings.map((text) => userOf('c', text)), token: undefined }
}

describe('A subscription of a token session is judged', () => {
  test('by the command that makes it', () => {
    const who = identity('on (resetchannels +publish &foo) (resetchannels +subscribe &bar)')
    expect(keeps(who, 'channel', 'foo')).toBe(false)
    expect(keeps(who, 'channel', 'bar')).toBe(true)
    expect(keeps(who, 'shard', 'bar')).toBe(false)
    expect(keeps(who, 'pattern', 'bar')).toBe(false)
  })

  test('by globs for channels and shard channels, literally for patterns', () => {
    const who = identity('on +subscribe +psubscribe +ssubscribe resetchannels &room:*')
    expect(keeps(who, 'channel', 'room:7')).toBe(true)
    expect(keeps(who, 'shard', 'room:7')).toBe(true)
    expect(keeps(who, 'pattern', 'room:*')).toBe(true)
    expect(keeps(who, 'pattern', 'room:7*')).toBe(false)
  })

  test('by every ceiling as well, where a wide one leaves narrower patterns alone', () => {
    const all = 'on +@all allchannels'
    expect(keeps(identity(all, all, all), 'channel', 'a')).toBe(true)
    expect(keeps(identity(all, all, 'on +@all resetchannels &b'), 'channel', 'a')).toBe(false)
    const wide = 'on +@all resetchannels &room:*'
    expect(keeps(identity(all, wide), 'pattern', 'room:7:*')).toBe(true)
    expect(keeps(identity(all, wide), 'pattern', 'roo*')).toBe(false)
    expect(keeps(identity(all, 'on -@all allchannels'), 'channel', 'a')).toBe(false)
  })
})

describe('A token session has lost', () => {
  function subscribed() {
    const server = new TestCore()
    const { client } = server.connect({ protocol: 3 })
    for (const name of ['a', 'b']) server.registry.subscribe('channel', client, name, 'u')
    server.registry.subscribe('pattern', client, 'a*', 'u')
    server.registry.subscribe('shard', client, 'b', 'u')
    return { server, client }
  }

  test('what it could not subscribe to now', () => {
    const { server, client } = subscribed()
    server.clients.setIdentity(client, identity('on +@all resetchannels &a'))
    expect(lostBySession(client)).toEqual([
      { space: 'channel', name: 'b' },
      { space: 'pattern', name: 'a*' },
      { space: 'shard', name: 'b' },
    ])
  })

  test('nothing while it may have everything', () => {
    const { server, client } = subscribed()
    server.clients.setIdentity(client, identity('on +@all allchannels'))
    expect(lostBySession(client)).toEqual([])
  })

  test('a channel that its deny overlay names, but never a pattern, which is filtered', () => {
    const { server, client } = subscribed()
    server.clients.setIdentity(client, identity('on +@all allchannels'))
    client.overlay = {
      mayReceive: (channel) => channel === 'a',
      mayPublish: () => true,
      mayDeny: () => true,
    }
    expect(lostBySession(client)).toEqual([
      { space: 'channel', name: 'b' },
      { space: 'shard', name: 'b' },
    ])
  })

  test('each subscription for the reason that a new one would be refused for', () => {
    const { server, client } = subscribed()
    const ceiling = userOf('c', 'on +@all resetchannels &a')
    server.clients.setIdentity(client, {
      user: userOf('u', 'on +subscribe +psubscribe resetchannels &a &a*'),
      ceilings: [ceiling],
      token: undefined,
    })
    client.overlay = {
      mayReceive: (channel) => channel !== 'a',
      mayPublish: () => true,
      mayDeny: () => true,
    }
    expect(lostSubscriptions(client, ruleOfSession(client, CATALOG))).toEqual([
      { space: 'channel', name: 'a', denial: { by: 'deny', reason: 'channel', object: 'a' } },
      {
        space: 'channel',
        name: 'b',
        denial: { by: 'ceiling', ceiling, reason: 'channel', object: 'b' },
      },
      {
        space: 'pattern',
        name: 'a*',
        denial: { by: 'ceiling', ceiling, reason: 'channel', object: 'a*' },
      },
      {
        space: 'shard',
        name: 'b',
        denial: { by: 'ceiling', ceiling, reason: 'channel', object: 'b' },
      },
    ])
  })
})

describe('A client that logged in by password', () => {
  const key = { kid: undefined, thumbprint: '' }
  const token = { sub: '42', iss: 'i', jti: undefined, kid: undefined, key, expiresAtMs: 0 }

  /** A client of `u` that is subscribed to `a`, and the change that another text of rules makes. */
  function changed(before: string, after: string | undefined, holder: Partial<Identity> = {}) {
    const server = new TestCore()
    const { client } = server.connect()
    const user = userOf('u', before)
    server.clients.setIdentity(client, { user, ceilings: [], token: undefined, ...holder })
    server.registry.subscribe('channel', client, 'a', 'u')
    server.registry.subscribe('shard', client, 'a', 'other')
    const now = after === undefined ? undefined : userOf('u', after)
    applyUserChanges(server.clients, [{ name: 'u', before: user, after: now }])
    return { client, now }
  }

  test('is judged by the new rules from then on', () => {
    const { client, now } = changed('on +@all &a', 'on -@all &a')
    expect(client.closed).toBe(false)
    expect(client.identity.user).toBe(now)
  })

  test('is closed if they do not cover what it holds', () => {
    expect(changed('on +@all &a', 'on +@all &b').client.closed).toBe(true)
    expect(changed('on +@all &a', 'on +@all').client.closed).toBe(true)
    expect(changed('on +@all &a', 'on +@all &?').client.closed).toBe(false)
  })

  test('is pardoned if every rule is still there', () => {
    expect(changed('on +@all &b', 'on +@all &b &c').client.closed).toBe(false)
  })

  test('is closed with its user, subscribed or not', () => {
    expect(changed('on &a', undefined).client.closed).toBe(true)
    const server = new TestCore()
    const { client } = server.connect()
    const user = userOf('u', '&*')
    server.clients.setIdentity(client, { user, ceilings: [], token: undefined })
    applyUserChanges(server.clients, [{ name: 'u', before: user, after: undefined }])
    expect(client.closed).toBe(true)
  })

  test('answers for a subscription of its old user, and not for those of others', () => {
    const somebody = { user: userOf('v', 'on') }
    expect(changed('on &a', 'on &b', somebody).client.closed).toBe(true)
    expect(changed('on &a', undefined, somebody).client.closed).toBe(true)
    const { client } = changed('on &a', 'on &a (&b)', somebody)
    expect(client.closed).toBe(false)
    expect(client.identity.user.name).toBe('v')
  })

  test('is none that logged in with a token: its session is judged elsewhere', () => {
    const { client, now } = changed('on &a', 'on &b', { token })
    expect(client.closed).toBe(false)
    expect(client.identity.user).not.toBe(now)
  })
})
