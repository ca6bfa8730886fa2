import { describe, expect, test } from 'vitest'
import {
  bindAddress,
  hostAndPort,
  isLoopback,
  isNetwork,
  networkOf,
  plainAddress,
  splitAddress,
  trustOf,
} from '../../server/addresses.ts'

test.each([
  ['127.0.0.1', 6380, '127.0.0.1:6380'],
  ['::1', 6380, '[::1]:6380'],
  ['localhost', 0, 'localhost:0'],
])('%s and port %d are written %s', (host, port, text) => {
  expect(hostAndPort(host, port)).toBe(text)
})

test.each([
  ['10.0.0.1:6380', '10.0.0.1', 6380],
  ['[2001:db8::1]:7000', '2001:db8::1', 7000],
  ['[::ffff:10.0.0.1]:6380', '10.0.0.1', 6380],
])('%s is %s and port %d', (text, ip, port) => {
  expect(splitAddress(text)).toEqual({ ip, port })
})

describe('The address of a text', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    [' 203.0.113.7 ', '203.0.113.7'],
    ['203.0.113.7:1234', '203.0.113.7'],
    ['2001:DB8:0::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::FFFF:0a00:0001', '10.0.0.1'],
    ['::1', '::1'],
  ])('%j is %s', (text, address) => expect(plainAddress(text)).toBe(address))

  test.each([
    '',
    'unknown',
    '_hidden',
    '1.2.3.4 user=default',
    '1.2.3.4:80:90',
    '1.2.3.4:',
    '1.2.3',
    '01.2.3.4',
    '[1.2.3.4]',
    '[2001:db8::1',
    '[2001:db8::1]x',
    '2001:db8::1]:80',
    '1.2.3.4\r\nid=1',
    '"1.2.3.4"',
    'localhost',
  ])('%j is none', (text) => expect(plainAddress(text)).toBeUndefined())
})

describe('This machine is', () => {
  test.each([
    'localhost',
    '127.0.0.1',
    '127.8.9.10',
    '::1',
    '::ffff:127.0.0.1',
    '::FFFF:127.0.0.1',
  ])('%s', (address) => expect(isLoopback(address)).toBe(true))

  test.each(['', '10.0.0.1', '128.0.0.1', '127.example', '::2', '::ffff:10.0.0.1', '0.0.0.0', '*'])(
    'not %j',
    (address) => expect(isLoopback(address)).toBe(false),
  )
})

test.each([
  ['127.0.0.1', '127.0.0.1', false],
  ['-::1', '::1', true],
  ['*', '0.0.0.0', false],
  ['::*', '::', false],
  ['-*', '0.0.0.0', true],
  ['-::*', '::', true],
])('bind %s listens on %s, which may be missing: %s', (text, host, optional) => {
  expect(bindAddress(text)).toEqual({ host, optional })
})

describe('Limits per address count', () => {
  test.each([
    ['10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::FFFF:0a00:0001', '10.0.0.1'],
    ['no address', 'no address'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:0db8:0001:0002::', '2001:db8:1:2'],
    ['2001:DB8::1', '2001:db8:0:0'],
    ['2001:db8:0:0:1::', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
  ])('%s as %s', (ip, network) => {
    expect(networkOf(ip)).toBe(network)
  })
})

describe('Trusted networks', () => {
  test('are none where none is named', () => {
    expect(trustOf([])).toBe(false)
  })

  test.each([
    ['10.0.0.1', true],
    ['10.0.0.2', false],
    ['192.168.7.255', true],
    ['192.168.8.0', false],
    ['2001:db8::1', true],
    ['2001:db9::1', false],
    ['::1', true],
    ['::ffff:10.0.0.1', true],
    ['10.0.0.1:8080', true],
    ['[2001:db8::1]:443', true],
    ['not an address', false],
    ['10.0.0.1 user=default', false],
  ])('hold %s: %s', (address, trusted) => {
    const isTrusted = trustOf(['10.0.0.1', '192.168.0.0/21', '2001:db8::/32', '::1'])
    expect(isTrusted && isTrusted(address)).toBe(trusted)
  })
})

describe('A network is', () => {
  test.each(['10.0.0.1', '10.0.0.0/8', '0.0.0.0/0', '2001:db8::1', '2001:db8::/128'])(
    '%s',
    (text) => expect(isNetwork(text)).toBe(true),
  )

  test.each(['', 'proxy', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/x', '::1/129', '10.0.0.0/8/8'])(
    'not %j',
    (text) => expect(isNetwork(text)).toBe(false),
  )
})
