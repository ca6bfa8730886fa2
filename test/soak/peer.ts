import { connect, type Socket } from 'node:net'
import { clientFrame, type FrameOptions } from '../support/raw-upgrade.ts'

/** Ports of the server that is under attack. */
export interface Target {
  readonly respPort: number
  readonly httpPort: number
}

/** A socket that keeps nothing of what it is sent, and is not surprised by any end. */
export class Peer {
  readonly #socket: Socket
  readonly #ended: Promise<void>
  isOpen = true

  /** @param address Of the loopback network: 127.0.0.1 is where honest clients live. */
  constructor(port: number, address: string) {
    this.#socket = connect({ port, host: '127.0.0.1', localAddress: address, noDelay: true })
    this.#socket.on('error', () => {})
    this.#socket.resume()
    this.#ended = new Promise((resolve) => {
      this.#socket.once('close', () => {
        this.isOpen = false
        resolve()
      })
    })
  }

  /** Bytes that the kernel and the server have not taken. */
  get unsent(): number {
    return this.#socket.writableLength
  }

  write(bytes: Buffer | string): void {
    if (this.isOpen) this.#socket.write(bytes)
  }

  /** Sends WebSocket messages, one frame each. */
  send(...messages: readonly (Buffer | string)[]): void {
    this.write(Buffer.concat(messages.map((message) => clientFrame(message))))
  }

  frame(payload: Buffer | string, options: FrameOptions): void {
    this.write(clientFrame(payload, options))
  }

  /** Reads no more. */
  stopReading(): void {
    this.#socket.pause()
  }

  /** Waits until the server has ended the connection, so many milliseconds at most. */
  async endsWithin(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    await Promise.race([
      this.#ended,
      new Promise<void>((resolve) => (timer = setTimeout(resolve, ms))),
    ])
    clearTimeout(timer)
  }

  close(): void {
    this.#socket.destroy()
  }

  reset(): void {
    this.#socket.resetAndDestroy()
  }
}

const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='

/** The request that opens a WebSocket, with a token or without. */
export function upgradeRequest(token?: string, more = ''): string {
  const protocol = token === undefined ? '' : `Sec-WebSocket-Protocol: resp3, bearer.${token}\r\n`
  return `GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n${protocol}${more}\r\n`
}
