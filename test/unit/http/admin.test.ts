import { describe, expect, test } from 'vitest'
import { isHostAllowed } from '../../../server/http/admin.ts'

describe("The administrators' listener answers requests for", () => {
  test.each([
    'localhost',
    'localhost:8081',
    'LOCALHOST:8081',
    '127.0.0.1:1',
    '[::1]',
    '[::1]:8081',
    '10.0.0.1:8081',
    '[fd00::1]:8081',
    'Admin.Example:443',
  ])('%s', (host) => {
    expect(isHostAllowed(host, ['10.0.0.1', '-fd00::1'], ['admin.example'])).toBe(true)
  })

  test.each([
    '',
    'evil.example',
    'localhost.evil.example',
    'evil.example:127.0.0.1',
    '10.0.0.2',
    '[::2]',
    'admin.example.evil',
  ])('not %j', (host) => {
    expect(isHostAllowed(host, ['10.0.0.1'], ['admin.example'])).toBe(false)
  })
})
