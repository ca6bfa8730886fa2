import { beforeAll, describe, expect, test } from 'vitest'
import { eventually, nextTurn, opener, sharedServer } from '../../support/opened.ts'
import {
  connectWebSocket,
  encodeCommand,
  push,
  type RawWebSocket,
} from '../../support/resp-client.ts'
import {
  clientFrame,
  closeCode,
  serverFrames,
  type FrameOptions,
  type ServerFrame,
  type UpgradedSocket,
} from '../../support/raw-upgrade.ts'

/** The code of the server's close frame; `open` if the connection lives and answers. */
type Outcome = number | 'open'

const TEXT = 1
const BINARY = 2
const CONTINUATION = 0
const CLOSE = 8
const PING = 9
const PONG = 10

const PING_COMMAND = encodeCommand('PING')

/** A close frame with a status code and a reason (RFC 6455 section 5.5.1). */
function closing(code: number, reason: Buffer | string = ''): Buffer {
  const head = Buffer.alloc(2)
  head.writeUInt16BE(code)
  return clientFrame(Buffer.concat([head, Buffer.from(reason as string, 'latin1')]), {
    opcode: CLOSE,
  })
}

/** A message in fragments, one frame each. */
function fragments(opcode: number, ...payloads: (Buffer | string)[]): Buffer[] {
  return payloads.map((payload, i) =>
    clientFrame(payload, {
      opcode: i === 0 ? opcode : CONTINUATION,
      final: i === payloads.length - 1,
    }),
  )
}

function joined(...parts: (Buffer | readonly Buffer[])[]): Buffer {
  return Buffer.concat(parts.flat())
}

/** A frame whose length is written in 2 or 8 bytes though fewer would do. */
function overlong(payload: Buffer, size: 2 | 8): Buffer {
  const mask = Buffer.alloc(4)
  const length = Buffer.alloc(size)
  if (size === 2) length.writeUInt16BE(payload.length)
  else length.writeBigUInt64BE(BigInt(payload.length))
  return Buffer.concat([Buffer.of(0x82, 0x80 | (size === 2 ? 126 : 127)), length, mask, payload])
}

/** A header that promises a length, and nothing after it. */
function promise(length: bigint, opcode = BINARY): Buffer {
  const bytes = Buffer.alloc(14)
  bytes[0] = 0x80 | opcode
  bytes[1] = 0xff
  bytes.writeBigUInt64BE(length, 2)
  return bytes
}

function frame(payload: Buffer | string, options: FrameOptions): Buffer {
  return clientFrame(payload, options)
}

const repeated = (count: number, bytes: Buffer): Buffer => Buffer.concat(Array(count).fill(bytes))

const FAULTY_FRAMES: readonly (readonly [string, Buffer, Outcome])[] = [
  // Section 5.2: the header.
  ['RSV1 where no extension was agreed on', frame(PING_COMMAND, { reserved: 0x40 }), 1002],
  ['RSV2', frame(PING_COMMAND, { reserved: 0x20 }), 1002],
  ['RSV3', frame(PING_COMMAND, { reserved: 0x10 }), 1002],
  ['all reserved bits', frame(PING_COMMAND, { reserved: 0x70 }), 1002],
  ['RSV1 on a ping', frame('', { opcode: PING, reserved: 0x40 }), 1002],
  ['RSV1 on a close', frame('\x03\xe8', { opcode: CLOSE, reserved: 0x40 }), 1002],
  [
    'RSV1 on a continuation',
    joined(
      frame('PI', { final: false }),
      frame('NG\r\n', { opcode: CONTINUATION, reserved: 0x40 }),
    ),
    1002,
  ],
  ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map(
    (opcode) => [`the reserved opcode ${opcode}`, frame(PING_COMMAND, { opcode }), 1002] as const,
  ),
  ['a reserved opcode without a payload', frame('', { opcode: 3 }), 1002],
  ['an unmasked message', frame(PING_COMMAND, { masked: false }), 1002],
  ['an unmasked ping', frame('', { opcode: PING, masked: false }), 1002],
  ['an unmasked close', frame('\x03\xe8', { opcode: CLOSE, masked: false }), 1002],
  [
    'an unmasked continuation',
    joined(frame('PI', { final: false }), frame('NG\r\n', { opcode: 0, masked: false })),
    1002,
  ],
  // Section 5.2: the length.
  ['a length of 2^63: its top bit is set', promise(2n ** 63n), 1009],
  ['a length of 2^64 - 1', promise(2n ** 64n - 1n), 1009],
  ['a length of 2^53', promise(2n ** 53n), 1009],
  ['a length of 2^53 - 1', promise(2n ** 53n - 1n), 1009],
  ['a length of 2^32', promise(2n ** 32n), 1009],
  ['a length of one byte more than ws-max-payload', promise(65_537n), 1009],
  ['a length of 2^63 on a text', promise(2n ** 63n, TEXT), 1009],
  [
    'fragments that are larger together than ws-max-payload',
    joined(fragments(BINARY, Buffer.alloc(65_000), Buffer.alloc(537))),
    1009,
  ],
  // Section 5.4: fragments.
  ['a continuation without a start', frame(PING_COMMAND, { opcode: CONTINUATION }), 1002],
  [
    'a continuation that is not the last, without a start',
    frame('PING', { opcode: CONTINUATION, final: false }),
    1002,
  ],
  [
    'a continuation after a whole message',
    joined(frame(PING_COMMAND, {}), frame('', { opcode: CONTINUATION })),
    1002,
  ],
  [
    'a continuation after the last fragment',
    joined(fragments(BINARY, 'PING', '\r\n'), frame('', { opcode: CONTINUATION })),
    1002,
  ],
  [
    'a new message inside a fragmented one',
    joined(frame('PI', { final: false }), frame(PING_COMMAND, {})),
    1002,
  ],
  [
    'a text inside a fragmented binary message',
    joined(frame('PI', { final: false }), frame('PING', { opcode: TEXT })),
    1002,
  ],
  [
    'a second start of a fragmented message',
    joined(frame('PI', { final: false }), frame('NG', { final: false })),
    1002,
  ],
  ['65 fragments of one byte', joined(fragments(BINARY, ...Array<string>(65).fill('\r'))), 1008],
  ['65 empty fragments', joined(fragments(BINARY, ...Array<string>(65).fill(''))), 1008],
  // Section 5.5: control frames.
  ['a fragmented ping', frame('', { opcode: PING, final: false }), 1002],
  ['a fragmented pong', frame('', { opcode: PONG, final: false }), 1002],
  ['a fragmented close', frame('\x03\xe8', { opcode: CLOSE, final: false }), 1002],
  [
    'a fragmented ping inside a fragmented message',
    joined(frame('PI', { final: false }), frame('', { opcode: PING, final: false })),
    1002,
  ],
  ['a ping of 126 bytes', frame('x'.repeat(126), { opcode: PING }), 1002],
  ['a pong of 126 bytes', frame('x'.repeat(126), { opcode: PONG }), 1002],
  ['a ping of 65,536 bytes', frame('x'.repeat(65_536), { opcode: PING }), 1002],
  ['a ping that promises 2^63 bytes', promise(2n ** 63n, PING), 1002],
  // Sections 5.5.1 and 7.4: closes.
  ['a close of one byte', frame('\x03', { opcode: CLOSE }), 1002],
  ['a close of 126 bytes', closing(1000, 'x'.repeat(124)), 1002],
  ...[0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 1999, 2000, 2999, 5000, 65_535].map(
    (code) => [`a close with code ${code}`, closing(code), 1002] as const,
  ),
  ['a close with a reason that is not UTF-8', closing(1000, '\xc3\x28'), 1007],
  ['a close with a reason cut inside a code point', closing(1000, 'x\xe2\x82'), 1007],
  // Section 8.1: UTF-8 in texts.
  ['a text with a byte that is never UTF-8', frame('\xff', { opcode: TEXT }), 1007],
  ['a text with a lone continuation byte', frame('\x80', { opcode: TEXT }), 1007],
  ['a text with a wrong second byte', frame('\xc3\x28', { opcode: TEXT }), 1007],
  ['a text with an overlong slash', frame('\xc0\xaf', { opcode: TEXT }), 1007],
  ['a text with an overlong NUL of three bytes', frame('\xe0\x80\x80', { opcode: TEXT }), 1007],
  ['a text with a surrogate', frame('\xed\xa0\x80', { opcode: TEXT }), 1007],
  ['a text with a pair of surrogates', frame('\xed\xa0\x80\xed\xb0\x80', { opcode: TEXT }), 1007],
  ['a text with a code point over U+10FFFF', frame('\xf4\x90\x80\x80', { opcode: TEXT }), 1007],
  ['a text that ends inside a code point', frame('PING\xe2\x82', { opcode: TEXT }), 1007],
  [
    'a text in fragments that ends inside a code point',
    joined(fragments(TEXT, 'PING\xf0', '\x9f\x98')),
    1007,
  ],
  [
    'a text whose code point is broken off by the next fragment',
    joined(fragments(TEXT, '\xe2\x82', 'PING\r\n')),
    1007,
  ],
]

const GOOD_FRAMES: readonly (readonly [string, Buffer, Outcome])[] = [
  ['nothing', Buffer.alloc(0), 'open'],
  ['an empty message', frame('', {}), 'open'],
  ['an empty text', frame('', { opcode: TEXT }), 'open'],
  ['a message in three fragments', joined(fragments(BINARY, '\r', '\n', '\r\n')), 'open'],
  ['a message in 64 fragments', joined(fragments(BINARY, ...Array<string>(64).fill(''))), 'open'],
  ['a text', frame(PING_COMMAND, { opcode: TEXT }), 'open'],
  [
    'a text split inside a code point',
    joined(fragments(TEXT, '*2\r\n$4\r\nPING\r\n$4\r\n\xf0', '\x9f\x98', '\x80\r\n')),
    'open',
  ],
  // Section 5.2 asks senders for the shortest length; a longer one is as clear.
  ['a length of 7 bits in 16', overlong(PING_COMMAND, 2), 'open'],
  ['a length of 7 bits in 64', overlong(PING_COMMAND, 8), 'open'],
  ['a length of 16 bits in 64', overlong(Buffer.alloc(200, '\r\n'), 8), 'open'],
  [
    'a ping inside a fragmented message',
    joined(frame('\r', { final: false }), frame('', { opcode: PING }), frame('\n', { opcode: 0 })),
    'open',
  ],
  [
    'a pong inside a fragmented message',
    joined(frame('\r', { final: false }), frame('', { opcode: PONG }), frame('\n', { opcode: 0 })),
    'open',
  ],
  ['a pong that nothing asked for', frame('hello', { opcode: PONG }), 'open'],
  ['ten pongs that nothing asked for', repeated(10, frame('', { opcode: PONG })), 'open'],
  ['a ping of 125 bytes', frame('x'.repeat(125), { opcode: PING }), 'open'],
  [
    'a close inside a fragmented message',
    joined(frame('\r', { final: false }), closing(1000)),
    1000,
  ],
  ['a close without a code', frame('', { opcode: CLOSE }), 1005],
  ['a close of two bytes', closing(1000), 1000],
  ['a close of 125 bytes', closing(1000, 'x'.repeat(123)), 1000],
  ['a close with a reason in UTF-8', closing(1000, 'gr\xc3\xbc\xc3\x9fe'), 1000],
  ...[1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999].map(
    (code) => [`a close with code ${code}`, closing(code), code] as const,
  ),
  ['two closes', joined(closing(1000), closing(1001)), 1000],
  ['a message after the close', joined(closing(1000), frame('FLUSHALL\r\n', {})), 1000],
  ['a faulty frame after the close', joined(closing(1000), frame('', { reserved: 0x70 })), 1000],
  ['a ping after the close', joined(closing(1000), frame('late', { opcode: PING })), 1000],
  ['a reserved opcode after the close', joined(closing(1000), frame('', { opcode: 3 })), 1000],
]

const open = opener()
const server = sharedServer()
/** A client that does nothing wrong, and lives through every case of this file. */
const honest = {} as RawWebSocket
let tokenOfPeer: string

beforeAll(async () => {
  tokenOfPeer = await server.mint('peer', { channels: ['*'] })
  const token = await server.mint('honest', { channels: ['*'] })
  const client = await connectWebSocket(server.wsUrl, { token })
  Object.defineProperties(honest, Object.getOwnPropertyDescriptors(client))
  await honest.takeAccepted('jwt:honest')
  await honest.subscribe('own')
  return () => honest.destroy()
})

/** An honest client still publishes and receives, and nobody else is left. */
async function assertUnaffected(): Promise<void> {
  await eventually('the peer is forgotten', () => server.core.clients.size === 1)
  honest.command('PUBLISH', 'own', 'm')
  await honest.takeExactly(Buffer.concat([Buffer.from(':1\r\n'), push(3, 'message', 'own', 'm')]))
  await honest.assertPong()
}

const STATES = ['before its login', 'with a subscription'] as const

async function peerIn(state: (typeof STATES)[number]): Promise<UpgradedSocket> {
  if (state === 'before its login') return await open.upgrade(server.httpPort)
  const peer = await open.upgrade(server.httpPort, {
    headers: { 'Sec-WebSocket-Protocol': `resp3, bearer.${tokenOfPeer}` },
  })
  peer.write(clientFrame(encodeCommand('SUBSCRIBE', 'peer')))
  await eventually('the subscription', () => peer.received().includes('subscribe'))
  return peer
}

/** What becomes of a peer: it sends a command, and answers a close as RFC 6455 section 5.5.1 asks for. */
async function outcomeOf(peer: UpgradedSocket): Promise<Outcome | undefined> {
  let isOver = false
  void peer.ended.then(() => (isOver = true))
  peer.write(clientFrame(encodeCommand('PING', 'last')))
  const isAnswered = (): boolean =>
    serverFrames(peer.received()).some(({ payload }) =>
      /last\r\n$|^-NOAUTH/.test(payload.toString('latin1')),
    )
  await eventually(
    'an answer or a close',
    () => isOver || closeCode(peer.received()) !== undefined || isAnswered(),
  )
  if (closeCode(peer.received()) === undefined && !isOver) {
    peer.destroy()
    return 'open'
  }
  peer.write(closing(1000))
  return closeCode(await peer.ended)
}

/** At least one of a close: it is the first frame that ends what a server sends. */
function framesAfterClose(received: Buffer): ServerFrame[] {
  const frames = serverFrames(received)
  return frames.slice(frames.findIndex(({ opcode }) => opcode === CLOSE) + 1)
}

describe.each(STATES)('a client %s', (state) => {
  test.each(FAULTY_FRAMES)('that sends %s is closed with %i', async (_name, bytes, code) => {
    const peer = await peerIn(state)
    peer.write(bytes)
    expect(await outcomeOf(peer)).toBe(code)
    expect(framesAfterClose(peer.received())).toEqual([])
    await assertUnaffected()
  })

  test.each(GOOD_FRAMES)('that sends %s ends with or stays %s', async (_name, bytes, outcome) => {
    const peer = await peerIn(state)
    peer.write(bytes)
    expect(await outcomeOf(peer)).toBe(outcome)
    await assertUnaffected()
  })

  test.each(['ping', 'pong'])(
    'that sends a thousand %ss is closed with 1008 or cut',
    async (kind) => {
      const peer = await peerIn(state)
      peer.write(repeated(1_000, frame('x'.repeat(125), { opcode: kind === 'ping' ? PING : PONG })))
      // ws itself cuts a peer that has 60 pings without a pong written.
      expect([1008, undefined]).toContain(await outcomeOf(peer))
      await assertUnaffected()
    },
  )

  test.each(['ping', 'pong'])('may send thirty %ss at once', async (kind) => {
    const peer = await peerIn(state)
    peer.write(repeated(30, frame('x', { opcode: kind === 'ping' ? PING : PONG })))
    expect(await outcomeOf(peer)).toBe('open')
    const pongs = serverFrames(peer.received()).filter(({ opcode }) => opcode === PONG)
    expect(pongs.map(({ payload }) => payload.toString())).toEqual(
      Array(kind === 'ping' ? 30 : 0).fill('x'),
    )
    await assertUnaffected()
  })
})

test('every case ends the same way if its bytes arrive one at a time', async () => {
  const small = [...FAULTY_FRAMES, ...GOOD_FRAMES].filter(([, bytes]) => bytes.length < 300)
  expect(small.length).toBeGreaterThan(90)
  const outcomes: [string, Outcome | undefined][] = []
  for (const [name, bytes] of small) {
    const peer = await peerIn('before its login')
    for (const byte of bytes) {
      peer.write(Buffer.of(byte))
      await nextTurn()
    }
    outcomes.push([name, await outcomeOf(peer)])
  }
  expect(outcomes).toEqual(small.map(([name, , outcome]) => [name, outcome]))
  await assertUnaffected()
})

test('a message of exactly ws-max-payload is taken', async () => {
  const peer = await peerIn('with a subscription')
  peer.write(frame(Buffer.alloc(65_536, '\r\n'), {}))
  expect(await outcomeOf(peer)).toBe('open')
})

test('a faulty frame ends the commands that wait, and the subscriptions, in the same turn', async () => {
  const peer = await peerIn('with a subscription')
  peer.write(
    joined(
      frame(encodeCommand('PUBLISH', 'own', 'before'), {}),
      frame(encodeCommand('PUBLISH', 'own', 'with'), { reserved: 0x10 }),
      frame(encodeCommand('PUBLISH', 'own', 'after'), {}),
    ),
  )
  expect(await outcomeOf(peer)).toBe(1002)
  await honest.takeExactly(push(3, 'message', 'own', 'before'))
  honest.command('PUBLISH', 'peer', 'm')
  await honest.takeExactly(':0\r\n')
  await assertUnaffected()
})
