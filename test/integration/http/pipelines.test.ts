import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { sharedServer } from '../../support/opened.ts'

const server = sharedServer()
const REQUEST = 'GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n'
const LAST = 'GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'

/** Sends in one write. @returns What came until the connection ended. */
function answersTo(requests: string): Promise<string> {
  return new Promise((resolve) => {
    let received = ''
    const socket = connect(server.httpPort, '127.0.0.1', () => socket.write(requests))
    socket.on('data', (chunk) => (received += chunk.toString('latin1')))
    socket.on('error', () => {})
    socket.once('close', () => resolve(received))
  })
}

test('Eight requests in one write are answered', async () => {
  const received = await answersTo(REQUEST.repeat(7) + LAST)
  expect(received.match(/HTTP\/1\.1 404/g)).toHaveLength(8)
})

test('A connection that sends 2,000 requests at once is closed, and others are answered as before', async () => {
  let started = 0
  const count = (): void => void started++
  subscribe('http.server.request.start', count)
  onTestFinished(() => void unsubscribe('http.server.request.start', count))
  // The runtime gives its parsers to other connections: those that follow have to be whole.
  for (let at = 0; at < 3; at++) {
    await answersTo(REQUEST.repeat(2_000))
    const received = await answersTo(LAST)
    expect(received.match(/HTTP\/1\.1 404/g)).toHaveLength(1)
  }
  expect(started).toBeLessThanOrEqual(3 * (9 + 1))
})
