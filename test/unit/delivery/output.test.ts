import { describe, expect, test } from 'vitest'
import { CLOSES } from '../../../server/client/close.ts'
import { Segment } from '../../../server/delivery/segment.ts'
import { ReplyWriter } from '../../../server/resp/reply-writer.ts'
import { encodePush } from '../../../server/resp/push.ts'
import { command, TestCore } from '../../support/test-core.ts'

const PUSH = encodePush(3, ['p'])

function message(payload: string): string {
  return `>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$${payload.length}\r\n${payload}\r\n`
}

/** A subscriber to `a`, whose replies the test fills in. */
function reserving(transport: 'tcp' | 'websocket' = 'tcp') {
  const server = new TestCore({
    'client-output-buffer-limit': 'pubsub 100k 0 0 websocket 100k 0 0',
  })
  const client = server.connect({ transport, protocol: 3 })
  client.becomeDefault()
  client.send('SUBSCRIBE', 'a')
  const { output } = client.client
  const reply = (text: string): ReplyWriter => {
    const writer = new ReplyWriter()
    writer.begin(3)
    if (text !== '') writer.simple(text)
    return writer
  }
  const publish = (payload: string): void =>
    void server.registry.publish('channel', 'a', {
      length: payload.length,
      copy: (target, at) => void target.write(payload, at),
      kept: () => Buffer.from(payload),
    })
  return { server, client, output, reply, publish }
}

describe('A place that is kept in an output', () => {
  test.each(['tcp', 'websocket'] as const)(
    'holds back what is queued after it, and nothing before it: over %s',
    (transport) => {
      const { client, output, reply, publish } = reserving(transport)
      publish('1')
      const first = output.reserve()
      publish('2')
      const second = output.reserve()
      output.push(PUSH)
      publish('3')
      expect(client.read()).toBe(message('1'))
      output.fill(second, reply('second'))
      publish('4')
      expect(client.read()).toBe('')
      output.fill(first, reply('first'))
      publish('5')
      expect(client.read()).toBe(
        `+first\r\n${message('2')}+second\r\n>1\r\n$1\r\np\r\n${message('3')}${message('4')}${message('5')}`,
      )
      publish('6')
      expect(client.read()).toBe(message('6'))
    },
  )

  test('may be left empty', () => {
    const { client, output, reply, publish } = reserving()
    const place = output.reserve()
    publish('1')
    output.fill(place, reply(''))
    expect(client.read()).toBe(message('1'))
  })

  test('holds back the replies of other commands, and the pushes that they cause', () => {
    const { server, client, output, reply } = reserving()
    const place = output.reserve()
    client.write(Buffer.concat([command('PUBLISH', 'a', 'own'), command('PING')]))
    expect(client.read()).toBe('')
    output.fill(place, reply('first'))
    expect(client.read()).toBe(`+first\r\n:1\r\n${message('own')}+PONG\r\n`)
    expect(server.connect().send('PING')).toBe('+PONG\r\n')
  })

  test('of several clients shares what is published between them', () => {
    const { server, client, output, reply, publish } = reserving()
    const other = server.connect({ protocol: 3 })
    other.send('SUBSCRIBE', 'a')
    const place = output.reserve()
    publish('1')
    server.turn.end()
    publish('2')
    expect(other.read()).toBe(message('1') + message('2'))
    publish('3')
    output.fill(place, reply('OK'))
    expect(client.read()).toBe(`+OK\r\n${message('1')}${message('2')}${message('3')}`)
    expect(other.read()).toBe(message('3'))
  })

  test('counts what waits for it', () => {
    const { output, reply, publish } = reserving()
    const first = output.reserve()
    expect([output.heldBytes, output.itemCount, output.isHeldUp]).toEqual([0, 0, true])
    publish('12')
    const second = output.reserve()
    output.push(PUSH)
    output.fill(second, reply('OK'))
    const bytes = message('12').length + PUSH.length + 5
    expect([output.heldBytes, output.itemCount]).toEqual([bytes, 3])
    output.fill(first, reply('OK'))
    expect([output.heldBytes, output.isHeldUp]).toEqual([bytes + 5, false])
  })

  test('lets messages be dropped that wait for it', () => {
    const { client, output, reply, publish } = reserving()
    const place = output.reserve()
    publish('1')
    output.push(PUSH)
    output.dropQueued((_kind, name) => name === 'a')
    output.fill(place, reply('OK'))
    expect(client.read()).toBe('+OK\r\n>1\r\n$1\r\np\r\n')
  })

  test.each(['tcp', 'websocket'] as const)(
    'does not exempt from the output limit: over %s',
    (transport) => {
      const { server, client, output, publish } = reserving(transport)
      output.reserve()
      for (let i = 0; i < 12; i++) publish('x'.repeat(10_000))
      server.turn.end()
      expect(client.client.closeCause?.name).toBe('slow-consumer')
    },
  )

  test('is filled before an end that sends the queue', () => {
    const { client, output, reply, publish } = reserving()
    const place = output.reserve()
    publish('1')
    client.client.close(CLOSES.quit)
    expect([client.read(), client.sink.ends.length]).toEqual(['', 0])
    output.fill(place, reply('OK'))
    expect([client.read(), client.sink.ends.length]).toEqual([`+OK\r\n${message('1')}`, 1])
  })

  test('is forgotten by an end that drops the queue', () => {
    const { client, output, reply, publish } = reserving()
    const place = output.reserve()
    publish('1')
    client.client.close(CLOSES.killed)
    output.fill(place, reply('OK'))
    expect([client.read(), client.sink.terminated, output.heldBytes]).toEqual(['', true, 0])
  })

  test('does not hold back the last push of a WebSocket whose queue is dropped', () => {
    const { client, output } = reserving('websocket')
    output.reserve()
    client.client.close(CLOSES.userDeleted, PUSH)
    expect([client.read(), client.sink.ends.length]).toEqual(['>1\r\n$1\r\np\r\n', 1])
  })

  test('is forgotten with the socket, and gives back the memory of what waited for it', () => {
    const { client, output, reply } = reserving()
    const place = output.reserve()
    const segment = new Segment()
    output.attach(segment, 0)
    client.connection.peerClosed()
    segment.sealed = true
    expect(segment.recycle()).toBe(true)
    output.fill(place, reply('OK'))
    expect([client.read(), output.itemCount]).toEqual(['', 0])
  })
})
