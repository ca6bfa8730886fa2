import type { Socket } from 'node:net'

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
 * A socket under TLS is known by its peer's address: the runtime gives two objects for it.
 */
export class WaitingSockets {
  readonly #most: () => number
  readonly #tally: SocketTally
  /** Without a request, the one that has waited longest first. */
  readonly #idle = new Map<string, Socket>()
  /** With a request that is being answered. */
  readonly #busy = new Map<string, Socket>()

  constructor(most: () => number, tally: SocketTally = { open: 0, evicted: 0 }) {
    this.#most = most
    this.#tally = tally
  }

  /** Takes an accepted socket in. */
  add(socket: Socket): void {
    if (socket.remoteAddress === undefined) {
      // The peer is gone already.
      socket.destroy()
      return
    }
    while (this.#size >= this.#most()) this.#evict()
    const key = keyOf(socket)
    this.#idle.set(key, socket)
    socket.once('close', () => {
      if ((this.#idle.get(key) ?? this.#busy.get(key)) === socket) this.#remove(key)
    })
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
    this.#remove(keyOf(socket))
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

  #remove(key: string): void {
    this.#idle.delete(key)
    this.#busy.delete(key)
    this.#count()
  }

  #count(): void {
    this.#tally.open = this.#size
  }
}

function move(key: string, from: Map<string, Socket>, to: Map<string, Socket>): void {
  const socket = from.get(key)
  if (socket === undefined) return
  from.delete(key)
  to.set(key, socket)
}

/** Local addresses differ where several listeners share the sockets. */
function keyOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}
