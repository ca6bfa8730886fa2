import { Redis } from 'iovalkey'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeCertificates, type Certificates } from '../support/certificates.ts'
import { findProgram } from '../support/redis-servers.ts'
import { startServer } from '../support/server.ts'
import { eventually, Received } from './collect.ts'
import { Endpoint, requireInCi, WAYS } from './endpoint.ts'
import { CLIENT_KINDS } from './node-clients.ts'

const hasOpenssl = requireInCi(findProgram('openssl') !== undefined, 'openssl')

/** Errors of the clients when the handshake fails. */
const REFUSED = /certificate|closed|ECONNRESET|EPIPE/i

let certificates: Certificates

beforeAll(() => {
  if (hasOpenssl) certificates = makeCertificates()
})

afterAll(() => {
  if (hasOpenssl) certificates.remove()
})

describe.skipIf(!hasOpenssl).each(CLIENT_KINDS)('$name', (kind) => {
  for (const protocol of kind.protocols) {
    test.each(WAYS)(
      `subscribes, publishes, and subscribes again after a restart: RESP${protocol} over %s`,
      async (way) => {
        const endpoint = await Endpoint.open(certificates)
        const received = new Received()
        const subscriber = await kind.open(endpoint, way, protocol)
        await subscriber.subscribe('news', (message) => received.add(message))
        const publisher = await kind.open(endpoint, way, protocol)
        expect(await publisher.publish('news', 'one')).toBe(1)
        expect(await publisher.publish('elsewhere', 'x')).toBe(0)
        expect(await received.take(1)).toEqual(['one'])
        publisher.close()
        await endpoint.stop()
        await endpoint.start()
        const again = await kind.open(endpoint, way, protocol)
        await eventually(
          () => again.publish('news', 'two'),
          (receivers) => receivers === 1,
        )
        expect(await received.take(1)).toEqual(['two'])
        again.close()
        subscriber.close()
        await endpoint.close()
      },
    )
  }

  test('shows its certificate where TLS asks for one, and is refused without', async () => {
    const endpoint = await Endpoint.open(certificates, true)
    const received = new Received()
    const [protocol = 2] = kind.protocols.toReversed()
    const client = await kind.open(endpoint, 'TLS', protocol, true)
    await client.subscribe('news', (message) => received.add(message))
    const control = await endpoint.control()
    expect(await control.ask('PUBLISH', 'news', 'hello')).toBe(':1\r\n')
    expect(await received.take(1)).toEqual(['hello'])
    await expect(kind.open(endpoint, 'TLS', protocol, false)).rejects.toThrow(REFUSED)
    control.close()
    client.close()
    await endpoint.close()
  })
})

test('iovalkey carries any bytes', async () => {
  const server = await startServer()
  const subscriber = new Redis({ host: '127.0.0.1', port: server.port })
  const publisher = new Redis({ host: '127.0.0.1', port: server.port })
  const received = new Received()
  subscriber.on('messageBuffer', (channel: Buffer, message: Buffer) =>
    received.add(channel, message),
  )
  const name = Buffer.from([0, 255, 13, 10, 200])
  await subscriber.subscribe(name)
  expect(await publisher.publish(name, Buffer.from([0, 128, 255, 10]))).toBe(1)
  expect(await received.take(1)).toEqual(['\x00\xff\r\n\xc8 \x00\x80\xff\n'])
  await subscriber.quit()
  await publisher.quit()
  await server.stop()
})
