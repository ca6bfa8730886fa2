import { createServer, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../support/opened.ts'
import { connectRaw, type RawClient } from '../../support/resp-client.ts'
import { TcpProxy } from '../../support/topologies/tcp-proxy.ts'

/** A server that answers every byte with the same byte, a proxy before it, and a client of the proxy. */
async function echoed(
  prepare: (proxy: TcpProxy) => void = () => {},
): Promise<[TcpProxy, RawClient]> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.pipe(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const proxy = await TcpProxy.start(address.port)
  prepare(proxy)
  const client = await connectRaw(proxy.port)
  onTestFinished(async () => {
    client.destroy()
    await proxy.stop()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return [proxy, client]
}

describe('A proxy', () => {
  test('ends a connection after so many bytes, which all arrive', async () => {
    for (const direction of ['up', 'down'] as const) {
      const [, client] = await echoed((proxy) => proxy.cutAfter(direction, 3))
      client.send('hello')
      if (direction === 'down') await client.takeExactly('hel')
      await client.closed
      expect(client.takeAll()).toBe('')
    }
  })

  test('holds one direction, and goes on with what was held', async () => {
    const [proxy, client] = await echoed()
    client.send('a')
    await client.takeExactly('a')
    proxy.hold('down')
    client.send('b')
    await eventually('the server has the byte', () => proxy.passed('up')[0] === 2)
    expect(proxy.passed('down')).toEqual([1])
    proxy.release()
    await client.takeExactly('b')
  })

  test('refuses connections while it is stopped, and takes them again on its port', async () => {
    const [proxy, client] = await echoed()
    await proxy.stop()
    await client.closed
    await expect(connectRaw(proxy.port)).rejects.toThrow('ECONNREFUSED')
    await proxy.accept()
    const again = await connectRaw(proxy.port)
    again.send('c')
    await again.takeExactly('c')
    again.destroy()
  })
})
