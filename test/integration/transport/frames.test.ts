import { constants, deflateRawSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { encodeCommand, push } from '../../support/resp-client.ts'
import { eventually, nextTurn, opener } from '../../support/opened.ts'
import { clientFrame, closeCode } from '../../support/raw-upgrade.ts'

const open = opener()

describe('compression and pings', () => {
  test('compression is not agreed to unless ws-permessage-deflate says so', async () => {
    const server = await open.server()
    const upgrade = await open.upgrade(server.httpPort, {
      headers: { 'Sec-WebSocket-Extensions': 'permessage-deflate; client_max_window_bits' },
    })
    expect(upgrade.status).toBe(101)
    expect(upgrade.headers.has('sec-websocket-extensions')).toBe(false)
  })

  test('with compression every message arrives whole, in order, and small ones uncompressed', async () => {
    const [server, client] = await open.withSession(
      { channels: ['*'] },
      {
        directives: {
          'ws-permessage-deflate': 'yes',
          'client-output-buffer-limit': 'websocket 0 0 0',
        },
      },
    )
    const plain = await open.tcp(server, 3)
    for (const each of [client, plain]) {
      await each.subscribe('a')
    }
    const sizes = [0, 1, 1_000, 1_024, 16_383, 16_384, 16_385, 60_000]
    for (const size of sizes) {
      for (const filling of ['x', 'ab\xff\0']) {
        client.command('PUBLISH', 'a', Buffer.alloc(size, filling, 'latin1'))
        client.command('PING')
      }
    }
    for (const size of sizes) {
      for (const filling of ['x', 'ab\xff\0']) {
        const message = push(3, 'message', 'a', Buffer.alloc(size, filling, 'latin1'))
        await client.takeExactly(':2\r\n')
        await client.takeExactly(message)
        await client.takeExactly('+PONG\r\n')
        await plain.takeExactly(message)
      }
    }
    await (
      await open.tcp(server)
    ).assertReply(['ACL', 'SETUSER', 'jwt:42', 'resetchannels'], '+OK\r\n')
    await client.takeExactly(push(3, 'token', 'revoked', 'a', 'permissions changed'))
    expect((await client.closed).code).toBe(4403)
  })

  test('a compressed message that grows beyond ws-max-payload is closed with 1009 before login', async () => {
    const server = await open.server({ directives: { 'ws-permessage-deflate': 'yes' } })
    const upgrade = await open.upgrade(server.httpPort, {
      headers: { 'Sec-WebSocket-Extensions': 'permessage-deflate' },
    })
    expect(upgrade.headers.get('sec-websocket-extensions')).toMatch(/^permessage-deflate/)
    const bomb = deflateRawSync(Buffer.alloc(50_000_000), { finishFlush: constants.Z_SYNC_FLUSH })
    const before = process.memoryUsage().rss
    upgrade.write(clientFrame(bomb.subarray(0, -4), { reserved: 0x40 }))
    expect(closeCode(await upgrade.ended)).toBe(1009)
    expect(process.memoryUsage().rss - before).toBeLessThan(40_000_000)
  })

  test('a burst of 30 pings is answered', async () => {
    const server = await open.server()
    const upgrade = await open.upgrade(server.httpPort)
    upgrade.write(Buffer.concat(Array(30).fill(clientFrame('p', { opcode: 9 }))))
    upgrade.write(clientFrame(encodeCommand('PING')))
    await eventually('the reply', () => upgrade.received().includes('-NOAUTH'))
    expect(closeCode(upgrade.received())).toBeUndefined()
    expect(upgrade.received().includes(Buffer.from([0x8a, 0x01, 0x70]))).toBe(true)
  })

  test.each([
    [40, [1008]],
    // So many unanswered pings at once are cut by ws itself, without a close frame.
    [1000, [1008, undefined]],
  ])(
    'a flood of %i pings ends the connection, and nothing after it is executed',
    async (count, codes) => {
      const [server, admin] = await open.withTcp({}, 3)
      await admin.assertReply(['SUBSCRIBE', 'a'], '>3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n')
      const token = await server.mint('42', { channels: ['a'] })
      const upgrade = await open.upgrade(server.httpPort, {
        headers: { 'Sec-WebSocket-Protocol': `resp3, bearer.${token}` },
      })
      await eventually('the login', () => upgrade.received().includes('accepted'))
      upgrade.write(
        Buffer.concat([
          ...Array(count).fill(clientFrame('', { opcode: 9 })),
          clientFrame(encodeCommand('PUBLISH', 'a', 'late')),
        ]),
      )
      expect(codes).toContain(closeCode(await upgrade.ended))
      await nextTurn()
      await admin.assertPong()
    },
  )
})

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
