import { expect, test } from 'vitest'
import { readinessUrl } from '../../../server/cli/healthcheck.ts'

test.each([
  [['127.0.0.1'], 'http://127.0.0.1:8081/readyz'],
  [['10.0.0.1', '10.0.0.2'], 'http://10.0.0.1:8081/readyz'],
  [['-::1'], 'http://[::1]:8081/readyz'],
  [['*'], 'http://127.0.0.1:8081/readyz'],
  [['0.0.0.0'], 'http://127.0.0.1:8081/readyz'],
  [['::*'], 'http://[::1]:8081/readyz'],
  [['::'], 'http://[::1]:8081/readyz'],
  [[], 'http://127.0.0.1:8081/readyz'],
])('a server bound to %j is asked at %s', (binds, url) => {
  expect(readinessUrl(binds, 8081, false)).toBe(url)
  expect(readinessUrl(binds, 8081, true)).toBe(url.replace('http:', 'https:'))
})
