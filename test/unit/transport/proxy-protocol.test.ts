import { describe, expect, test } from 'vitest'
import { parseProxyHeader } from '../../../server/transport/proxy-protocol.ts'
import { binaryHeader, headerFor, LOCAL_HEADER } from '../../support/proxy-header.ts'

const line = (text: string) => Buffer.from(text, 'latin1')

describe('A PROXY header of version 2', () => {
  test('of literal bytes is read', () => {
    const bytes = Buffer.from('0d0a0d0a000d0a515549540a2111000ccb0071070a0000019c4118ec', 'hex')
    expect(parseProxyHeader(bytes)).toEqual({
      length: 28,
      client: { ip: '203.0.113.7', port: 40_001 },
    })
  })

  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['2001:db8:0:0:0:0:0:7', '2001:db8::7'],
    ['2001:DB8:1:2:3:4:5:6', '2001:db8:1:2:3:4:5:6'],
    ['0:0:0:0:0:ffff:cb00:7107', '203.0.113.7'],
  ])('names the client %s as %s', (ip, shown) => {
    expect(parseProxyHeader(headerFor(ip, 65_535))).toMatchObject({
      client: { ip: shown, port: 65_535 },
    })
  })

  test.each([
    ['LOCAL', LOCAL_HEADER],
    ['LOCAL, with addresses that do not count', binaryHeader({ command: 0x20 })],
    ['LOCAL, of a family that nobody knows', binaryHeader({ command: 0x20, family: 0xff })],
    ['an unspecified family', binaryHeader({ family: 0x00 })],
    ['a Unix stream', binaryHeader({ family: 0x31, addresses: Buffer.alloc(216, 'a') })],
  ])('with %s is of the proxy itself', (_what, bytes) => {
    expect(parseProxyHeader(bytes)).toEqual({ length: bytes.length, client: undefined })
  })

  test('ends where its length says, with TLVs that are skipped; what follows is not looked at', () => {
    const bytes = binaryHeader({ more: Buffer.from('0100026832', 'hex') })
    const header = { length: 33, client: { ip: '203.0.113.7', port: 40_001 } }
    expect(parseProxyHeader(bytes)).toEqual(header)
    expect(parseProxyHeader(Buffer.concat([bytes, line('PING\r\n')]))).toEqual(header)
  })

  test('may have 4096 bytes, and no more', () => {
    const most = binaryHeader({ more: Buffer.alloc(4_096 - 28) })
    expect(parseProxyHeader(most)).toMatchObject({ length: 4_096 })
    const larger = binaryHeader({ more: Buffer.alloc(4_096 - 27) })
    expect(parseProxyHeader(larger.subarray(0, 16))).toEqual({ fault: 'more than 4096 bytes' })
  })

  test.each([
    ['of version 1', { command: 0x11 }, 'unknown version or command'],
    ['of version 3', { command: 0x31 }, 'unknown version or command'],
    ['with an unknown command', { command: 0x22 }, 'unknown version or command'],
    ['of UDP', { family: 0x12 }, 'neither TCP nor a Unix stream'],
    ['of a Unix datagram', { family: 0x32 }, 'neither TCP nor a Unix stream'],
    ['of an unknown family', { family: 0x41 }, 'neither TCP nor a Unix stream'],
    ['without a protocol', { family: 0x10 }, 'neither TCP nor a Unix stream'],
    ['too short', { addresses: Buffer.alloc(11) }, 'too short for its addresses'],
    ['of IPv6 that is too short', { family: 0x21 }, 'too short for its addresses'],
  ])('%s is a fault', (_what, fields, fault) => {
    expect(parseProxyHeader(binaryHeader(fields))).toEqual({ fault })
  })
})

describe('A PROXY header of version 1', () => {
  test.each([
    ['PROXY TCP4 203.0.113.7 10.0.0.1 40001 6380\r\n', { ip: '203.0.113.7', port: 40_001 }],
    ['PROXY TCP4 0.0.0.1 255.255.255.255 0 65535\r\n', { ip: '0.0.0.1', port: 0 }],
    ['PROXY TCP6 2001:DB8::7 ::1 40001 6380\r\n', { ip: '2001:db8::7', port: 40_001 }],
    ['PROXY TCP6 ::ffff:203.0.113.7 ::1 1 2\r\n', { ip: '203.0.113.7', port: 1 }],
    ['PROXY UNKNOWN\r\n', undefined],
    ['PROXY UNKNOWN anything that is short enough\r\n', undefined],
  ])('%j is read', (text, client) => {
    const header = { length: text.length, client }
    expect(parseProxyHeader(line(text))).toEqual(header)
    expect(parseProxyHeader(line(`${text}PING\r\n`))).toEqual(header)
  })

  test.each([
    ['PROXY TCP5 203.0.113.7 10.0.0.1 1 2\r\n', 'neither TCP4 nor TCP6 nor UNKNOWN'],
    ['PROXY \r\n', 'neither TCP4 nor TCP6 nor UNKNOWN'],
    ['PROXY TCP4 2001:db8::7 ::1 1 2\r\n', 'not an address of its family'],
    ['PROXY TCP6 203.0.113.7 10.0.0.1 1 2\r\n', 'not an address of its family'],
    ['PROXY TCP4 203.0.113.07 10.0.0.1 1 2\r\n', 'not an address of its family'],
    ['PROXY TCP4 203.0.113.7 example.com 1 2\r\n', 'not an address of its family'],
    ['PROXY TCP4 203.0.113.7  10.0.0.1 1 2\r\n', 'not an address of its family'],
    ['PROXY TCP4 203.0.113.7 10.0.0.1 1\r\n', 'not two ports'],
    ['PROXY TCP4 203.0.113.7 10.0.0.1 1 2 3\r\n', 'not two ports'],
    ['PROXY TCP4 203.0.113.7 10.0.0.1 01 2\r\n', 'not two ports'],
    ['PROXY TCP4 203.0.113.7 10.0.0.1 65536 2\r\n', 'not two ports'],
    ['PROXY TCP4 203.0.113.7 10.0.0.1 -1 2\r\n', 'not two ports'],
    [`PROXY UNKNOWN ${'a'.repeat(92)}\r\n`, 'a line without an end'],
  ])('%j is a fault', (text, fault) => {
    expect(parseProxyHeader(line(text))).toEqual({ fault })
  })

  test('may have 107 bytes, line end included', () => {
    const text = `PROXY UNKNOWN ${'a'.repeat(91)}\r\n`
    expect(text).toHaveLength(107)
    expect(parseProxyHeader(line(text))).toEqual({ length: 107, client: undefined })
  })
})

test.each([
  ['version 2', headerFor('2001:db8:0:0:0:0:0:7')],
  ['version 1', line('PROXY TCP4 203.0.113.7 10.0.0.1 40001 6380\r\n')],
])('A header of %s is awaited until its last byte', (_version, bytes) => {
  for (let length = 0; length < bytes.length; length++) {
    expect(parseProxyHeader(bytes.subarray(0, length))).toBeUndefined()
  }
  expect(parseProxyHeader(bytes)).toHaveProperty('client')
})

test.each([
  'P\r\n',
  'PROXX',
  'PING\r\n',
  '*1\r\n$4\r\nPING\r\n',
  '\r\n\r\nPING\r\n',
  '\x16\x03\x01',
  'proxy ',
])('Bytes that begin no header are a fault at once: %j', (text) => {
  expect(parseProxyHeader(line(text))).toEqual({ fault: 'there is none' })
})
