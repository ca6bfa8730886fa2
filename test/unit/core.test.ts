import { describe, expect, test } from 'vitest'
import { coreWithUpstream } from '../support/fake-backplane.ts'
import { TestCore } from '../support/test-core.ts'

describe('A message from within the process', () => {
  const [channel, payload] = [Buffer.from('a\xff', 'latin1'), Buffer.from('x')]

  test('is delivered, and counted as that of PUBLISH', async () => {
    const server = new TestCore()
    const client = server.connect({ protocol: 3 })
    client.send('SUBSCRIBE', 'a\xff')
    expect(await server.publish('channel', channel, payload)).toBe(1)
    expect(client.read()).toBe('>3\r\n$7\r\nmessage\r\n$2\r\na\xff\r\n$1\r\nx\r\n')
    expect(server.counters).toMatchObject({ messagesPublished: 1, messagesDelivered: 1 })
  })

  test('resolves with what an upstream answers, and rejects with its error', async () => {
    const { server, upstream } = coreWithUpstream()
    const answers = [
      server.publish('channel', channel, payload),
      server.publish('shard', channel, payload),
    ]
    upstream.answer(5)
    upstream.answer('TRYAGAIN unknown whether published')
    expect(await answers[0]).toBe(5)
    await expect(answers[1]).rejects.toMatchObject({
      code: 'ERR_NOT_PUBLISHED',
      message: 'TRYAGAIN unknown whether published',
    })
    expect(server.counters.messagesPublished).toBe(1)
  })

  test('waits for room upstream, in order', async () => {
    const { server, upstream } = coreWithUpstream()
    upstream.isFull = true
    const answers = ['1', '2'].map((text) => server.publish('channel', channel, Buffer.from(text)))
    expect(upstream.inFlight).toEqual([])
    upstream.makeRoom()
    await Promise.resolve()
    expect(upstream.inFlight.map((message) => message.payload)).toEqual(['1', '2'])
    upstream.answer(1)
    upstream.answer(2)
    expect(await Promise.all(answers)).toEqual([1, 2])
  })

  test('does not take a name that gateways use', async () => {
    const { server, upstream } = coreWithUpstream()
    await expect(
      server.publish('channel', Buffer.from('{respcast:b}'), payload),
    ).rejects.toMatchObject({ code: 'ERR_NOT_PUBLISHED' })
    expect(upstream.inFlight).toEqual([])
  })
})
