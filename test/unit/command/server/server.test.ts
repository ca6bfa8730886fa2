import { describe, expect, test } from 'vitest'
import { TestCore } from '../../../support/test-core.ts'

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
