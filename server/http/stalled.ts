import type { IncomingMessage } from 'node:http'

/** Longest time that a request may take to come, and an upgrade to be answered, in ms. */
export const REQUEST_TIMEOUT_MS = 10_000

/**
 * Destroys the socket of an upgrade if nothing happens on it for ten seconds: the runtime has let go of it, with all of its deadlines.
 * ws turns this off when it takes the socket over. The listener stays with the socket, and holds nothing else.
 */
export function endInTime(socket: IncomingMessage['socket']): void {
  socket.setTimeout(REQUEST_TIMEOUT_MS)
  socket.on('timeout', destroySocket)
}

function destroySocket(this: IncomingMessage['socket']): void {
  this.destroy()
}
