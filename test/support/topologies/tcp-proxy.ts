import { connect, createServer, type Server, type Socket } from 'node:net'

/** `up` is from the client that connected to the server behind the proxy, `down` is back. */
export type Direction = 'up' | 'down'

/** A connection that was ended at a byte. */
export interface Cut {
  readonly direction: Direction
  /** It ended after so many. */
  readonly bytes: number
  /** What the client had sent first, a byte string. */
  readonly head: string
}

/** Bytes that {@link Cut.head} has at most. */
const HEAD_BYTES = 512

interface Pair {
  head: string
  readonly sockets: Readonly<Record<Direction, Socket>>
  /** Bytes handed on. */
  readonly passed: Record<Direction, number>
  readonly cut: Readonly<Partial<Record<Direction, number>>>
}

/** A TCP proxy on 127.0.0.1 that cuts connections at a byte, or holds what goes in one direction. */
export class TcpProxy {
  readonly #server: Server
  readonly #target: number
  readonly #pairs = new Set<Pair>()
  readonly #held = new Set<Direction>()
  #cut: Partial<Record<Direction, number>> = {}
  #port = 0
  /** Connections that were ended at a byte. */
  cuts = 0
  /** Is told of each of them. */
  onCut: (cut: Cut) => void = () => {}

  private constructor(target: number) {
    this.#target = target
    this.#server = createServer({ noDelay: true }, (client) => this.#accept(client))
  }

  /** @param target The port of 127.0.0.1 to which it hands on. */
  static async start(target: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target)
    await proxy.accept()
    return proxy
  }

  get port(): number {
    return this.#port
  }

  get connectionCount(): number {
    return this.#pairs.size
  }

  /** Cuts each connection that is opened from now on, after so many bytes in one direction; undefined cuts none. */
  cutAfter(direction: Direction, bytes: number | undefined): void {
    this.#cut = bytes === undefined ? {} : { [direction]: bytes }
  }

  /** Bytes that each open connection has handed on in a direction. */
  passed(direction: Direction): number[] {
    return [...this.#pairs].map((pair) => pair.passed[direction])
  }

  /** Hands nothing more on in this direction, as a network that loses one way: connections stay, and new ones open. */
  hold(direction: Direction): void {
    this.#held.add(direction)
    for (const { sockets } of this.#pairs) sockets[direction].pause()
  }

  /** Goes on with what was held. */
  release(): void {
    this.#held.clear()
    for (const { sockets } of this.#pairs) for (const one of Object.values(sockets)) one.resume()
  }

  /** Ends every connection at once. */
  cutAll(): void {
    for (const pair of this.#pairs) this.#end(pair)
  }

  /** Listens no more, so that nobody can connect, and ends every connection. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.cutAll()
    await closed
  }

  /** Listens again after {@link stop}, on the same port. */
  async accept(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(this.#port, '127.0.0.1', resolve)
    })
    const address = this.#server.address()
    if (address !== null && typeof address !== 'string') this.#port = address.port
  }

  #accept(client: Socket): void {
    const server = connect({ port: this.#target, host: '127.0.0.1', noDelay: true })
    const pair: Pair = {
      head: '',
      sockets: { up: client, down: server },
      passed: { up: 0, down: 0 },
      cut: this.#cut,
    }
    this.#pairs.add(pair)
    this.#forward(pair, 'up', client, server)
    this.#forward(pair, 'down', server, client)
  }

  #forward(pair: Pair, direction: Direction, from: Socket, to: Socket): void {
    const limit = pair.cut[direction] ?? Number.POSITIVE_INFINITY
    from.on('data', (chunk) => {
      const left = limit - pair.passed[direction]
      const piece = chunk.length > left ? chunk.subarray(0, left) : chunk
      pair.passed[direction] += piece.length
      if (direction === 'up' && pair.head.length < HEAD_BYTES) pair.head += piece.toString('latin1')
      if (pair.passed[direction] >= limit) {
        // What was handed on has to arrive before the connection ends.
        this.cuts++
        this.onCut({ direction, bytes: pair.passed[direction], head: pair.head })
        to.end(piece, () => this.#end(pair))
        from.pause()
        return
      }
      if (!to.write(piece)) {
        from.pause()
        to.once('drain', () => {
          if (!this.#held.has(direction)) from.resume()
        })
      }
    })
    from.once('end', () => to.end())
    from.once('close', () => this.#end(pair))
    from.on('error', () => {})
    if (this.#held.has(direction)) from.pause()
  }

  #end(pair: Pair): void {
    this.#pairs.delete(pair)
    for (const socket of Object.values(pair.sockets)) socket.destroy()
  }
}
