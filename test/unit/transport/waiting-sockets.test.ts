import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import { WaitingSockets } from '../../../server/transport/waiting-sockets.ts'

/** A socket from one port of a peer. */
function socketFrom(remotePort: number, remoteAddress: string | undefined = '192.0.2.1'): Socket {
  const socket = Object.assign(new EventEmitter(), {
    remoteAddress,
    remotePort,
    destroyed: false,
    destroy: () => {
      socket.destroyed = true
      socket.emit('close')
    },
  })
  // Only these parts are used.
  return socket as unknown as Socket
}

const destroyedOf = (sockets: readonly Socket[]) => sockets.map(({ destroyed }) => destroyed)

function filled(most: number) {
  const tally = { open: 0, evicted: 0 }
  const waiting = new WaitingSockets(() => most, tally)
  const sockets = [...Array(most).keys()].map((port) => socketFrom(port + 1))
  for (const socket of sockets) waiting.add(socket)
  return { waiting, tally, sockets }
}

test('a newcomer beyond the limit costs the socket that has waited longest its place', () => {
  const { waiting, tally, sockets } = filled(3)
  waiting.add(socketFrom(10))
  expect(destroyedOf(sockets)).toEqual([true, false, false])
  expect(tally).toEqual({ open: 3, evicted: 1 })
})

test('a socket whose request is being answered goes last, and waits from the end of the answer on', () => {
  const { waiting, sockets } = filled(3)
  const [first, second, third] = sockets as [Socket, Socket, Socket]
  waiting.startRequest(first)
  waiting.startRequest(second)
  waiting.endRequest(first)
  waiting.add(socketFrom(10))
  expect(destroyedOf(sockets)).toEqual([false, false, true])
  waiting.add(socketFrom(11))
  expect(destroyedOf([first, second, third])).toEqual([true, false, true])
})

test('where all are being answered the one that is slowest goes', () => {
  const { waiting, sockets } = filled(2)
  for (const socket of sockets.toReversed()) waiting.startRequest(socket)
  waiting.add(socketFrom(10))
  expect(destroyedOf(sockets)).toEqual([false, true])
})

test('a socket that is closed, or has become a client, counts no longer and is not touched', () => {
  const { waiting, tally, sockets } = filled(2)
  const [first, second] = sockets as [Socket, Socket]
  waiting.release(first)
  second.destroy()
  expect(tally.open).toBe(0)
  for (const port of [10, 11, 12]) waiting.add(socketFrom(port))
  expect(first.destroyed).toBe(false)
})

test('the socket under TLS and the one that shakes hands are one', () => {
  const tally = { open: 0, evicted: 0 }
  const waiting = new WaitingSockets(() => 2, tally)
  const raw = socketFrom(5)
  const secure = Object.setPrototypeOf(socketFrom(5), TLSSocket.prototype) as Socket
  const other = socketFrom(6)
  waiting.add(raw, true)
  waiting.add(other, true)
  waiting.startRequest(secure)
  waiting.add(socketFrom(7), true)
  expect([raw.destroyed, other.destroyed]).toEqual([false, true])
  waiting.release(secure)
  expect(tally.open).toBe(1)
  raw.destroy()
  expect(tally.open).toBe(1)
})

test('a socket that has become a client keeps no listener', () => {
  const { waiting, sockets } = filled(1)
  const [socket] = sockets as [Socket]
  expect(socket.listenerCount('close')).toBe(1)
  waiting.release(socket)
  expect(socket.listenerCount('close')).toBe(0)
})

test('a peer that is gone already is not kept', () => {
  const { waiting, tally } = filled(1)
  const gone = socketFrom(1)
  Object.assign(gone, { remoteAddress: undefined })
  waiting.add(gone)
  expect([gone.destroyed, tally.open]).toEqual([true, 1])
})
