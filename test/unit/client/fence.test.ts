import { describe, expect, test } from 'vitest'
import { payloadOf } from '../../../server/delivery/segment.ts'
import { coreWithControl } from '../../support/fake-control.ts'
import type { ConnectOptions, TestCore } from '../../support/test-core.ts'
import { token, payload, tokenFor } from '../../support/tokens.ts'

const TOKEN = token(payload({ respcast: { channels: ['a'] } }))
const WEBSOCKET: ConnectOptions = { transport: 'websocket', token: TOKEN }

const MESSAGE = (text: string): string => `>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\n${text}\r\n`

function publish(server: TestCore, text: string): void {
  server.registry.publish('channel', 'a', payloadOf(Buffer.from(text)))
}

async function subscriber(server: TestCore) {
  const client = server.connect(WEBSOCKET)
  await client.settled()
  client.send('SUBSCRIBE', 'a')
  client.read()
  return client
}

describe('A gateway that is fenced', () => {
  test('writes nothing of what waits for its clients, and all of it once it serves again', async () => {
    const { server, control } = coreWithControl()
    const client = await subscriber(server)
    publish(server, '1')
    control.fence(true)
    expect(client.read()).toBe('')
    control.fence(false)
    publish(server, '2')
    expect(client.read()).toBe(MESSAGE('1') + MESSAGE('2'))
  })

  test('writes nothing to a session that was revoked meanwhile', async () => {
    const { server, control } = coreWithControl()
    const client = await subscriber(server)
    publish(server, '1')
    control.fence(true)
    const { revocation } = server.tokens
    const read = revocation.read(['SUB', '42'])
    if ('error' in read) throw new Error(read.error)
    await revocation.revoke(read.order, { user: 'ops', address: '' })
    control.fence(false)
    expect(client.read()).not.toContain('message')
    expect(client.sink.ends.at(-1)?.code).toBe(4403)
  })

  test('answers clients for whom nothing waits', async () => {
    const { server, control } = coreWithControl()
    const client = await subscriber(server)
    control.fence(true)
    expect(client.send('PING')).toContain('PONG')
  })

  test('goes on with administrators', () => {
    const { server, control } = coreWithControl()
    server.setUser('ops', 'on >pw +@all allchannels')
    const client = server.connect({ transport: 'websocket', listener: 'admin' })
    control.fence(true)
    expect(client.send('AUTH', 'ops', 'pw')).toBe('+OK\r\n')
    server.clock.advance(60_000)
    expect(client.client.closed).toBe(false)
  })

  test('closes WebSockets after a minute, with 4503 and a hint, and no TCP client', async () => {
    const { server, control } = coreWithControl()
    const client = await subscriber(server)
    const tcp = server.connect()
    control.fence(true)
    server.clock.advance(59_999)
    expect(client.client.closed).toBe(false)
    server.clock.advance(1)
    client.read()
    expect(client.sink.ends.at(-1)?.code).toBe(4503)
    expect(client.sink.ends.at(-1)?.reason).toMatch(/^cut-off/)
    expect(tcp.client.closed).toBe(false)
  })

  test('closes nobody if it serves again before', async () => {
    const { server, control } = coreWithControl()
    const client = await subscriber(server)
    control.fence(true)
    server.clock.advance(30_000)
    control.fence(false)
    server.clock.advance(60_000)
    expect(client.client.closed).toBe(false)
  })

  test('logs nobody in by a token, and counts no failure', async () => {
    const { server, control } = coreWithControl()
    control.fence(true)
    const client = server.connect(WEBSOCKET)
    await client.settled()
    client.read()
    expect(client.sink.ends.at(-1)?.code).toBe(4503)
    expect(client.sink.ends.at(-1)?.reason).toMatch(/^cut-off/)
    const tcp = server.connect({ transport: 'tcp', protocol: 3 })
    tcp.send('AUTH', 'jwt', tokenFor({ channels: ['a'] }))
    await tcp.settled()
    expect(server.counters.tokensRefused).toBe(0)
    expect(tcp.client.identity.user.name).toBe('default')
  })

  test('logs in by password only users that it does not share', () => {
    const { server, control } = coreWithControl({ 'upstream-local-users': 'ops' })
    for (const name of ['ops', 'app']) server.setUser(name, 'on >pw +@all')
    control.fence(true)
    const client = server.connect()
    expect(client.send('AUTH', 'app', 'pw')).toMatch(/^-TRYAGAIN /)
    expect(client.send('AUTH', 'ops', 'pw')).toBe('+OK\r\n')
  })

  test('does not log in whose verification was under way', async () => {
    const { server, control } = coreWithControl()
    const client = server.connect(WEBSOCKET)
    control.fence(true)
    await client.settled()
    client.read()
    expect(client.client.authenticated).toBe(false)
  })
})
