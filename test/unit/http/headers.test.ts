import { describe, expect, test } from 'vitest'
import { headerProblem, peerAddress } from '../../../server/http/headers.ts'

/** So many headers, as names and values in turn. */
function fillers(count: number): string[] {
  return [...Array(count).keys()].flatMap((number) => [`X-Filler-${number}`, 'y'])
}

describe('The headers of a request', () => {
  test('are good up to 64, each that a client may repeat included', () => {
    expect(headerProblem(['Host', 'a', ...fillers(63)])).toBeUndefined()
    expect(
      headerProblem(['Cookie', 'a=b', 'Cookie', 'c=d', 'Via', 'a', 'Via', 'b']),
    ).toBeUndefined()
  })

  test('are refused with 431 beyond 64', () => {
    expect(headerProblem(fillers(65))).toEqual({ status: 431, error: 'more than 64 headers' })
  })

  test.each([
    'Host',
    'ORIGIN',
    'authorization',
    'Sec-WebSocket-Key',
    'Sec-WebSocket-Version',
    'sec-websocket-VERSION',
  ])(
    'are refused with 400 if %s comes twice, whatever lies between and however it is written',
    (name) => {
      const twice = [name, 'a', 'Via', 'b', name.toUpperCase(), 'a']
      expect(headerProblem(twice)).toEqual({
        status: 400,
        error: `more than one header ${name.toLowerCase()}`,
      })
    },
  )
})

/** A request from the socket of the last hop, as a framework reads it. */
function requestOf(ips: string[] | undefined, ip = ips?.at(-1) ?? '', isOpen = true) {
  const socket = isOpen ? { remoteAddress: '10.0.0.1' } : {}
  return { ip, ...(ips && { ips }), socket } as Parameters<typeof peerAddress>[0]
}

describe('The address of a peer', () => {
  test.each([
    [['10.0.0.1'], '10.0.0.1'],
    [['10.0.0.1', '203.0.113.7'], '203.0.113.7'],
    [['10.0.0.1', '203.0.113.7:1234'], '203.0.113.7'],
    [['10.0.0.1', '[2001:DB8::1]'], '2001:db8::1'],
    [['10.0.0.1', '[2001:db8::1]:443'], '2001:db8::1'],
    [['10.0.0.1', '1.2.3.4 user=default'], '10.0.0.1'],
    [['10.0.0.1', 'unknown'], '10.0.0.1'],
    [['10.0.0.1', '10.0.0.2', 'unknown'], '10.0.0.2'],
    [['::ffff:10.0.0.1', ''], '10.0.0.1'],
  ])('behind the hops %j is %s', (hops, address) => {
    expect(peerAddress(requestOf(hops))).toBe(address)
  })

  test("is the socket's where no proxy is trusted", () => {
    expect(peerAddress(requestOf(undefined, '::ffff:10.0.0.9'))).toBe('10.0.0.9')
  })

  test("is the socket's where an application makes another text of it, and empty once that is gone", () => {
    expect(peerAddress(requestOf(undefined, 'nobody'))).toBe('10.0.0.1')
    expect(peerAddress(requestOf(undefined, 'nobody', false))).toBe('')
  })
})
