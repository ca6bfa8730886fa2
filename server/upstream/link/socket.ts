import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Node } from '../node.ts'
import type { UpstreamTls } from '../settings.ts'

/** A socket, as far as a link uses it. */
export interface LinkSocket {
  on(event: 'connect' | 'secureConnect' | 'close', listener: () => void): this
  /** `data` is the listener's; `lent` is overwritten when the listener returns. */
  on(event: 'data' | 'lent', listener: (chunk: Buffer) => void): this
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): this
  write(bytes: Uint8Array): boolean
  cork(): void
  uncork(): void
  /** Reads nothing until {@link resume}. */
  pause(): this
  resume(): this
  destroy(): this
}

/**
 * Begins to connect to a node, over TLS where options are given: `connect` or `secureConnect` says that it is done.
 *
 * @throws Error The address or the options cannot be used.
 */
export type OpenSocket = (node: Node, tls: UpstreamTls | undefined) => LinkSocket

/** Connects by the network. */
export function openSocket(node: Node, tls: UpstreamTls | undefined): LinkSocket {
  const socket: Socket = tls === undefined ? connectLent(node) : connectTls({ ...tls, ...node })
  return socket.setNoDelay(true)
}

/** One read of a plain socket goes here, for all links: each would allocate as much otherwise, for every read. */
const READ_BUFFER = Buffer.allocUnsafeSlow(262_144)

function connectLent(node: Node): Socket {
  const callback = (bytes: number): boolean => {
    socket.emit('lent', READ_BUFFER.subarray(0, bytes))
    return true
  }
  const socket = connectTcp({ ...node, onread: { buffer: READ_BUFFER, callback } })
  return socket
}
