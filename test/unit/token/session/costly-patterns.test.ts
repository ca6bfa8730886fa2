import { describe, expect, test } from 'vitest'
import { encodeCommand } from '../../../support/resp-client.ts'
import { TestCore, type TestClient } from '../../../support/test-core.ts'

/** A name on which costly patterns cost 256 steps for each 32 tokens. */
const NAME = 'a'.repeat(256)

/** A pattern of 400 tokens that nearly fits everywhere. */
const costly = (i: number): string => `*${'?'.repeat(200)}${'a'.repeat(50)}b${i}*`

const cheap = (i: number): string => `*b${i}*`

function open(steps: string) {
  const core = new TestCore({ 'ws-pattern-steps': steps })
  const browser = (): TestClient => {
    const client = core.connect({ transport: 'websocket' })
    client.becomeDefault()
    return client
  }
  return { core, browser, publisher: core.connect() }
}

const dropped = (pattern: string, left: number): string =>
  `>3\r\n$12\r\npunsubscribe\r\n$${pattern.length}\r\n${pattern}\r\n:${left}\r\n` +
  `>4\r\n$5\r\ntoken\r\n$7\r\nrevoked\r\n$${pattern.length}\r\n${pattern}\r\n` +
  '$26\r\nthe pattern costs too much\r\n'

describe('A pattern of a WebSocket that makes a message cost more than ws-pattern-steps', () => {
  test('is dropped; its subscribers are told, and stay connected', () => {
    const { core, browser, publisher } = open('1000')
    const [one, other] = [browser(), browser()]
    one.send('PSUBSCRIBE', costly(1), 'x*')
    other.send('PSUBSCRIBE', costly(1))
    expect(publisher.send('PUBLISH', NAME, 'm')).toBe(':0\r\n')
    expect(one.read()).toBe(dropped(costly(1), 1))
    expect(other.read()).toBe(dropped(costly(1), 0))
    expect([one.client.closed, core.registry.patternCount]).toEqual([false, 1])
    expect(core.counters.patternsDropped).toBe(1)
    expect(publisher.send('INFO', 'stats')).toContain('\r\npubsub_patterns_dropped:1\r\n')
  })

  test('takes no message from others: cheap patterns are never dropped', () => {
    const { core, browser, publisher } = open('1000')
    const honest = browser()
    const patterns = Array.from({ length: 40 }, (_, i) => cheap(i))
    honest.send('PSUBSCRIBE', ...patterns)
    honest.send('PSUBSCRIBE', '*a*', costly(1))
    expect(publisher.send('PUBLISH', NAME, 'm')).toBe(':1\r\n')
    const text = honest.read()
    expect(text).toContain('pmessage')
    expect(text.split('punsubscribe')).toHaveLength(2)
    expect(core.registry.patternCount).toBe(41)
  })

  test('is kept while the budget of the message holds', () => {
    const { core, browser, publisher } = open('1000000')
    browser().send('PSUBSCRIBE', costly(1), costly(2))
    publisher.send('PUBLISH', NAME, 'm')
    expect(core.registry.patternCount).toBe(2)
  })

  test('is kept if a TCP client holds it too, as Redis keeps it', () => {
    const { core, browser, publisher } = open('1000')
    const tcp = core.connect({ protocol: 3 })
    browser().send('PSUBSCRIBE', costly(1))
    tcp.send('PSUBSCRIBE', costly(1))
    publisher.send('PUBLISH', NAME, 'm')
    expect([core.registry.patternCount, core.registry.meteredPatternCount]).toEqual([1, 0])
    tcp.send('PUNSUBSCRIBE')
    expect(core.registry.meteredPatternCount).toBe(1)
    publisher.send('PUBLISH', `${NAME}c`, 'm')
    expect(core.registry.patternCount).toBe(0)
  })

  test('is dropped for the publisher itself after the reply', () => {
    const { browser } = open('1000')
    const client = browser()
    client.send('PSUBSCRIBE', costly(1))
    expect(client.send('PUBLISH', NAME, 'm')).toBe(`:0\r\n${dropped(costly(1), 0)}`)
  })
})

describe('Very many patterns that one message finds too costly', () => {
  /** 250 of them, sixteen for each browser at most; a message has found them all, and its turn has not ended. */
  function condemn() {
    const { core, browser, publisher } = open('1000')
    const browsers: TestClient[] = []
    for (let i = 0; i < 250; i++) {
      if (i % 16 === 0) browsers.push(browser())
      browsers.at(-1)?.send('PSUBSCRIBE', costly(i))
    }
    publisher.write(encodeCommand('PUBLISH', NAME, 'm'))
    return { core, browsers, publisher }
  }

  test('are taken from their subscribers in turns of 100, and match nothing meanwhile', () => {
    const { core, browsers, publisher } = condemn()
    expect([core.registry.patternCount, core.counters.patternsDropped]).toEqual([150, 100])
    publisher.write(encodeCommand('PUBLISH', `${'a'.repeat(250)}b249`, 'm'))
    core.turn.endOne()
    expect(core.registry.patternCount).toBe(50)
    core.turn.end()
    expect([core.registry.patternCount, core.counters.patternsDropped]).toEqual([0, 250])
    expect(publisher.read()).toBe(':0\r\n:0\r\n')
    expect(browsers.at(-1)?.read()).toContain(dropped(costly(249), 0))
  })

  test('are kept where a TCP client has come before their turn', () => {
    const { core } = condemn()
    const tcp = core.connect({ protocol: 3 })
    tcp.write(encodeCommand('PSUBSCRIBE', costly(249)))
    core.turn.end()
    expect(core.registry.patternCount).toBe(1)
    expect(core.connect().send('PUBLISH', `${'a'.repeat(250)}b249`, 'm')).toBe(':2\r\n')
  })

  test('leave a pattern alone that has come anew', () => {
    const { core, browsers } = condemn()
    const last = browsers.at(-1)
    last?.write(encodeCommand('PUNSUBSCRIBE', costly(249)))
    last?.write(encodeCommand('PSUBSCRIBE', costly(249)))
    core.turn.end()
    expect([core.registry.patternCount, core.counters.patternsDropped]).toEqual([1, 249])
  })
})

describe('ws-max-distinct-patterns', () => {
  test('bounds the patterns of all WebSockets together, those that TCP clients hold left out', () => {
    const core = new TestCore({ 'ws-max-distinct-patterns': '2' })
    const [one, other] = [1, 2].map(() => core.connect({ transport: 'websocket' }))
    const tcp = core.connect({ protocol: 3 })
    one?.becomeDefault()
    other?.becomeDefault()
    one?.send('PSUBSCRIBE', 'a*', 'b*')
    const error = '-ERR at most 2 distinct patterns of WebSockets are allowed on this server\r\n'
    expect(other?.send('PSUBSCRIBE', 'a*', 'c*')).toBe(error)
    expect(other?.send('PSUBSCRIBE', 'a*')).toContain('psubscribe')
    tcp.send('PSUBSCRIBE', 'a*', 'd*')
    expect(core.registry.meteredPatternCount).toBe(1)
    expect(other?.send('PSUBSCRIBE', 'c*')).toContain('psubscribe')
    expect(other?.send('PSUBSCRIBE', 'd*')).toContain('psubscribe')
    expect(other?.send('PSUBSCRIBE', 'e*')).toBe(error)
    one?.client.peerClosed()
    expect(core.registry.meteredPatternCount).toBe(1)
    expect(other?.send('PSUBSCRIBE', 'e*')).toContain('psubscribe')
  })
})

test('a name of more than 256 bytes is published by TCP clients alone', () => {
  const { browser, publisher } = open('0')
  const long = 'n'.repeat(257)
  const client = browser()
  for (const command of ['PUBLISH', 'SPUBLISH']) {
    expect(client.send(command, long, 'm')).toBe(
      '-ERR a channel name of more than 256 bytes is not allowed on this connection\r\n',
    )
    expect(client.send(command, long.slice(1), 'm')).toBe(':0\r\n')
    expect(publisher.send(command, long, 'm')).toBe(':0\r\n')
  }
})
