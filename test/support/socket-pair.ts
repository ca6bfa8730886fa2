import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** Both ends of a connection over loopback: the accepted one, and its peer's. */
export async function socketPair(): Promise<{ readonly accepted: Socket; readonly peer: Socket }> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const peer = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [accepted] = (await once(server, 'connection')) as [Socket]
  server.close()
  return { accepted, peer }
}
