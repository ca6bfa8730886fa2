import { describe, expect, test } from 'vitest'
import { CLOSES } from '../../../server/client/close.ts'
import { mayBePublished, type Publisher } from '../../../server/transport/publisher.ts'
import { connectPublisher } from '../../../server/transport/reception.ts'
import type { PublishAnswer } from '../../../server/upstream/backplane.ts'
import { NOT_PUBLISHED, UNKNOWN } from '../../../server/upstream/node-links.ts'
import { coreWithUpstream } from '../../support/fake-backplane.ts'
import { TestCore } from '../../support/test-core.ts'

/** A publisher that is logged in as a user with these rules. */
function publisherOf(server: TestCore, rules = '+publish &*'): Publisher {
  const publisher = connectPublisher(server, {
    listener: 'public',
    address: '127.0.0.1:1',
    localAddress: '127.0.0.1:8080',
    origin: undefined,
  })
  server.setUser('app', `on >pw ${rules}`)
  const user = server.users.get('app')
  if (!user) throw new Error('no user')
  server.clients.setIdentity(publisher.client, { user, ceilings: [], token: undefined })
  publisher.client.authenticate()
  return publisher
}

function publish(publisher: Publisher, channel: string, payload: string): Promise<PublishAnswer> {
  return publisher.publish(Buffer.from(channel, 'latin1'), Buffer.from(payload, 'latin1'))
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}

describe('A publisher', () => {
  test('is answered with the receivers, in the turn of its request', async () => {
    const server = new TestCore()
    const subscriber = server.connect()
    subscriber.send('SUBSCRIBE', 'a\xff')
    const publisher = publisherOf(server)
    expect(await publish(publisher, 'a\xff', '\0\xfe')).toBe(1)
    expect(subscriber.read()).toBe('*3\r\n$7\r\nmessage\r\n$2\r\na\xff\r\n$2\r\n\0\xfe\r\n')
    expect(await publish(publisher, 'b', 'x')).toBe(0)
    expect(publisher.client.lastCommand).toBe('publish')
  })

  test('is refused by the same rules and with the same words as any client, and shown in ACL LOG', async () => {
    const server = new TestCore()
    const publisher = publisherOf(server, '+publish &a')
    expect(await publish(publisher, 'b', 'x')).toBe('NOPERM No permissions to access a channel')
    server.setUser('app', '-publish')
    expect(await publish(publisher, 'a', 'x')).toBe(
      "NOPERM User app has no permissions to run the 'publish' command",
    )
    const admin = server.connect()
    expect(admin.send('ACL', 'LOG')).toContain('$7\r\nchannel\r\n')
  })

  test('waits for the upstream, and messages keep their order', async () => {
    const { server, upstream } = coreWithUpstream()
    const publisher = publisherOf(server)
    const answers = [publish(publisher, 'a', '1'), publish(publisher, 'a', '2')]
    expect(upstream.inFlight.map(({ payload }) => payload)).toEqual(['1', '2'])
    upstream.answerAt(1, 20)
    upstream.answer(10)
    server.turn.end()
    expect(await Promise.all(answers)).toEqual([10, 20])
  })

  test('waits while the upstream has no room, and while CLIENT PAUSE holds it', async () => {
    const { server, upstream } = coreWithUpstream()
    const publisher = publisherOf(server)
    upstream.isFull = true
    const answers = [publish(publisher, 'a', '1'), publish(publisher, 'a', '2')]
    expect(upstream.inFlight).toEqual([])
    expect(publisher.client.isWaiting).toBe(true)
    upstream.makeRoom()
    await nextTurn()
    upstream.answer(1)
    upstream.answer(2)
    server.turn.end()
    expect(await Promise.all(answers)).toEqual([1, 2])
  })

  test('that is closed learns of each message whether it may have been published', async () => {
    const { server, upstream } = coreWithUpstream()
    const publisher = publisherOf(server)
    const sent = publish(publisher, 'a', '1')
    upstream.isFull = true
    const held = publish(publisher, 'a', '2')
    const kept = publish(publisher, 'a', '3')
    publisher.client.close(CLOSES.sessionRevoked)
    server.turn.end()
    expect(await Promise.all([sent, held, kept])).toEqual([UNKNOWN, UNKNOWN, NOT_PUBLISHED])
    expect(await publish(publisher, 'a', '4')).toBe(NOT_PUBLISHED)
    await nextTurn()
    await server.clients.drained()
  })

  test('that ends gets the answers that are on their way', async () => {
    const { server, upstream } = coreWithUpstream()
    const publisher = publisherOf(server)
    const answer = publish(publisher, 'a', '1')
    publisher.end()
    upstream.answer(5)
    server.turn.end()
    expect(await answer).toBe(5)
    await server.clients.drained()
  })

  test.each([
    [3, true],
    [UNKNOWN, true],
    [NOT_PUBLISHED, false],
    ['NOPERM No permissions to access a channel', false],
  ] as const)('whose answer is %j may have published: %s', (answer, may) => {
    expect(mayBePublished(answer)).toBe(may)
  })
})
