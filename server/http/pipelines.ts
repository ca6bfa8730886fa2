import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { ignoreRequests } from '../transport/raw-socket.ts'

/** Requests of one connection that may wait for their answers. */
const MOST_PIPELINED = 8

/**
 * Closes connections that send request after request without waiting for answers. The runtime reads all that has come, and keeps each
 * request until its answer is sent. Browsers and proxies send one at a time.
 *
 * @param server Its listeners for requests see no more of such a connection.
 */
export function limitPipelines(server: Server): void {
  const unanswered = new WeakMap<IncomingMessage['socket'], number>()
  const listeners = server.listeners('request') as RequestListener[]
  server.removeAllListeners('request')
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    // It was read together with the request that was one too many.
    if (socket.destroyed) return
    const count = (unanswered.get(socket) ?? 0) + 1
    if (count > MOST_PIPELINED) {
      socket.destroy()
      ignoreRequests(socket)
      return
    }
    unanswered.set(socket, count)
    response.once('close', () => {
      unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1)
    })
    for (const listener of listeners) listener.call(server, request, response)
  })
}
