/** One test for each way in which clients of such servers are known to fail over their life. */
import { describe, expect, test } from 'vitest'
import { record, settle } from '../support/fake-server.ts'
import { hearing, numbering, online } from '../support/scenes.ts'

const NOPERM = '-NOPERM No permissions to access a channel\r\n'

describe('subscriptions', () => {
  test('joined but dead: a name is live only when this connection has confirmed it', async () => {
    const { server, client } = await online()
    const news = client.subscribe('news')
    server.socket.confirm('subscribe', 'news')
    expect(news.status).toBe('live')
    await server.socket.end()
    expect(news.status).toBe('pending')
    await server.pass(0)
    await server.online()
    expect(client.state.status).toBe('online')
    expect(news.status).toBe('pending')
    server.socket.confirm('subscribe', 'news')
    expect(news.status).toBe('live')
  })

  test('forgotten after reconnect: everything wanted is asked for again, once', async () => {
    const { server, client } = await online()
    await hearing(server, client)
    for (let round = 0; round < 3; round++) {
      await server.socket.end()
      await server.pass(0)
      await server.online()
      expect(server.socket.commands()).toEqual([['SUBSCRIBE', 'news']])
      server.socket.confirm('subscribe', 'news')
    }
  })

  test('leave and join back to back: the join holds', async () => {
    const { server, client } = await online()
    const first = client.subscribe('news')
    server.socket.confirm('subscribe', 'news')
    void first.unsubscribe()
    const second = client.subscribe('news')
    expect(server.socket.commands()).toEqual([
      ['SUBSCRIBE', 'news'],
      ['UNSUBSCRIBE', 'news'],
      ['SUBSCRIBE', 'news'],
    ])
    server.socket.push('unsubscribe', 'news', 0)
    server.socket.confirm('subscribe', 'news')
    await second.ready
    expect(second.status).toBe('live')
  })

  test('endless rejoining: a refused name is not asked for again on this connection', async () => {
    const { server, client } = await online()
    await hearing(server, client, 'room')
    await server.socket.end(4403, 'permissions-changed||')
    await server.pass(0)
    await server.online()
    server.socket.commands()
    server.socket.receive(NOPERM)
    await server.pass(3_600_000)
    expect(server.socket.commands()).toEqual([])
    expect(server.sockets).toHaveLength(2)
  })

  test('stuck after a refusal: the error is told, and subscribing again works', async () => {
    const { server, client } = await online()
    const denied = record(client, 'denied')
    const first = client.subscribe('room')
    server.socket.receive(NOPERM)
    await expect(first.ready).rejects.toMatchObject({ name: 'DeniedError', prefix: 'NOPERM' })
    expect(first.status).toBe('ended')
    expect(denied).toHaveLength(1)
    const second = client.subscribe('room')
    server.socket.confirm('subscribe', 'room')
    await expect(second.ready).resolves.toBeUndefined()
  })

  test('two subscriptions to one channel: each gets each message once, and neither ends the other', async () => {
    const { server, client } = await online()
    const seen: string[] = []
    const one = client.subscribe('news', ({ data }) => void seen.push(`one ${data}`), {
      codec: 'text',
    })
    client.subscribe('news', ({ data }) => void seen.push(`two ${data}`), { codec: 'text' })
    server.socket.confirm('subscribe', 'news')
    server.socket.push('message', 'news', 'a')
    void one.unsubscribe()
    server.socket.push('message', 'news', 'b')
    expect(seen).toEqual(['one a', 'two a', 'two b'])
    expect(server.socket.commands()).toEqual([['SUBSCRIBE', 'news']])
  })

  test('duplicates after a retry: a socket that was given up is not heard', async () => {
    const { server, client } = await online()
    const { seen } = await hearing(server, client)
    const old = server.socket
    server.wake()
    await server.pass(3000)
    await server.pass(0)
    await server.online()
    server.socket.confirm('subscribe', 'news')
    old.push('message', 'news', 'from the grave')
    server.socket.push('message', 'news', 'alive')
    expect(seen).toEqual(['alive'])
    expect(old.closed).toBeDefined()
  })

  test('resubscription fails with an expired token: a fresh one brings the names back', async () => {
    const { provider } = numbering()
    const { server, client } = await online({ token: provider })
    const { seen } = await hearing(server, client)
    await server.socket.end(4401, 'unauthorized||token expired')
    await server.pass(0)
    await server.online()
    expect(server.socket.protocols).toEqual(['resp3', 'bearer.token-2'])
    server.socket.confirm('subscribe', 'news')
    server.socket.push('message', 'news', 'back')
    expect(seen).toEqual(['back'])
  })

  test('false gaps: one gap for one loss, and no reconnect because of it', async () => {
    const { server, client } = await online()
    await hearing(server, client)
    const gaps = record(client, 'gap')
    await server.socket.end()
    await server.pass(0)
    await server.online()
    server.socket.confirm('subscribe', 'news')
    await server.pass(3_600_000)
    expect(gaps).toHaveLength(1)
    expect(server.sockets).toHaveLength(2)
  })

  test('publishing while reconnecting: it fails at once instead of being sent when nobody expects it', async () => {
    const { server, client } = await online()
    await server.socket.end()
    await expect(client.publish('news', 'x')).rejects.toMatchObject({
      name: 'ConnectionError',
      code: 'ERR_NOT_ONLINE',
    })
    await server.pass(0)
    await server.online()
    expect(server.socket.commands()).toEqual([])
  })

  test('permission taken from a live subscription: the application lives, and hears what it lost', async () => {
    const { server, client } = await online()
    const { seen } = await hearing(server, client, 'kept')
    await hearing(server, client, 'lost')
    const told: unknown[] = []
    client.on('revoked', ({ channel }) => told.push(['revoked', channel]))
    client.on('denied', ({ name, code }) => told.push([name, code]))
    server.socket.push('token', 'revoked', 'lost', 'moved')
    await server.socket.end(4403, 'permissions-changed||')
    await server.pass(0)
    await server.online()
    server.socket.commands()
    server.socket.receive(NOPERM)
    await settle()
    expect(server.socket.commands()).toEqual([
      ['SUBSCRIBE', 'kept'],
      ['SUBSCRIBE', 'lost'],
    ])
    server.socket.confirm('subscribe', 'kept')
    server.socket.receive(NOPERM)
    await settle()
    server.socket.push('message', 'kept', 'still here')
    expect(seen).toEqual(['still here'])
    expect(told).toEqual([
      ['revoked', 'lost'],
      ['lost', 'NOPERM'],
    ])
  })
})

describe('silence', () => {
  test.each([
    ['+ok\r\n', 'ok'],
    ['$7\r\nchannel\r\n', 'channel'],
    ['%1\r\n$7\r\nverdict\r\n$4\r\ndeny\r\n', 'deny'],
  ] as const)('no messages and no error: why() asks the server (%j)', async (reply, verdict) => {
    const { server, client } = await online()
    const why = client.why('news')
    expect(server.socket.commands()).toEqual([['TOKEN', 'WHY', 'subscribe', 'news']])
    server.socket.receive(reply)
    expect(await why).toBe(verdict)
  })

  test('why not publish: the command is named', async () => {
    const { server, client } = await online()
    void client.why('news', 'publish')
    expect(server.socket.commands()).toEqual([['TOKEN', 'WHY', 'publish', 'news']])
  })
})
