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

describe('WAITAOF', () => {
  test('answers that neither file nor replica has anything', () => {
    expect(ask('WAITAOF', '0', '0', '0')).toBe('*2\r\n:0\r\n:0\r\n')
  })

  test.each([
    [['1', '0', '0'], 'WAITAOF cannot be used when numlocal is set but appendonly is disabled.'],
    [['x', '0', '0'], 'value is not an integer or out of range'],
    [['2', '0', '0'], 'value is out of range, value must between 0 and 1'],
    [['0', 'x', '0'], 'value is out of range, must be positive'],
    [['0', '0', 'x'], 'timeout is not an integer or out of range'],
    [['0', '0', '-1'], 'timeout is negative'],
  ])('refuses %j', (args, error) => {
    expect(ask('WAITAOF', ...args)).toBe(`-ERR ${error}\r\n`)
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

describe('Replication', () => {
  test('there is nobody to follow, and nobody who follows', () => {
    expect(ask('REPLICAOF', 'NO', 'ONE')).toBe('+OK\r\n')
    expect(ask('SLAVEOF', 'no', 'one')).toBe('+OK\r\n')
    expect(ask('REPLICAOF', '127.0.0.1', '6379')).toBe(
      '-ERR REPLICAOF is not supported: this server has no data that could be replicated\r\n',
    )
    expect(ask('FAILOVER')).toBe('-ERR FAILOVER requires connected replicas.\r\n')
    expect(ask('FAILOVER', 'ABORT')).toBe('-ERR No failover in progress.\r\n')
  })
})

describe('MEMORY', () => {
  test('USAGE answers that there is no such key', () => {
    expect(ask('MEMORY', 'USAGE', 'k')).toBe('$-1\r\n')
    expect(ask('MEMORY', 'USAGE', 'k', 'SAMPLES', '5')).toBe('$-1\r\n')
  })

  test.each([
    [['k', 'FOO', '1'], 'syntax error'],
    [['k', 'SAMPLES'], 'syntax error'],
    [['k', 'SAMPLES', '-1'], 'syntax error'],
    [['k', 'SAMPLES', 'x'], 'value is not an integer or out of range'],
  ])('USAGE refuses %j', (args, error) => {
    expect(ask('MEMORY', 'USAGE', ...args)).toBe(`-ERR ${error}\r\n`)
  })

  test('STATS answers a map of numbers', () => {
    const text = new TestCore().connect({ protocol: 3 }).send('MEMORY', 'STATS')
    expect(text).toMatch(
      /^%21\r\n\$14\r\npeak\.allocated\r\n:4000\r\n\$15\r\ntotal\.allocated\r\n:3000\r\n/,
    )
    expect(text).toContain('$14\r\nclients.normal\r\n:4096\r\n')
    expect(text).toContain('$15\r\npeak.percentage\r\n,75\r\n')
    expect(text).toContain('$13\r\nfragmentation\r\n,2\r\n')
    expect(text).toMatch(/\$19\r\nfragmentation\.bytes\r\n:3000\r\n$/)
  })

  test('says the rest in words', () => {
    expect(ask('MEMORY', 'PURGE')).toBe('+OK\r\n')
    expect(ask('MEMORY', 'DOCTOR')).toContain('3000 bytes are in use, 75 % of the most')
    expect(ask('MEMORY', 'MALLOC-STATS')).toContain('3000 bytes used, 6000 resident')
  })
})
