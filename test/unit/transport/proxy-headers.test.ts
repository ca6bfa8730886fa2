import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { PeerLog } from '../../../server/log.ts'
import { ProxyHeaders } from '../../../server/transport/proxy-headers.ts'
import type { ByteReader } from '../../../server/transport/raw-socket.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { headerFor, LOCAL_HEADER } from '../../support/proxy-header.ts'
import { recordedLog } from '../../support/recorded-log.ts'
import { settingsOf } from '../../support/settings.ts'

/** An accepted socket of a proxy. */
function socketFrom(remoteAddress: string) {
  const socket = Object.assign(new EventEmitter(), {
    remoteAddress,
    destroyed: false,
    isPaused: false,
    pause: () => {
      socket.isPaused = true
    },
    destroy: () => {
      socket.destroyed = true
      socket.emit('close')
    },
  })
  return socket
}

function listening(directives = {}, sockets = 0) {
  const { log, lines } = recordedLog()
  const clock = new FakeClock()
  const rejected: string[] = []
  const headers = new ProxyHeaders({
    clients: { sockets },
    clock,
    config: settingsOf({ 'trusted-proxies': '10.0.0.0/8 127.0.0.1 2001:db8::/32', ...directives }),
    counters: { countRejection: (reason) => void rejected.push(reason) },
    peerLog: new PeerLog(log, clock),
  })
  const read = (from: string) => {
    const socket = socketFrom(from)
    const taken: unknown[] = []
    let reader = {} as ByteReader
    headers.read(
      // Only these parts of a socket are used.
      { socket: socket as unknown as Socket, start: (given) => (reader = given) },
      (client, rest) => void taken.push(client, rest.toString()),
    )
    return { socket, taken, reader }
  }
  return { headers, clock, rejected, lines, read }
}

test('addresses of trusted-proxies are trusted, in any spelling, and no others', () => {
  const { headers, rejected, lines } = listening()
  const trusts = (remoteAddress: string) => headers.trusts({ remoteAddress } as Socket)
  expect(['10.1.2.3', '::ffff:10.1.2.3', '2001:db8::1'].map(trusts)).toEqual([true, true, true])
  expect(['11.0.0.1', '::ffff:11.0.0.1', '2001:db9::1', ''].map(trusts)).toEqual(
    Array.from({ length: 4 }, () => false),
  )
  expect(rejected).toHaveLength(4)
  expect(lines[0]).toMatchObject({
    ip: '11.0.0.1',
    reason: 'the address is not in trusted-proxies',
  })
})

test('nobody is trusted where the list is empty', () => {
  const { headers } = listening({ 'trusted-proxies': '' })
  expect(headers.trusts({ remoteAddress: '127.0.0.1' } as Socket)).toBe(false)
})

test('a header in lent bytes is taken once, and the socket is paused with what came behind it', () => {
  const { read, clock } = listening()
  const { socket, taken, reader } = read('10.0.0.9')
  const bytes = Buffer.concat([headerFor('203.0.113.7'), Buffer.from('PING')])
  const lent = Buffer.alloc(10)
  for (let at = 0; at < bytes.length; at += lent.length) {
    const length = bytes.copy(lent, 0, at)
    reader.receiveLent(lent.subarray(0, length))
    lent.fill('x')
  }
  expect(taken).toEqual([{ ip: '203.0.113.7', port: 40_001 }, 'PI'])
  expect(socket.isPaused).toBe(true)
  expect(clock.pendingTimers).toBe(0)
  expect(socket.listenerCount('close')).toBe(0)
})

test('somebody who is local to a proxy elsewhere is not local here: the proxy stands for it', () => {
  const { read } = listening()
  const header = headerFor('127.0.0.1')
  const [far, near] = [read('10.0.0.9'), read('127.0.0.1')]
  far.reader.receive(header)
  near.reader.receive(header)
  expect(far.taken).toEqual([undefined, ''])
  expect(near.taken).toEqual([{ ip: '127.0.0.1', port: 40_001 }, ''])
})

test('a connection whose header does not come in five seconds is cut, and logged', () => {
  const { read, clock, rejected, lines } = listening()
  const { socket, reader } = read('10.0.0.9')
  reader.receive(LOCAL_HEADER.subarray(0, 15))
  clock.advance(4_999)
  expect(socket.destroyed).toBe(false)
  clock.advance(1)
  expect(socket.destroyed).toBe(true)
  expect(rejected).toEqual(['proxy-protocol'])
  expect(lines).toMatchObject([{ ip: '10.0.0.9', reason: 'there is none in time' }])
})

test.each([
  ['', []],
  ['PROXY', ['proxy-protocol']],
])('a peer that leaves after %j is rejected only if it has sent something', (text, expected) => {
  const { read, rejected, clock } = listening()
  const { socket, reader } = read('10.0.0.9')
  if (text !== '') reader.receive(Buffer.from(text))
  reader.peerEnded()
  reader.peerClosed()
  expect(socket.destroyed).toBe(true)
  expect(rejected).toEqual(expected)
  expect(clock.pendingTimers).toBe(0)
})

test('as many headers are awaited as there are places for clients, sixteen at least; the oldest gives way', () => {
  for (const [sockets, most] of [
    [0, 100],
    [60, 40],
    [99, 16],
  ] as const) {
    const { read } = listening({ maxclients: '100' }, sockets)
    const waiting = Array.from({ length: most + 1 }, () => read('10.0.0.9').socket)
    expect(waiting.map(({ destroyed }) => destroyed).indexOf(false)).toBe(1)
  }
})
