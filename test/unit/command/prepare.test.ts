import { describe, expect, test } from 'vitest'
import { CLOSES } from '../../../server/client/close.ts'
import { coreWithUpstream } from '../../support/fake-backplane.ts'
import { command, type TestClient } from '../../support/test-core.ts'

/** Sends the commands (words separated by spaces) as one transaction, with EXEC. */
function transact(client: TestClient, ...lines: readonly string[]): void {
  const words = ['MULTI', ...lines, 'EXEC'].map((line) => command(...line.split(' ')))
  client.write(Buffer.concat(words))
  const queued = `+OK\r\n${'+QUEUED\r\n'.repeat(lines.length)}`
  expect(client.read().startsWith(queued)).toBe(true)
}

/** What the client was sent after the replies of MULTI and of the queued commands. */
function replies(client: TestClient): string {
  client.read()
  const [, ...rest] = client.sink.bytes.toString('latin1').split('+OK\r\n')
  return rest.join('+OK\r\n').replace(/^(\+QUEUED\r\n)+/, '')
}

function message(channel: string, payload: string): string {
  return `>3\r\n$7\r\nmessage\r\n$${channel.length}\r\n${channel}\r\n$${payload.length}\r\n${payload}\r\n`
}

function confirmation(channel: string, count: number, word = 'subscribe'): string {
  return `>3\r\n$${word.length}\r\n${word}\r\n$${channel.length}\r\n${channel}\r\n:${count}\r\n`
}

describe('EXEC with an upstream', () => {
  test('sends its messages together, and runs once they are answered', () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect()
    transact(client, 'PUBLISH a 1', 'ECHO x', 'SPUBLISH s 2')
    expect(upstream.flights.map(({ messages }) => messages)).toEqual([
      [
        { space: 'channel', key: 'a', payload: '1' },
        { space: 'shard', key: 's', payload: '2' },
      ],
    ])
    expect(replies(client)).toBe('')
    upstream.answer(3, 4)
    expect(replies(client)).toBe('*3\r\n:3\r\n$1\r\nx\r\n:4\r\n')
    expect(server.counters).toMatchObject({ messagesPublished: 2, messagesDelivered: 7 })
    expect(server.table.named('exec')?.calls).toBe(1)
  })

  test('runs at once where no command needs the upstream, or the upstream answers at once', () => {
    const { server, upstream } = coreWithUpstream()
    const [client, other] = [server.connect(), server.connect()]
    transact(client, 'PING')
    expect(replies(client)).toBe('*1\r\n+PONG\r\n')
    upstream.refusal = 'TRYAGAIN not published'
    transact(other, 'PUBLISH a 1', 'PING')
    expect(replies(other)).toBe('*2\r\n-TRYAGAIN not published\r\n+PONG\r\n')
    expect(other.sink.paused).toBe(false)
  })

  test('answers each message that failed in its place', () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect()
    transact(client, 'PUBLISH a 1', 'PUBLISH b 2')
    const unknown = 'TRYAGAIN unknown whether published'
    upstream.answer(unknown, 1)
    expect(replies(client)).toBe(`*2\r\n-${unknown}\r\n:1\r\n`)
    expect(server.table.named('publish')?.failedCalls).toBe(1)
  })

  test('is answered before its own messages, which may come first', () => {
    const { server, upstream } = coreWithUpstream()
    upstream.inForce.add('channel')
    const client = server.connect({ protocol: 3 })
    server.registry.subscribe('channel', client.client, 'a', 'default')
    transact(client, 'PUBLISH a 1')
    upstream.deliver('a', '1')
    expect(replies(client)).toBe('')
    upstream.answer(1)
    expect(replies(client)).toBe(`*1\r\n:1\r\n${message('a', '1')}`)
  })

  test('subscribes before it publishes, so that its own messages are received', () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect({ protocol: 3 })
    transact(client, 'SUBSCRIBE a b', 'PUBLISH a 1', 'PSUBSCRIBE p*', 'SUBSCRIBE b')
    expect(upstream.wants.map(({ space, names }) => [space, names])).toEqual([
      ['channel', ['a', 'b']],
    ])
    upstream.confirm()
    expect(upstream.wants.map(({ space, names }) => [space, names])).toEqual([['pattern', ['p*']]])
    expect(upstream.inFlight).toEqual([])
    upstream.confirm()
    expect(upstream.inFlight).toHaveLength(1)
    upstream.deliver('a', '1')
    upstream.answer(1)
    expect(replies(client)).toBe(
      `*4\r\n${confirmation('a', 1)}${confirmation('b', 2)}:1\r\n${confirmation('p*', 3, 'psubscribe')}` +
        `${confirmation('b', 3)}${message('a', '1')}`,
    )
  })

  test('unsubscribes from what was subscribed to before, not from what it subscribes to later', () => {
    const { server, upstream } = coreWithUpstream()
    upstream.inForce.add('channel')
    const client = server.connect({ protocol: 3 })
    server.registry.subscribe('channel', client.client, 'old', 'default')
    transact(client, 'UNSUBSCRIBE', 'UNSUBSCRIBE a', 'SUBSCRIBE a')
    expect(replies(client)).toBe(
      `*3\r\n${confirmation('old', 0, 'unsubscribe')}${confirmation('a', 0, 'unsubscribe')}${confirmation('a', 1)}`,
    )
    expect(upstream.deliver('a', 'x')).toBe(1)
  })

  test('answers names that the upstream does not confirm in their place, and subscribes to none of them', () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect({ protocol: 3 })
    transact(client, 'SUBSCRIBE a', 'PING')
    upstream.confirm('TRYAGAIN the upstream does not confirm the subscription')
    expect(replies(client)).toBe(
      '*2\r\n-TRYAGAIN the upstream does not confirm the subscription\r\n+PONG\r\n',
    )
    expect(client.client.subscriptions.any).toBe(false)
  })

  /** A client of the user `u`, with a transaction that waits for EXEC, and a change of the user's rules. */
  function restricted(...lines: readonly string[]) {
    const { server, upstream } = coreWithUpstream()
    server.setUser('u', 'on nopass +@all resetchannels &a &b')
    const client = server.connect({ protocol: 3 })
    client.send('AUTH', 'u', 'x')
    for (const line of ['MULTI', ...lines]) client.send(...line.split(' '))
    return { server, upstream, client }
  }

  test('sends nothing that is not allowed any more', () => {
    const { server, upstream, client } = restricted('SUBSCRIBE a', 'PUBLISH a 1', 'PUBLISH b 2')
    server.setUser('u', 'resetchannels &b')
    expect(client.send('EXEC')).toBe('')
    expect([upstream.wants, upstream.inFlight.map(({ key }) => key)]).toEqual([[], ['b']])
    upstream.answer(1)
    expect(client.read()).toMatch(/^\*3\r\n-NOPERM [^\r]+\r\n-NOPERM [^\r]+\r\n:1\r\n$/)
  })

  test('asks again when it runs', () => {
    const { server, upstream, client } = restricted('PUBLISH a 1', 'PUBLISH b 2')
    client.send('EXEC')
    server.setUser('u', 'resetchannels &b')
    upstream.answer(1, 2)
    expect(client.read()).toMatch(/^\*2\r\n-NOPERM [^\r]+\r\n:2\r\n$/)
  })

  test('asks again before it subscribes, and before it publishes', () => {
    const { server, upstream, client } = restricted('SUBSCRIBE a', 'SUBSCRIBE b', 'PUBLISH a 1')
    client.send('EXEC')
    server.setUser('u', 'resetchannels &b')
    upstream.confirm()
    expect(client.read()).toMatch(/^\*3\r\n-NOPERM [^\r]+\r\n>3[^-]+-NOPERM [^\r]+\r\n$/)
    expect([upstream.deliver('a', 'x'), upstream.deliver('b', 'x')]).toEqual([0, 1])
  })

  test('drops what came for a name whose command is refused when it runs', () => {
    const { server, upstream, client } = restricted('SUBSCRIBE a', 'SUBSCRIBE b', 'PUBLISH b 1')
    client.send('EXEC')
    upstream.confirm()
    upstream.deliver('a', 'secret')
    upstream.deliver('b', '1')
    server.setUser('other', 'on nopass +@all resetchannels &b')
    const user = server.users.get('other')
    if (user) server.clients.setIdentity(client.client, { user, ceilings: [], token: undefined })
    upstream.answer(1)
    expect(client.read()).toMatch(
      /^\*3\r\n-NOPERM [^\r]+\r\n>3\r\n\$9\r\nsubscribe\r\n\$1\r\nb\r\n:1\r\n:1\r\n>3\r\n\$7\r\nmessage\r\n\$1\r\nb\r\n\$1\r\n1\r\n$/,
    )
    expect(upstream.deliver('a', 'x')).toBe(0)
  })

  test('takes nothing that a gateway uses, in its place', () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect({ protocol: 3 })
    transact(client, 'PUBLISH {respcast:x 1', 'SUBSCRIBE {respcast:x', 'PSUBSCRIBE {respcast:*')
    const refused = "-ERR names that begin with '{respcast:' are reserved\r\n"
    expect(replies(client)).toBe(`*3\r\n${refused.repeat(3)}`)
    expect([upstream.flights, upstream.wants]).toEqual([[], []])
  })

  test('counts names of several commands against the limits as they come', () => {
    const { server, upstream } = coreWithUpstream({ 'tcp-max-subscriptions': '3' })
    const client = server.connect({ protocol: 3 })
    transact(client, 'SUBSCRIBE a b', 'SUBSCRIBE c d', 'SUBSCRIBE c')
    upstream.confirm()
    expect(replies(client)).toBe(
      `*3\r\n${confirmation('a', 1)}${confirmation('b', 2)}` +
        `-ERR at most 3 subscriptions are allowed on this connection\r\n${confirmation('c', 3)}`,
    )
    expect(upstream.deliver('d', 'x')).toBe(0)
  })

  test('waits while the upstream has no room, if it publishes', async () => {
    const { server, upstream } = coreWithUpstream()
    upstream.isFull = true
    const [client, other] = [server.connect(), server.connect()]
    transact(client, 'PUBLISH a 1')
    transact(other, 'PING')
    expect([client.sink.paused, replies(other)]).toEqual([true, '*1\r\n+PONG\r\n'])
    upstream.makeRoom()
    await new Promise((resolve) => void setImmediate(resolve))
    upstream.answer(1)
    expect(replies(client)).toBe('*1\r\n:1\r\n')
  })

  test('is over for a client that is gone: names are given up, messages are counted', () => {
    const { server, upstream } = coreWithUpstream()
    const [one, two] = [server.connect(), server.connect()]
    transact(one, 'SUBSCRIBE a', 'PUBLISH a 1')
    one.connection.peerClosed()
    expect([upstream.cancelled, upstream.flights]).toEqual([[['a']], []])
    transact(two, 'PUBLISH a 1')
    two.connection.peerClosed()
    upstream.answer(2)
    expect(server.counters.messagesDelivered).toBe(2)
    expect(server.table.named('publish')?.calls).toBe(0)
  })

  test('does not keep its client from ending when it is drained meanwhile', () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect()
    transact(client, 'PUBLISH a 1')
    client.client.close(CLOSES.draining)
    client.read()
    expect(client.sink.ends).toHaveLength(0)
    upstream.answer(1)
    client.read()
    expect(client.sink.ends).toHaveLength(1)
  })

  test('is shown to monitors as it runs', () => {
    const { server, upstream } = coreWithUpstream()
    const [monitor, client] = [server.connect(), server.connect()]
    monitor.send('MONITOR')
    transact(client, 'PUBLISH a 1', 'PING')
    upstream.answer(1)
    monitor.read()
    const shown = monitor.sink.bytes.toString().match(/"[A-Z]+"/g)
    expect(shown).toEqual(['"MULTI"', '"PUBLISH"', '"PING"', '"EXEC"'])
  })

  test('leaves out the replies of commands that CLIENT REPLY silences', async () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect()
    client.write(
      Buffer.concat(
        ['CLIENT REPLY OFF', 'MULTI', 'PUBLISH a 1', 'EXEC', 'CLIENT REPLY ON'].map((line) =>
          command(...line.split(' ')),
        ),
      ),
    )
    upstream.answer(1)
    await client.settled()
    expect(client.read()).toBe('+OK\r\n')
    expect(server.counters.messagesPublished).toBe(1)
  })
})
