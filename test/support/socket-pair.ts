import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Both ends of a connection over loopback, until the test ends. */
export interface SocketPair {
  readonly accepted: Socket
  readonly peer: Socket
  /** What the peer has received so far, as text. */
  readonly heard: () => string
}

/** Connects to itself. */
export async function socketPair(): Promise<SocketPair> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const peer = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [accepted] = (await once(server, 'connection')) as [Socket]
  server.close()
  onTestFinished(() => {
    accepted.destroy()
    peer.destroy()
  })
  let text = ''
  peer.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')))
  return { accepted, peer, heard: () => text }
}
