import { connect } from 'node:net'
import { WebSocket } from 'ws'

/** Receives what a connection brings. */
export interface WireListener {
  /** Bytes have come, which nobody changes any more. */
  bytes(chunk: Buffer): void
  /** Called once. @param reason Close code and reason of a WebSocket; empty over TCP. */
  closed(reason: string): void
}

/** A connection that carries RESP, over TCP or WebSocket. */
export interface Wire {
  /** Listens from now on. */
  listen(listener: WireListener): void
  send(bytes: Buffer): void
  /** Ends the connection at once. */
  close(): void
  /** Stops and starts reading. */
  pause(): void
  resume(): void
}

/** Longest wait for a connection. */
const PATIENCE_MS = 3_000

/** Keeps what comes before somebody listens. */
class Inlet {
  readonly #early: Buffer[] = []
  #listener: WireListener | undefined
  #closed: string | undefined

  listen(listener: WireListener): void {
    this.#listener = listener
    for (const chunk of this.#early.splice(0)) this.take(chunk)
    if (this.#closed !== undefined) listener.closed(this.#closed)
  }

  take(chunk: Buffer): void {
    if (!this.#listener) this.#early.push(chunk)
    else if (this.#closed === undefined) this.#listener.bytes(chunk)
  }

  close(reason = ''): void {
    if (this.#closed !== undefined) return
    this.#closed = reason
    this.#listener?.closed(reason)
  }
}

/** @throws Error It is refused, or takes three seconds. */
export async function connectTcp(port: number, host = '127.0.0.1'): Promise<Wire> {
  const socket = connect({ port, host, noDelay: true })
  const inlet = new Inlet()
  socket.on('data', (chunk) => inlet.take(chunk))
  socket.on('close', () => inlet.close())
  await opened(
    (resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    },
    () => socket.destroy(),
  )
  socket.on('error', () => {})
  return {
    listen: (listener) => inlet.listen(listener),
    send: (bytes) => void socket.write(bytes),
    close: () => socket.destroy(),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
  }
}

/** Opens a WebSocket with a token. @throws Error It is refused, or takes three seconds. */
export async function connectWebSocket(url: string, token: string): Promise<Wire> {
  const webSocket = new WebSocket(url, ['resp3', `bearer.${token}`])
  const inlet = new Inlet()
  webSocket.on('message', (data) => inlet.take(data as Buffer))
  webSocket.on('close', (code, reason) => inlet.close(`${code} ${reason.toString()}`))
  await opened(
    (resolve, reject) => {
      webSocket.once('open', resolve)
      webSocket.once('error', reject)
    },
    () => webSocket.terminate(),
  )
  webSocket.on('error', () => {})
  return {
    listen: (listener) => inlet.listen(listener),
    send: (bytes) => webSocket.send(bytes),
    close: () => webSocket.terminate(),
    pause: () => webSocket.pause(),
    resume: () => webSocket.resume(),
  }
}

function opened(
  open: (resolve: () => void, reject: (error: Error) => void) => void,
  giveUp: () => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      giveUp()
      reject(new Error('no connection'))
    }, PATIENCE_MS)
    open(
      () => {
        clearTimeout(timer)
        resolve()
      },
      (error) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}
