import { describe, expect, test } from 'vitest'
import { TestCore } from '../../../support/test-core.ts'

const ask = (...args: string[]): string => new TestCore().connect().send(...args)

describe('WAIT', () => {
  test.each([
    [['1', '0'], ':0\r\n'],
    [['x', 'x'], '-ERR value is not an integer or out of range\r\n'],
    [['0', 'x'], '-ERR timeout is not an integer or out of range\r\n'],
    [['0', '-1'], '-ERR timeout is negative\r\n'],
    [['9223372036854775807', '0'], ':0\r\n'],
    [['0', '9223372036854775807'], '-ERR timeout is out of range\r\n'],
  ])('%j', (args, reply) => {
    expect(ask('WAIT', ...args)).toBe(reply)
  })
})

test('ROLE answers a master without replicas', () => {
  expect(ask('ROLE')).toBe('*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n')
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
    [['0', '0', '9223372036854775807'], 'timeout is out of range'],
  ])('refuses %j', (args, error) => {
    expect(ask('WAITAOF', ...args)).toBe(`-ERR ${error}\r\n`)
  })
})

describe('FAILOVER', () => {
  test.each([
    [['x'], 'syntax error'],
    [['ABORT', 'x'], 'syntax error'],
    [['TO', 'h'], 'syntax error'],
    [['FORCE', 'FORCE'], 'syntax error'],
    [['TIMEOUT', '0'], 'FAILOVER timeout must be greater than 0'],
    [['TIMEOUT', 'x'], 'value is not an integer or out of range'],
    [['TO', 'h', 'x'], 'value is not an integer or out of range'],
    [['TO', 'h', '1', 'FORCE', 'TIMEOUT', '5'], 'FAILOVER requires connected replicas.'],
  ])('reads its options before it refuses: %j', (args, error) => {
    expect(ask('FAILOVER', ...args)).toBe(`-ERR ${error}\r\n`)
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
