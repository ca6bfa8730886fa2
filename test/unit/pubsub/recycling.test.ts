import { describe, expect, test } from 'vitest'
import { CLOSES } from '../../../server/client/close.ts'
import { payloadOf } from '../../../server/delivery/segment.ts'
import { TestCore, type TestClient } from '../../support/test-core.ts'

/** Two subscribers of `c` on a server whose memory for messages is overwritten when it comes back. */
function example() {
  const server = new TestCore()
  const subscribers = [server.connect({ protocol: 3 }), server.connect({ transport: 'websocket' })]
  for (const { client } of subscribers) {
    client.authenticated = true
    server.registry.subscribe('channel', client, 'c', 'default')
  }
  const [tcp, webSocket] = subscribers as [TestClient, TestClient]
  const publish = (text: string): void => {
    server.registry.publish('channel', 'c', payloadOf(Buffer.from(text)))
  }
  return { server, arenas: server.arenas, tcp, webSocket, publish }
}

function message(text: string): string {
  return `>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$${text.length}\r\n${text}\r\n`
}

describe('The memory of messages', () => {
  test('is used again once everybody has been sent them', () => {
    const { arenas, tcp, webSocket, publish } = example()
    for (let turn = 1; turn <= 3; turn++) {
      publish(`turn ${turn}`)
      expect([tcp.read(), webSocket.read()]).toEqual(Array(2).fill(message(`turn ${turn}`)))
      expect(arenas.given).toBe(turn)
    }
  })

  test('is left to a socket that has not taken them', () => {
    const { server, arenas, tcp, webSocket, publish } = example()
    tcp.sink.blocks = true
    publish('first')
    server.turn.end()
    expect(arenas.given).toBe(0)
    publish('second')
    webSocket.read()
    expect(arenas.given).toBe(0)
    expect(tcp.sink.wasTamperedWith).toBe(false)
    tcp.sink.blocks = false
    tcp.sink.drain()
    tcp.client.output.onWritable()
    expect(tcp.read()).toBe(message('first') + message('second'))
  })

  test('is left to a client that they still wait for', () => {
    const { server, arenas, tcp, publish } = example()
    tcp.sink.blocks = true
    tcp.client.output.push(Buffer.from('+busy\r\n'))
    server.turn.end()
    publish('waits')
    server.turn.end()
    expect(arenas.given).toBe(0)
    tcp.sink.blocks = false
    tcp.sink.drain()
    tcp.client.output.onWritable()
    expect(tcp.read()).toBe(`+busy\r\n${message('waits')}`)
  })

  test('is used again where a client was closed that they waited for', () => {
    const { server, arenas, tcp, webSocket, publish } = example()
    publish('lost')
    tcp.client.close(CLOSES.killed)
    expect(webSocket.read()).toBe(message('lost'))
    server.turn.end()
    expect(arenas.given).toBe(1)
  })

  test('grows with a long turn, and comes back whole', () => {
    const { arenas, tcp, publish } = example()
    let expected = ''
    for (let i = 0; i < 100; i++) {
      publish(String(i).repeat(20))
      expected += message(String(i).repeat(20))
    }
    expect(tcp.read()).toBe(expected)
    expect(arenas.given).toBe(5)
  })

  test('is used again in the middle of a turn that goes on and on', () => {
    const { server, arenas, tcp, webSocket, publish } = example()
    webSocket.client.close(CLOSES.killed)
    let expected = ''
    for (let round = 0; round < 12; round++) {
      for (let i = 0; i < 60; i++) {
        const text = `${round}:${i}:`.padEnd(10_000, '.')
        publish(text)
        expected += message(text)
      }
      // Written while others of the turn still wait.
      tcp.client.output.flush(0, false)
    }
    expect(arenas.given).toBeGreaterThan(50)
    server.turn.end()
    expect(tcp.sink.bytes.toString('latin1') === expected).toBe(true)
  })
})
