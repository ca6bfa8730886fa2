import { createServer, connect as connectSocket, type AddressInfo, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { connectRaw, connectWebSocket } from '../../support/resp-client.ts'
import { assertAlive, nextTurn, NO_AUTH, opener } from '../../support/opened.ts'
import { clientFrame, closeCode } from '../../support/raw-upgrade.ts'

const open = opener()

describe('peers that take their time', () => {
  test('a socket on the HTTP port that sends no request, or half of one, is closed within 7 seconds', async () => {
    const server = await open.server()
    const startMs = performance.now()
    const beginnings = [
      '',
      'GET /ws HT',
      'GET /ws HTTP/1.1\r\nHost: a\r\n',
      'GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n',
    ]
    const sockets = await Promise.all(
      beginnings.map(async (beginning) => {
        const socket = await connectRaw(server.httpPort)
        open.onEnd(() => socket.destroy())
        socket.send(beginning)
        return socket
      }),
    )
    const drip = setInterval(() => {
      for (const socket of sockets.slice(1)) if (!socket.isClosed) socket.send('X')
    }, 500)
    open.onEnd(() => clearInterval(drip))
    await Promise.all(sockets.map((socket) => socket.closed))
    expect(performance.now() - startMs).toBeLessThan(7_500)
    for (const socket of sockets) expect(socket.takeAll()).not.toContain('101')
    await assertAlive(open, server)
  })

  test('tcp-auth-timeout closes a RESP client that must log in and does not; by default nothing does', async () => {
    for (const [seconds, closes] of [
      ['0', false],
      ['1', true],
    ] as const) {
      const clock = new FakeClock()
      const [server, loggedIn] = await open.withTcp({
        clock,
        directives: { requirepass: 'secret', 'tcp-auth-timeout': seconds },
      })
      await loggedIn.assertReply(['AUTH', 'secret'], '+OK\r\n')
      const silent = await open.tcp(server)
      await silent.assertReply(['PING'], NO_AUTH)
      clock.advance(1_000)
      await loggedIn.assertPong()
      if (closes) await silent.closed
      else await silent.assertReply(['PING'], NO_AUTH)
    }
  })

  test('timeout closes RESP clients that are idle, but no subscriber', async () => {
    const clock = new FakeClock()
    const [server, subscriber] = await open.withTcp({ clock, directives: { timeout: '10' } }, 3)
    await subscriber.subscribe('a')
    const idle = await open.tcp(server)
    await idle.assertPong()
    const busy = await open.tcp(server)
    await busy.assertPong()
    clock.advance(9_000)
    await busy.assertPong()
    clock.advance(3_000)
    await idle.closed
    await busy.assertPong()
    await subscriber.assertPong()
  })

  test('a WebSocket is pinged, and ended if it does not answer', async () => {
    const clock = new FakeClock()
    const server = await open.server({
      clock,
      directives: { 'ws-ping-interval': '25', 'ws-pong-timeout': '10' },
    })
    const token = await server.mint('42')
    const headers = { 'Sec-WebSocket-Protocol': `resp3, bearer.${token}` }
    const silent = await open.upgrade(server.httpPort, { headers })
    const answering = await open.session(server, '42', {})
    // Both are pinged between the 20th and the 30th second, and have 10 seconds to answer.
    for (let seconds = 0; seconds < 42; seconds += 6) {
      clock.advance(6_000)
      // Any command is an answer, and so is the pong that ws sends by itself.
      await answering.assertPong()
    }
    await silent.ended
    expect(silent.received().includes(Buffer.from([0x89, 0x00]))).toBe(true)
    await answering.assertPong()
    expect(server.core.clients.size).toBe(1)
  })

  test('a closing handshake that the peer does not finish ends by itself', async () => {
    const server = await open.server()
    const upgrade = await open.upgrade(server.httpPort)
    upgrade.write(clientFrame('*x\r\n'))
    const received = await upgrade.ended
    expect(closeCode(received)).toBe(4400)
    await assertAlive(open, server)
  })
})

describe('a proxy that cuts connections which are silent for a minute', () => {
  const IDLE_MS = 60_000

  /** Ten minutes without a message, in steps of five seconds. @returns True if the connection is still there. */
  async function livesThrough(pingSeconds: string): Promise<boolean> {
    const clock = new FakeClock()
    const server = await open.server({ clock, directives: { 'ws-ping-interval': pingSeconds } })
    const proxy = await openIdleProxy(server.httpPort, clock)
    const token = await server.mint('42')
    const client = await connectWebSocket(`ws://127.0.0.1:${proxy.port}/ws`, { token })
    open.onEnd(() => client.destroy())
    await client.takeAccepted('jwt:42')
    for (let ms = 0; ms < 600_000 && !client.isClosed; ms += 5_000) {
      clock.advance(5_000)
      for (let turn = 0; turn < 10; turn++) await nextTurn()
      if (proxy.isSilent(IDLE_MS)) proxy.cut()
    }
    if (!proxy.wasCut) await client.assertPong()
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
