import { constants, deflateRawSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { encodeCommand, push } from '../../support/resp-client.ts'
import { eventually, nextTurn, opener } from '../../support/opened.ts'
import { clientFrame, closeCode } from '../../support/raw-upgrade.ts'

const open = opener()

describe('frames that break RFC 6455', () => {
  /** The code with which the server closes a logged-in socket that sent these bytes. */
  async function codeFor(bytes: Buffer): Promise<number | undefined> {
    const server = await open.server()
    const bystander = await open.session(server, '1', {})
    const token = await server.mint('42')
    const upgrade = await open.upgrade(server.httpPort, {
      headers: { 'Sec-WebSocket-Protocol': `resp3, bearer.${token}` },
    })
    await eventually('the login', () => upgrade.received().includes('accepted'))
    upgrade.write(bytes)
    const code = closeCode(await upgrade.ended)
    await bystander.assertPong()
    await eventually('the client is forgotten', () => server.core.clients.size === 1)
    return code
  }

  const ping = encodeCommand('PING')

  test.each([
    ['an unmasked frame', clientFrame(ping, { masked: false })],
    ['RSV1 without compression', clientFrame(ping, { reserved: 0x40 })],
    ['RSV2', clientFrame(ping, { reserved: 0x20 })],
    ['RSV3', clientFrame(ping, { reserved: 0x10 })],
    ['opcode 3', clientFrame(ping, { opcode: 3 })],
    ['opcode 11', clientFrame(ping, { opcode: 11 })],
    ['a continuation without a start', clientFrame(ping, { opcode: 0 })],
    [
      'a new message inside a fragmented one',
      Buffer.concat([clientFrame(ping, { final: false }), clientFrame(ping)]),
    ],
    ['a fragmented ping', clientFrame('', { opcode: 9, final: false })],
    ['a ping of 126 bytes', clientFrame('x'.repeat(126), { opcode: 9 })],
    ['a close of one byte', clientFrame('x', { opcode: 8 })],
    ['a close with code 999', clientFrame('\x03\xe7', { opcode: 8 })],
    ['a close with code 1006', clientFrame('\x03\xee', { opcode: 8 })],
  ])('%s is closed with 1002', async (_name, bytes) => {
    expect(await codeFor(bytes)).toBe(1002)
  })

  test.each([
    ['text', clientFrame('\xc3\x28', { opcode: 1 })],
    ['a close reason', clientFrame('\x03\xe8\xc3\x28', { opcode: 8 })],
  ])('%s that is not UTF-8 is closed with 1007', async (_name, bytes) => {
    expect(await codeFor(bytes)).toBe(1007)
  })

  test.each([
    ['64 KiB and a byte', clientFrame(Buffer.alloc(65_537))],
    [
      '64 KiB and a byte in two fragments',
      Buffer.concat([
        clientFrame(Buffer.alloc(65_000), { final: false }),
        clientFrame(Buffer.alloc(537), { opcode: 0 }),
      ]),
    ],
    ['an announced length of 2^53', Buffer.from('82ff0020000000000000', 'hex')],
    ['an announced length of 2^63', Buffer.from('82ff8000000000000000', 'hex')],
  ])('a message of %s is closed with 1009', async (_name, bytes) => {
    expect(await codeFor(bytes)).toBe(1009)
  })

  test.each([0, 1])('65 fragments of %i bytes are closed with 1008', async (size) => {
    const payload = Buffer.alloc(size, 0x0d)
    const frames = [clientFrame(payload, { final: false })]
    for (let i = 0; i < 64; i++) frames.push(clientFrame(payload, { opcode: 0, final: false }))
    expect(await codeFor(Buffer.concat(frames))).toBe(1008)
  })

  test('64 fragments are taken', async () => {
    const server = await open.server()
    const upgrade = await open.upgrade(server.httpPort)
    const bytes = Buffer.from(`PING${' '.repeat(58)}\r\n`)
    const frames = [...bytes].map((byte, i) =>
      clientFrame(Buffer.of(byte), { opcode: i === 0 ? 2 : 0, final: i === bytes.length - 1 }),
    )
    expect(frames).toHaveLength(64)
    upgrade.write(Buffer.concat(frames))
    await eventually('the reply', () => upgrade.received().includes('-NOAUTH'))
  })
})

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
