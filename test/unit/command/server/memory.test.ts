import { describe, expect, test } from 'vitest'
import { TestCore } from '../../../support/test-core.ts'

const ask = (...args: string[]): string => new TestCore().connect().send(...args)

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
      /^%33\r\n\$14\r\npeak\.allocated\r\n:4000\r\n\$15\r\ntotal\.allocated\r\n:3000\r\n/,
    )
    expect(text).toContain('$14\r\nclients.normal\r\n:4096\r\n')
    expect(text).toMatch(
      /replication\.backlog\r\n:0\r\n\$23\r\nreplica\.fullsync\.buffer\r\n:0\r\n/,
    )
    expect(text).toMatch(/functions\.caches\r\n:0\r\n\$10\r\nscript\.VMs\r\n:0\r\n/)
    expect(text).toContain('$18\r\nallocator.resident\r\n:6000\r\n')
    expect(text).toContain('$19\r\nallocator-rss.ratio\r\n,2\r\n')
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
