import { describe, expect, test } from 'vitest'
import { readRedirection } from '../../../../server/upstream/link/redirection.ts'

const FROM = { host: '10.0.0.1', port: 7001 }

describe('A redirection names a slot and a node', () => {
  test.each([
    ['MOVED', 'MOVED 3999 127.0.0.1:6381', 3999, '127.0.0.1', 6381],
    ['ASK', 'ASK 0 redis.internal:6379', 0, 'redis.internal', 6379],
    ['MOVED', 'MOVED 16383 [::1]:7000', 16383, '::1', 7000],
    ['MOVED', 'MOVED 1 ::1:7000', 1, '::1', 7000],
    ['ASK', 'ASK 5 :7002', 5, '10.0.0.1', 7002],
  ] as const)('%s: %s', (word, line, slot, host, port) => {
    expect(readRedirection(word, line, FROM)).toEqual({ slot, node: { host, port } })
  })

  test.each([
    ['MOVED', 'ASK 1 a:1'],
    ['ASK', 'MOVED 1 a:1'],
    ['MOVED', 'MOVED x a:1'],
    ['MOVED', 'MOVED 1 a'],
    ['MOVED', 'CLUSTERDOWN Hash slot not served'],
  ] as const)('and nothing else is taken for %s: %s', (word, line) => {
    expect(readRedirection(word, line, FROM)).toBeUndefined()
  })

  test('but not where neither the line nor the asker has a host', () => {
    expect(readRedirection('MOVED', 'MOVED 1 :7000', undefined)).toBeUndefined()
  })
})
