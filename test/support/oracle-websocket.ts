import { WebSocket } from 'ws'
import type { Peer } from './oracle-session.ts'

/** Connects over WebSocket; what comes is joined, since messages have no meaning for the stream of replies. */
export async function connectWebSocketPeer(url: string): Promise<Peer> {
  const webSocket = new WebSocket(url, ['resp3'])
  let received: Buffer[] = []
  webSocket.on('message', (data) => received.push(data as Buffer))
  await new Promise<void>((resolve, reject) => {
    webSocket.once('open', resolve)
    webSocket.once('error', reject)
  })
  webSocket.on('error', () => {})
  return {
    send: (bytes) => webSocket.send(Buffer.from(bytes, 'latin1')),
    takeAll: () => {
      const text = Buffer.concat(received).toString('latin1')
      received = []
      return text
    },
    get isClosed() {
      return webSocket.readyState !== WebSocket.OPEN
    },
    destroy: () => webSocket.terminate(),
  }
}
