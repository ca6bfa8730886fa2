import { describe, expect, test } from 'vitest'
import { TestCore, type TestClient } from '../../../support/test-core.ts'

const ask = (...args: string[]): string => new TestCore().connect().send(...args)

describe('LOLWUT', () => {
  test('ends with the version in a line of its own', () => {
    const client = new TestCore().connect({ protocol: 3 })
    for (const args of [[], ['VERSION', '5'], ['VERSION'], ['x']]) {
      const text = client.send('LOLWUT', ...args)
      expect(text).toMatch(/^=\d+\r\ntxt:/)
      expect(text.split('\n').slice(-4)).toEqual(['', 'Redis ver. 8.0.6', '\r', ''])
      expect(text.split('\n').length).toBeGreaterThan(10)
    }
  })

  test('draws something else after a while', () => {
    const server = new TestCore()
    const client = server.connect()
    const before = client.send('LOLWUT')
    expect(client.send('LOLWUT')).toBe(before)
    server.clock.advance(1_000)
    expect(client.send('LOLWUT')).not.toBe(before)
  })

  test('wants a number for VERSION', () => {
    expect(ask('LOLWUT', 'VERSION', 'x')).toBe('-ERR value is not an integer or out of range\r\n')
  })
})

describe('MODULE and DEBUG', () => {
  const text = (command: string): string =>
    `-ERR ${command} command not allowed. If the enable-${command.toLowerCase()}-command option is set to "local", ` +
    'you can run it from a local connection, otherwise you need to set this option in the configuration file, and ' +
    'then restart the server.\r\n'

  test('MODULE LIST answers no modules', () => {
    expect(ask('MODULE', 'LIST')).toBe('*0\r\n')
  })

  test('all else is not allowed, in a transaction at once', () => {
    expect(ask('MODULE', 'LOAD', 'x')).toBe(text('MODULE'))
    expect(ask('MODULE', 'LOADEX', 'x')).toBe(text('MODULE'))
    expect(ask('MODULE', 'UNLOAD', 'x')).toBe(text('MODULE'))
    expect(ask('DEBUG', 'SLEEP', '1')).toBe(text('DEBUG'))
    const client = new TestCore().connect()
    client.send('MULTI')
    expect(client.send('DEBUG', 'SLEEP', '1')).toBe(text('DEBUG'))
    expect(client.send('EXEC')).toBe(
      '-EXECABORT Transaction discarded because of previous errors.\r\n',
    )
  })
})

describe('SHUTDOWN', () => {
  test.each([
    [['x'], '-ERR syntax error\r\n'],
    [['SAVE', 'NOSAVE'], '-ERR syntax error\r\n'],
    [['ABORT', 'NOW'], '-ERR syntax error\r\n'],
    [['abort'], '-ERR No shutdown in progress.\r\n'],
  ])('refuses %j', (args, error) => {
    expect(ask('SHUTDOWN', ...args)).toBe(error)
  })
})

test.each([
  [['DBSIZE'], ':0\r\n'],
  [['FLUSHALL', 'ASYNC'], '+OK\r\n'],
  [['FLUSHDB'], '+OK\r\n'],
  [['TIME'], '*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n'],
  [['LASTSAVE'], ':1700000000\r\n'],
])('An empty server answers %j', (args, reply) => {
  expect(ask(...args)).toBe(reply)
})

describe('FLUSHALL and FLUSHDB', () => {
  test.each(['FLUSHALL', 'FLUSHDB'])('%s takes ASYNC or SYNC, or nothing', (name) => {
    for (const args of [[], ['async'], ['SYNC']]) expect(ask(name, ...args)).toBe('+OK\r\n')
    for (const args of [['x'], [''], ['SYNC', 'SYNC'], ['ASYNC', 'x']]) {
      expect(ask(name, ...args)).toBe('-ERR syntax error\r\n')
    }
  })

  test('tell clients with CLIENT TRACKING that all keys may have changed, after the reply', () => {
    const server = new TestCore()
    const [sender, other, plain, old] = [3, 3, 3, 2].map((protocol) =>
      server.connect({ protocol: protocol as 2 | 3 }),
    ) as [TestClient, TestClient, TestClient, TestClient]
    for (const client of [sender, other, old]) client.send('CLIENT', 'TRACKING', 'ON')
    other.send('CLIENT', 'REPLY', 'OFF')
    const push = '>2\r\n$10\r\ninvalidate\r\n_\r\n'
    expect(sender.send('FLUSHALL')).toBe(`+OK\r\n${push}`)
    expect([other, plain, old].map((client) => client.read())).toEqual([push, '', ''])
    sender.send('MULTI')
    sender.send('FLUSHDB')
    expect(sender.send('EXEC')).toBe(`*1\r\n+OK\r\n${push}`)
  })

  test('in EXEC tell their own client if it tracked when they came', () => {
    const server = new TestCore()
    const client = server.connect({ protocol: 3 })
    const push = '>2\r\n$10\r\ninvalidate\r\n_\r\n'
    for (const words of [
      'MULTI',
      'FLUSHALL',
      'CLIENT TRACKING ON',
      'FLUSHALL',
      'CLIENT TRACKING OFF',
    ])
      client.send(...words.split(' '))
    expect(client.send('EXEC')).toBe(`*4\r\n${'+OK\r\n'.repeat(4)}${push}`)
  })

  test('in EXEC tell their own client after the messages that EXEC brings it', () => {
    const server = new TestCore()
    const client = server.connect({ protocol: 3 })
    for (const words of ['SUBSCRIBE a', 'CLIENT TRACKING ON', 'MULTI', 'FLUSHALL', 'PUBLISH a x'])
      client.send(...words.split(' '))
    expect(client.send('EXEC')).toBe(
      '*2\r\n+OK\r\n:1\r\n>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n>2\r\n$10\r\ninvalidate\r\n_\r\n',
    )
  })

  test('tell the client that invalidations are redirected to, a subscriber in RESP2 too', () => {
    const server = new TestCore()
    const [sender, listener, tracker] = [
      server.connect(),
      server.connect(),
      server.connect({ protocol: 3 }),
    ]
    listener.send('SUBSCRIBE', '__redis__:invalidate')
    tracker.send('CLIENT', 'TRACKING', 'ON', 'REDIRECT', String(listener.client.id))
    sender.send('FLUSHALL')
    expect(listener.read()).toBe('*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n$-1\r\n')
    expect(tracker.read()).toBe('')
    listener.client.peerClosed()
    sender.send('FLUSHALL')
    expect(tracker.read()).toBe('>2\r\n$21\r\ntracking-redir-broken\r\n:2\r\n')
  })
})

test('SELECT wants a 32-bit integer', () => {
  const range = '-ERR value is out of range, value must between -2147483648 and 2147483647\r\n'
  expect(ask('SELECT', '2147483647')).toBe('-ERR DB index is out of range\r\n')
  expect(ask('SELECT', '-2147483648')).toBe('-ERR DB index is out of range\r\n')
  expect(ask('SELECT', '2147483648')).toBe(range)
  expect(ask('SELECT', '9223372036854775807')).toBe(range)
  expect(ask('SELECT', '9223372036854775808')).toBe(
    '-ERR value is not an integer or out of range\r\n',
  )
})
