import type { Writable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import * as ws from 'ws'
import {
  frameHeader,
  frameHeaderLength,
  MAX_FRAME_HEADER_BYTES,
  writeFrameHeader,
} from '../../../server/delivery/frame.ts'

/** The parser of ws, which its type declarations leave out. */
const { Receiver } = ws as unknown as {
  Receiver: new (options: { isServer: boolean; maxPayload: number }) => Writable
}

/** The messages that a client's receiver finds in these bytes. */
function received(bytes: Buffer): Promise<{ data: Buffer; isBinary: boolean }[]> {
  return new Promise((resolve, reject) => {
    const messages: { data: Buffer; isBinary: boolean }[] = []
    const receiver = new Receiver({ isServer: false, maxPayload: 0 })
    receiver.on('message', (data: Buffer, isBinary: boolean) => messages.push({ data, isBinary }))
    receiver.on('error', reject)
    receiver.on('finish', () => resolve(messages))
    receiver.end(bytes)
  })
}

describe('A WebSocket frame of a server', () => {
  test.each([
    [0, '8200'],
    [1, '8201'],
    [125, '827d'],
    [126, '827e007e'],
    [65_535, '827effff'],
    [65_536, '827f0000000000010000'],
    [200_000, '827f0000000000030d40'],
    [2 ** 32, '827f0000000100000000'],
    [2 ** 48 - 1, '827f0000ffffffffffff'],
  ])('of %d bytes has the header %s', (payloadBytes, header) => {
    expect(frameHeader(payloadBytes).toString('hex')).toBe(header)
    expect(frameHeaderLength(payloadBytes)).toBe(header.length / 2)
    expect(header.length / 2).toBeLessThanOrEqual(MAX_FRAME_HEADER_BYTES)
  })

  test.each([0, 1, 125, 126, 127, 65_535, 65_536, 200_000])(
    'of %d bytes is one binary message to a WebSocket client',
    async (length) => {
      const payload = Buffer.alloc(length, 'x')
      const messages = await received(Buffer.concat([frameHeader(length), payload]))
      expect(messages).toHaveLength(1)
      expect(messages[0]?.isBinary).toBe(true)
      expect(messages[0]?.data.equals(payload)).toBe(true)
    },
  )

  test('may follow another one', async () => {
    const bytes = [3, 126, 70_000].map((length) =>
      Buffer.concat([frameHeader(length), Buffer.alloc(length, length % 256)]),
    )
    const lengths = (await received(Buffer.concat(bytes))).map(({ data }) => data.length)
    expect(lengths).toEqual([3, 126, 70_000])
  })

  test('has its header written in front of it in place', () => {
    const bytes = Buffer.alloc(14, 0xee)
    expect(writeFrameHeader(bytes, 4, 126)).toBe(4)
    expect(bytes.toString('hex')).toBe('eeeeeeee827e007eeeeeeeeeeeee')
  })
})
