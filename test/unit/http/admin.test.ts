import { describe, expect, test } from 'vitest'
import { isHostAllowed } from '../../../server/http/admin.ts'

const BEYOND = { localAddress: '10.0.0.1', binds: ['*', '127.0.0.1'], hosts: ['admin.example'] }
const LOOPBACK = { localAddress: '127.0.0.1', binds: ['10.0.0.1', 'localhost'], hosts: [] }

describe("The administrators' listener answers requests for", () => {
  test.each([
    ['localhost', LOOPBACK],
    ['localhost:8081', LOOPBACK],
    ['LOCALHOST:8081', LOOPBACK],
    ['127.0.0.1:1', LOOPBACK],
    ['127.0.0.1', { ...LOOPBACK, localAddress: '::ffff:127.0.0.1' }],
    ['[::1]', { ...LOOPBACK, localAddress: '::1' }],
    ['[::1]:8081', LOOPBACK],
    ['10.0.0.1:8081', BEYOND],
    ['10.0.0.1', { ...BEYOND, localAddress: '::ffff:10.0.0.1' }],
    ['[fd00::1]:8081', { ...BEYOND, localAddress: 'fd00::1' }],
    ['console.internal', { ...BEYOND, binds: ['-console.internal'] }],
    ['Admin.Example:443', BEYOND],
    ['localhost', { ...BEYOND, hosts: ['localhost'] }],
  ])('%s at %j', (host, place) => {
    expect(isHostAllowed(host, place)).toBe(true)
  })

  test.each([
    ['', LOOPBACK],
    ['', { ...LOOPBACK, localAddress: '' }],
    ['evil.example', LOOPBACK],
    ['localhost.evil.example', LOOPBACK],
    ['evil.example:127.0.0.1', LOOPBACK],
    ['10.0.0.1', LOOPBACK],
    ['localhost', BEYOND],
    ['127.0.0.1:8081', BEYOND],
    ['[::1]', BEYOND],
    ['0.0.0.0', BEYOND],
    ['10.0.0.2', BEYOND],
    ['[::2]', BEYOND],
    ['admin.example.evil', BEYOND],
  ])('not %j at %j', (host, place) => {
    expect(isHostAllowed(host, place)).toBe(false)
  })
})
