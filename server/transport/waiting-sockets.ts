import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/** Figures of sockets that are no clients. */
export interface SocketTally {
  open: number
  /** Those that were closed to make room for others. */
  evicted: number
}

/**
 * The sockets of a listener that are no clients: they shake hands, or wait for a request or its answer. There are at most so many. The
 * one that has waited longest gives way to a newcomer: whoever has something to say says it at once, so that peers that only hold
 * connections cannot keep others out, which refusing newcomers would let them.
 *
 * A socket under TLS is known by its addresses: the runtime gives two objects for it.
 */
export class WaitingSockets {
  readonly #most: () => number
  readonly #tally: SocketTally
  /** Without a request, the one that has waited longest first. */
  readonly #idle = new Map<SocketKey, Socket>()
  /** With a request that is being answered. */
  readonly #busy = new Map<SocketKey, Socket>()
  /** One for all plain sockets: one for each would stay with a WebSocket for as long as it lives. */
  readonly #onClose: (this: Socket) => void

  constructor(most: () => number, tally: SocketTally = { open: 0, evicted: 0 }) {
    this.#most = most
    this.#tally = tally
    const forget = (socket: Socket): void => this.#forget(socket, socket)
    this.#onClose = function () {
      forget(this)
    }
  }

  /**
   * Takes an accepted socket in.
   *
   * @param isSecure It is the one under a {@link TLSSocket}, which the other methods are given.
   */
  add(socket: Socket, isSecure = false): void {
    if (socket.remoteAddress === undefined) {
      // The peer is gone already.
      socket.destroy()
      return
    }
    while (this.#size >= this.#most()) this.#evict()
    const key = isSecure ? addressesOf(socket) : socket
    this.#idle.set(key, socket)
    if (isSecure) socket.once('close', () => this.#forget(key, socket))
    else socket.on('close', this.#onClose)
    this.#count()
  }

  /** It has sent a request. */
  startRequest(socket: Socket): void {
    move(keyOf(socket), this.#idle, this.#busy)
  }

  /** Its request is answered. */
  endRequest(socket: Socket): void {
    move(keyOf(socket), this.#busy, this.#idle)
  }

  /** It is a client from now on, and counts no longer. */
  release(socket: Socket): void {
    socket.removeListener('close', this.#onClose)
    this.#remove(keyOf(socket))
  }

  #forget(key: SocketKey, socket: Socket): void {
    if ((this.#idle.get(key) ?? this.#busy.get(key)) === socket) this.#remove(key)
  }

  get #size(): number {
    return this.#idle.size + this.#busy.size
  }

  #evict(): void {
    for (const [key, socket] of this.#size > this.#busy.size ? this.#idle : this.#busy) {
      this.#remove(key)
      this.#tally.evicted++
      socket.destroy()
      return
    }
  }

  #remove(key: SocketKey): void {
    this.#idle.delete(key)
    this.#busy.delete(key)
    this.#count()
  }

  #count(): void {
    this.#tally.open = this.#size
  }
}

function move(key: SocketKey, from: Map<SocketKey, Socket>, to: Map<SocketKey, Socket>): void {
  const socket = from.get(key)
  if (socket === undefined) return
  from.delete(key)
  to.set(key, socket)
}

/** A plain socket is its own key; one under TLS has its addresses for one. */
type SocketKey = Socket | string

function keyOf(socket: Socket): SocketKey {
  return socket instanceof TLSSocket ? addressesOf(socket) : socket
}

/** The addresses of both ends, by which a socket and the one that speaks TLS over it are known. Local ones differ where several listeners share the sockets. */
export function addressesOf({
  remoteAddress,
  remotePort,
  localAddress,
  localPort,
}: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}
