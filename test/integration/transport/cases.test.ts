import { createServer, connect as connectSocket, type AddressInfo, type Socket } from 'node:net'
import { constants, deflateRawSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { connectWebSocket, encodeCommand } from '../../support/resp-client.ts'
import { assertPong, eventually, nextTurn, opener, takeAccepted } from '../../support/opened.ts'
import { clientFrame, closeCode } from '../../support/raw-upgrade.ts'

// Kinds of faults that no other file tries; docs/testing.md has the table of all.
const open = opener()

describe('a compressed message in fragments (RFC 7692)', () => {
  const command = encodeCommand('AUTH', 'nobody', 'wrong'.repeat(100))
  const flushed = deflateRawSync(command, { finishFlush: constants.Z_SYNC_FLUSH })
  const compressed = flushed.subarray(0, -4)
  const third = Math.ceil(compressed.length / 3)

  function fragments(reservedOfSecond: number): Buffer {
    return Buffer.concat([
      clientFrame(compressed.subarray(0, third), { reserved: 0x40, final: false }),
      clientFrame(compressed.subarray(third, 2 * third), {
        opcode: 0,
        final: false,
        reserved: reservedOfSecond,
      }),
      clientFrame(compressed.subarray(2 * third), { opcode: 0 }),
    ])
  }

  async function openCompressed() {
    const server = await open.server({ directives: { 'ws-permessage-deflate': 'yes' } })
    const upgrade = await open.upgrade(server.httpPort, {
      headers: { 'Sec-WebSocket-Extensions': 'permessage-deflate' },
    })
    expect(upgrade.headers.get('sec-websocket-extensions')).toMatch(/^permessage-deflate/)
    return upgrade
  }

  test('is inflated as one, where only its first frame says so', async () => {
    const upgrade = await openCompressed()
    upgrade.write(fragments(0))
    await eventually('the answer', () => upgrade.received().length > 0)
    expect(upgrade.received().toString('latin1')).toContain('-WRONGPASS')
  })

  test('is closed with 1002, where a continuation says so too', async () => {
    const upgrade = await openCompressed()
    upgrade.write(fragments(0x40))
    expect(closeCode(await upgrade.ended)).toBe(1002)
  })
})

describe('a proxy that cuts connections which are silent for a minute', () => {
  const IDLE_MS = 60_000

  /** Ten minutes without a message, in steps of five seconds. @returns Whether the connection is still there. */
  async function livesThrough(pingSeconds: string): Promise<boolean> {
    const clock = new FakeClock()
    const server = await open.server({ clock, directives: { 'ws-ping-interval': pingSeconds } })
    const proxy = await openIdleProxy(server.httpPort, clock)
    const token = await server.mint('42')
    const client = await connectWebSocket(`ws://127.0.0.1:${proxy.port}/ws`, { token })
    open.onEnd(() => client.destroy())
    await takeAccepted(client, 'jwt:42')
    for (let ms = 0; ms < 600_000 && !client.isClosed; ms += 5_000) {
      clock.advance(5_000)
      for (let turn = 0; turn < 10; turn++) await nextTurn()
      if (proxy.isSilent(IDLE_MS)) proxy.cut()
    }
    if (!proxy.wasCut) await assertPong(client)
    return !proxy.wasCut
  }

  test('leaves a browser alone for ten minutes, since the server pings', async () => {
    expect(await livesThrough('25')).toBe(true)
  })

  test('cuts it where the server does not', async () => {
    expect(await livesThrough('0')).toBe(false)
  })
})

async function openIdleProxy(to: number, clock: FakeClock) {
  const sockets: Socket[] = []
  let lastMs = clock.monotonicMs()
  let wasCut = false
  const pipe = (from: Socket, into: Socket): void => {
    sockets.push(from)
    from.on('data', (chunk: Buffer) => {
      lastMs = clock.monotonicMs()
      into.write(chunk)
    })
    from.on('close', () => into.destroy())
    from.on('error', () => {})
  }
  const server = createServer((inner) => {
    const outer = connectSocket(to, '127.0.0.1')
    pipe(inner, outer)
    pipe(outer, inner)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    wasCut = true
    for (const socket of sockets) socket.destroy()
  }
  open.onEnd(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    isSilent: (ms: number): boolean => clock.monotonicMs() - lastMs >= ms,
    cut,
    get wasCut() {
      return wasCut
    },
  }
}
