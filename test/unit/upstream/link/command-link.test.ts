import { describe, expect, test } from 'vitest'
import { payloadOf } from '../../../../server/delivery/segment.ts'
import { CommandLink, type Reply } from '../../../../server/upstream/link/command-link.ts'
import { textOf } from '../../../../server/upstream/link/link.ts'
import { FakeNetwork, NODE } from '../../../support/fake-node.ts'

function commandLink() {
  const network = new FakeNetwork()
  const told: string[] = []
  const link = new CommandLink(network.host(), {
    up: () => {},
    down: (cause) => void told.push(`down ${cause}`),
  })
  link.link.connectTo(NODE)
  network.clock.advance(0)
  network.last.shakeHands()
  const reply = (name: string): Reply => ({
    answered: (value) => void told.push(`${name}: ${textOf(value)}`),
    lost: (wasSent) => void told.push(`${name} lost, ${wasSent ? 'sent' : 'not sent'}`),
  })
  const flush = (): string[][] => {
    network.turn.end()
    return network.last.take()
  }
  const publish = (key: string, payload: string, space: 'channel' | 'shard' = 'channel') => {
    const sent = link.publish(space, key, payloadOf(Buffer.from(payload, 'latin1')))
    link.expect(reply(key))
    return sent
  }
  return { network, link, told, reply, flush, publish }
}

describe('A command link', () => {
  test('gives replies to commands in their order, and takes pushes for none', () => {
    const { network, link, told, reply, flush } = commandLink()
    link.ask(reply('a'), 'A')
    link.ask(reply('b'), 'B', '1')
    expect(flush()).toEqual([['A'], ['B', '1']])
    network.last.receive(':1\r\n>1\r\n+notice\r\n')
    network.last.receive('+two\r\n')
    expect(told).toEqual(['a: 1', 'b: two'])
  })

  test('publishes names and payloads of any bytes and length', () => {
    const { flush, publish } = commandLink()
    const lengths = [0, 1, 9, 10, 99, 100, 16_384, 16_385, 100_000]
    for (const length of lengths) publish('\xff\r\n', '\0'.repeat(length))
    const names = ['', '\x80'.repeat(32), '\x80'.repeat(33), 'n'.repeat(70_000)]
    for (const name of names) publish(name, 's', 'shard')
    expect(flush()).toEqual([
      ...lengths.map((length) => ['PUBLISH', '\xff\r\n', '\0'.repeat(length)]),
      ...names.map((name) => ['SPUBLISH', name, 's']),
    ])
  })

  test.each([5, 20_000])(
    'keeps a payload of %i bytes as it was sent, and counts its bytes',
    (length) => {
      const { link, flush } = commandLink()
      const payload = Buffer.alloc(length, 'p')
      const sent = link.publish('channel', 'n', payloadOf(payload))
      link.expect({ answered: () => {}, lost: () => {} })
      flush()
      for (let more = 0; more < 10; more++) {
        link.publish('channel', 'n', payloadOf(Buffer.alloc(10_000, 'q')))
        link.expect({ answered: () => {}, lost: () => {} })
      }
      expect(sent.memory.subarray(sent.start, sent.end).equals(payload)).toBe(true)
      expect(sent.bytes).toBe(
        `*3\r\n$7\r\nPUBLISH\r\n$1\r\nn\r\n$${length}\r\n\r\n`.length + length,
      )
    },
  )

  test('says of each missing reply whether its command may have been executed', () => {
    const { network, link, told, reply, flush } = commandLink()
    link.ask(reply('a'), 'A')
    link.ask(reply('b'), 'B')
    flush()
    network.last.receive(':1\r\n')
    link.ask(reply('c'), 'C')
    network.last.close()
    expect(told).toEqual(['a: 1', 'b lost, sent', 'c lost, not sent', 'down closed'])
  })

  test('says so also after thousands of replies', () => {
    const { network, link, told, reply, flush } = commandLink()
    for (let count = 0; count < 3_000; count++) link.ask(reply(`${count}`), 'A')
    flush()
    network.last.receive(':1\r\n'.repeat(2_998))
    link.ask(reply('last'), 'A')
    expect([...link.missing()]).toHaveLength(3)
    told.length = 0
    network.last.close()
    expect(told).toEqual([
      '2998 lost, sent',
      '2999 lost, sent',
      'last lost, not sent',
      'down closed',
    ])
  })

  test('is cut by a reply that nobody asked for', () => {
    const { network, told } = commandLink()
    network.last.receive(':1\r\n')
    expect([told, network.last.isDestroyed]).toEqual([['down protocol'], true])
  })
})
