import { describe, expect, test } from 'vitest'
import { coreWithUpstream } from '../../../support/fake-backplane.ts'
import { command, TestCore, type TestClient } from '../../../support/test-core.ts'

/** The pipeline of so many messages to `a`, numbered from 0, each followed by filler bytes. */
function messages(count: number, fillerBytes = 0): Buffer {
  return Buffer.concat(
    Array.from({ length: count }, (_, i) =>
      command('PUBLISH', 'a', `${i}${'x'.repeat(fillerBytes)}`),
    ),
  )
}

/** Lets what waits for answers go on. */
async function goOn(client: TestClient): Promise<void> {
  await new Promise((resolve) => void setImmediate(resolve))
  client.read()
}

describe('PUBLISH with an upstream', () => {
  test('is answered with what the upstream answers, and counted then', () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect()
    expect(client.send('PUBLISH', 'a', '\0\xff')).toBe('')
    expect(client.send('SPUBLISH', 's', 'x')).toBe('')
    expect(upstream.inFlight).toEqual([
      { space: 'channel', key: 'a', payload: '\0\xff' },
      { space: 'shard', key: 's', payload: 'x' },
    ])
    const { counters } = server
    expect(counters.messagesPublished).toBe(0)
    upstream.answer(3)
    expect(client.read()).toBe(':3\r\n')
    upstream.answer(0)
    expect(client.read()).toBe(':0\r\n')
    expect([counters.messagesPublished, counters.messagesDelivered]).toEqual([2, 3])
  })

  test('answers errors in their places, and counts them as those of any command', () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect()
    client.write(Buffer.concat([messages(2), command('PUBLISH', 'a')]))
    upstream.answer('TRYAGAIN unknown whether published')
    expect(client.read()).toBe('-TRYAGAIN unknown whether published\r\n')
    upstream.answer(1)
    expect(client.read()).toBe(":1\r\n-ERR wrong number of arguments for 'publish' command\r\n")
    upstream.refusal = 'TRYAGAIN not published'
    expect(client.send('PUBLISH', 'a', 'x')).toBe('-TRYAGAIN not published\r\n')
    expect(server.counters.errors.get('TRYAGAIN')).toBe(2)
    expect(server.table.named('publish')).toMatchObject({
      calls: 3,
      failedCalls: 2,
      rejectedCalls: 1,
    })
    expect(server.counters.messagesPublished).toBe(1)
  })

  test('answers in the order of the commands, whatever the order of the answers', () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect()
    client.write(messages(3))
    upstream.answerAt(2, 30)
    upstream.answerAt(1, 20)
    expect(client.read()).toBe('')
    upstream.answer(10)
    expect(client.read()).toBe(':10\r\n:20\r\n:30\r\n')
  })

  test.each(['tcp', 'websocket'] as const)(
    'is answered before its own message, which may come first: over %s',
    (transport) => {
      const { server, upstream } = coreWithUpstream()
      upstream.inForce.add('channel')
      const client = server.connect({ transport, protocol: 3 })
      client.becomeDefault()
      client.send('SUBSCRIBE', 'a')
      upstream.deliver('a', 'before')
      client.write(command('PUBLISH', 'a', 'own'))
      upstream.deliver('a', 'own')
      const message = (payload: string): string =>
        `>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$${payload.length}\r\n${payload}\r\n`
      expect(client.read()).toBe(message('before'))
      upstream.answer(1)
      upstream.deliver('a', 'after')
      expect(client.read()).toBe(`:1\r\n${message('own')}${message('after')}`)
    },
  )

  test('lets any other command of its client wait until it is answered', async () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect()
    client.write(Buffer.concat([messages(2), command('PING'), command('NONSENSE'), messages(1)]))
    expect(client.sink.paused).toBe(true)
    upstream.answer(1)
    await goOn(client)
    expect(upstream.inFlight).toHaveLength(1)
    upstream.answer(2)
    await client.settled()
    client.read()
    expect(client.sink.bytes.toString()).toBe(
      ":1\r\n:2\r\n+PONG\r\n-ERR unknown command 'NONSENSE', with args beginning with: \r\n",
    )
    expect([upstream.inFlight.length, client.client.commands]).toEqual([1, 5])
    expect(server.connect().send('PING')).toBe('+PONG\r\n')
  })

  test('goes to the upstream at most 1,024 times ahead of the answers', async () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect()
    client.write(messages(1_030))
    expect([upstream.inFlight.length, client.sink.paused]).toEqual([1_024, true])
    for (let i = 0; i < 511; i++) upstream.answer(0)
    await goOn(client)
    expect(client.sink.paused).toBe(true)
    upstream.answer(0)
    await client.settled()
    expect(upstream.inFlight.map(({ payload }) => payload).slice(-2)).toEqual(['1028', '1029'])
    while (upstream.flights.length > 0) upstream.answer(0)
    client.read()
    expect(client.sink.bytes.toString()).toBe(':0\r\n'.repeat(1_030))
  })

  test('goes to the upstream with at most 1 MB ahead of the answers; a larger message goes alone', async () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect()
    client.write(messages(4, 400_000))
    expect(upstream.inFlight).toHaveLength(2)
    upstream.answer(0)
    upstream.answer(0)
    await client.settled()
    expect(upstream.inFlight).toHaveLength(2)
    upstream.answer(0)
    upstream.answer(0)
    client.write(Buffer.concat([messages(1, 1_100_000), messages(1)]))
    expect(upstream.inFlight).toHaveLength(1)
  })

  test('waits while the upstream has no room, and is judged anew then', async () => {
    const { server, upstream } = coreWithUpstream()
    server.setUser('u', 'on nopass +@all resetchannels &a')
    const [client, other] = [server.connect(), server.connect()]
    client.send('AUTH', 'u', 'x')
    upstream.isFull = true
    client.write(messages(1))
    other.write(Buffer.concat([command('PING'), messages(1)]))
    expect([upstream.inFlight.length, client.sink.paused, other.sink.paused]).toEqual([
      0,
      true,
      true,
    ])
    server.setUser('u', 'resetchannels')
    upstream.makeRoom()
    await client.settled()
    expect(client.read()).toMatch(/^-NOPERM /)
    await other.settled()
    expect(upstream.inFlight).toHaveLength(1)
  })

  test.each([
    ['OFF', ''],
    ['SKIP', '+PONG\r\n'],
  ])('is not answered after CLIENT REPLY %s, and counts', async (mode, expected) => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect()
    client.write(Buffer.concat([command('CLIENT', 'REPLY', mode), messages(1), command('PING')]))
    upstream.answer(1)
    await client.settled()
    expect(client.read()).toBe(expected)
    expect(server.counters.messagesPublished).toBe(1)
  })

  test('is answered where its client sends nothing more, and before QUIT', async () => {
    const { server, upstream } = coreWithUpstream()
    const [ended, quitting] = [server.connect(), server.connect()]
    ended.write(messages(2))
    ended.connection.peerEnded()
    quitting.write(Buffer.concat([messages(1), command('QUIT')]))
    expect([ended.client.closed, quitting.client.closed]).toEqual([false, false])
    for (const answer of [1, 2, 3]) upstream.answer(answer)
    await ended.settled()
    await quitting.settled()
    expect(ended.sink.bytes.toString()).toBe(':1\r\n:2\r\n')
    expect(quitting.sink.bytes.toString()).toBe(':3\r\n+OK\r\n')
    expect([ended.sink.ends.length, quitting.sink.ends.length]).toEqual([1, 1])
    expect(ended.client.closeCause?.name).toBe('peer-closed')
  })

  test('of a client that is gone is answered to nobody, and counted', () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect()
    client.write(messages(1))
    client.connection.peerClosed()
    upstream.answer(2)
    server.turn.end()
    expect([client.sink.bytes.length, server.counters.messagesDelivered]).toEqual([0, 2])
  })

  test('does not take names that begin as those of gateways do', () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect()
    const refused = "-ERR names that begin with '{respcast:' are reserved\r\n"
    expect(client.send('PUBLISH', '{respcast:b}', 'x')).toBe(refused)
    expect(client.send('SPUBLISH', '{respcast:b}', 'x')).toBe(refused)
    expect(client.send('PUBLISH', 'a{respcast:', 'x')).toBe('')
    expect(upstream.inFlight).toHaveLength(1)
  })

  test('is shown to monitors once, and is the last command of its client', async () => {
    const { server, upstream } = coreWithUpstream()
    const [monitor, client] = [server.connect(), server.connect()]
    monitor.send('MONITOR')
    client.write(Buffer.concat([messages(1), command('PING')]))
    upstream.answer(1)
    await client.settled()
    expect(monitor.sink.bytes.toString().match(/"[A-Z]+"/g)).toEqual(['"PUBLISH"', '"PING"'])
    expect(client.client.lastCommand).toBe('ping')
  })
})

test('Without an upstream, names that gateways use are names as any', () => {
  expect(new TestCore().connect().send('PUBLISH', '{respcast:b}', 'x')).toBe(':0\r\n')
})
