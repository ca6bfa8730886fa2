import type { Socket } from 'node:net'
import { isLoopback, trustOf } from '../addresses.ts'
import type { ClientTable } from '../client/clients.ts'
import type { Clock } from '../clock.ts'
import type { Counters } from '../command/counters.ts'
import { mostWaitingHeaders } from '../config/open-files.ts'
import type { Settings } from '../config/settings.ts'
import type { PeerLog } from '../log.ts'
import { parseProxyHeader, type ProxiedClient } from './proxy-protocol.ts'
import type { ByteReader, ReadableSocket } from './raw-socket.ts'
import { WaitingSockets } from './waiting-sockets.ts'

/** The parts of the core that PROXY headers concern. */
export interface ProxyHeadersHost {
  readonly clients: Pick<ClientTable, 'sockets'>
  readonly clock: Clock
  readonly config: Settings
  readonly counters: Pick<Counters, 'countRejection'>
  readonly peerLog: PeerLog
}

/**
 * Takes what follows the header. The socket is paused.
 *
 * @param client Undefined: the connection is the proxy's own.
 * @param rest Bytes of the client that came with the header.
 */
type HeaderTaker = (client: ProxiedClient | undefined, rest: Buffer) => void

/** Time for a header, in ms. A proxy sends it as soon as it is connected. */
const HEADER_TIMEOUT_MS = 5_000

/** The connections of a listener with `proxy-protocol yes`, until their PROXY header has come. */
export class ProxyHeaders {
  readonly #host: ProxyHeadersHost
  readonly #isTrusted: (address: string) => boolean
  readonly #waiting: WaitingSockets

  constructor(host: ProxyHeadersHost) {
    this.#host = host
    this.#isTrusted = trustOf(host.config.list('trusted-proxies')) || (() => false)
    this.#waiting = new WaitingSockets(() =>
      mostWaitingHeaders(host.config.integer('maxclients'), host.clients.sockets),
    )
  }

  /** Decides whether the peer of an accepted socket is a proxy that may name its clients. One that is not is counted as rejected. */
  trusts({ remoteAddress = '' }: Socket): boolean {
    if (this.#isTrusted(remoteAddress)) return true
    this.#refuse(remoteAddress, 'the address is not in trusted-proxies')
    return false
  }

  /** Reads the header of a socket that nobody else reads yet. A connection without one is cut, and `then` is not called. */
  read({ socket, start }: ReadableSocket, then: HeaderTaker): void {
    const proxy = socket.remoteAddress ?? ''
    this.#waiting.add(socket)
    if (socket.destroyed) return
    let isOver = false
    const end = (): boolean => {
      if (isOver) return false
      isOver = true
      timer.cancel()
      this.#waiting.release(socket)
      return true
    }
    const fail = (reason: string | undefined): void => {
      if (!end()) return
      if (reason !== undefined) this.#refuse(proxy, reason)
      socket.destroy()
    }
    const timer = this.#host.clock.after(HEADER_TIMEOUT_MS, () => fail('there is none in time'))
    start(
      new HeaderReader((client, rest) => {
        if (!end()) return
        socket.pause()
        // Somebody on another machine must not count as somebody on this one.
        const isBorrowed = client !== undefined && isLoopback(client.ip) && !isLoopback(proxy)
        then(isBorrowed ? undefined : client, rest)
      }, fail),
    )
  }

  #refuse(ip: string, reason: string): void {
    this.#host.counters.countRejection('proxy-protocol')
    this.#host.peerLog.write('proxyHeader', () => ({ ip, reason }))
  }
}

/** Collects the bytes of one connection until its header is whole. */
class HeaderReader implements ByteReader {
  readonly #then: HeaderTaker
  readonly #fail: (reason: string | undefined) => void
  #bytes: Buffer = Buffer.alloc(0)

  /** @param fail Without a reason: the peer left without a byte, as a health check does. */
  constructor(then: HeaderTaker, fail: (reason: string | undefined) => void) {
    this.#then = then
    this.#fail = fail
  }

  receive(chunk: Buffer): void {
    const bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    this.#bytes = bytes
    const header = parseProxyHeader(bytes)
    if (header === undefined) return
    if ('fault' in header) this.#fail(header.fault)
    else this.#then(header.client, bytes.subarray(header.length))
  }

  receiveLent(chunk: Buffer): void {
    this.receive(Buffer.from(chunk))
  }

  peerEnded(): void {
    this.#fail(this.#bytes.length === 0 ? undefined : 'it ends early')
  }

  peerClosed(): void {
    this.peerEnded()
  }
}
