import { createServer, IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { limitPipelines } from '../../../server/http/pipelines.ts'

/** A server, the requests that reached its handler, and a function that makes one of a connection come. */
function open() {
  const handled: IncomingMessage[] = []
  const server = createServer((request) => void handled.push(request))
  limitPipelines(server)
  const request = (socket: Socket): ServerResponse => {
    const incoming = new IncomingMessage(socket)
    const response = new ServerResponse(incoming)
    server.emit('request', incoming, response)
    return response
  }
  return { handled, request }
}

test('Eight requests of one connection may wait for their answers, and the ninth closes it', () => {
  const { handled, request } = open()
  const socket = new Socket()
  for (let at = 0; at < 8; at++) request(socket)
  expect([handled.length, socket.destroyed]).toEqual([8, false])
  request(socket)
  request(socket)
  expect([handled.length, socket.destroyed]).toEqual([8, true])
})

test('A connection that waits for each answer may send as many requests as it likes', () => {
  const { handled, request } = open()
  const socket = new Socket()
  for (let at = 0; at < 1_000; at++) request(socket).emit('close')
  expect([handled.length, socket.destroyed]).toEqual([1_000, false])
})

test('Requests of other connections do not count', () => {
  const { handled, request } = open()
  const sockets = Array.from({ length: 20 }, () => new Socket())
  for (const socket of sockets) request(socket)
  expect(handled).toHaveLength(20)
  expect(sockets.filter(({ destroyed }) => destroyed)).toEqual([])
})
