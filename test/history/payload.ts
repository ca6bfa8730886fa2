import { randomBytes } from 'node:crypto'
import type { MessageSpace } from './history.ts'

/** Bytes of every value, of which each payload has a part. */
const FILLER = randomBytes(1_048_576)

/** The longest payload. */
export const MAX_PAYLOAD = 393_216

/** Where the filler of a message begins. */
function startOf(serial: number): number {
  return (serial * 7_919) % (FILLER.length - MAX_PAYLOAD)
}

/**
 * The payload of a message: its serial number, and bytes that only this message has there.
 *
 * @param size Bytes of the filler.
 */
export function payloadOf(serial: number, size: number): Buffer {
  const start = startOf(serial)
  return Buffer.concat([
    Buffer.from(`${serial}.${size};`),
    FILLER.subarray(start, start + Math.min(size, MAX_PAYLOAD)),
  ])
}

/** The serial number of a payload; undefined if one byte is another than {@link payloadOf} gave. */
export function serialOf(payload: Uint8Array): number | undefined {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)
  const [head, serial, size] = /^(\d+)\.(\d+);/.exec(bytes.toString('latin1', 0, 32)) ?? []
  if (head === undefined) return undefined
  const start = startOf(Number(serial))
  const filler = FILLER.subarray(start, start + Number(size))
  return bytes.subarray(head.length).equals(filler) ? Number(serial) : undefined
}

/** Writes publishes with payloads as of {@link payloadOf}, many at a time. */
export class PayloadWriter {
  readonly #heads: readonly Buffer[]

  /** @param lanes Where messages go. */
  constructor(lanes: readonly { readonly space: MessageSpace; readonly channel: string }[]) {
    this.#heads = lanes.map(({ space, channel }) => {
      const word = space === 'shard' ? '$8\r\nSPUBLISH' : '$7\r\nPUBLISH'
      return Buffer.from(`*3\r\n${word}\r\n$${channel.length}\r\n${channel}\r\n$`, 'latin1')
    })
  }

  /**
   * @param first Serial number of the first message.
   * @param lanes Numbers of the lanes, one for each message.
   * @param sizes Bytes of the fillers.
   */
  encode(first: number, lanes: Uint16Array, sizes: readonly number[]): Buffer {
    let bytes = 0
    for (const [at, lane] of lanes.entries())
      bytes += (this.#heads[lane] as Buffer).length + (sizes[at] as number) + MOST_EXTRA
    const buffer = Buffer.allocUnsafe(bytes)
    let end = 0
    for (const [at, lane] of lanes.entries()) {
      const [serial, size] = [first + at, sizes[at] as number]
      const head = `${serial}.${size};`
      end += (this.#heads[lane] as Buffer).copy(buffer, end)
      end += buffer.write(`${head.length + size}\r\n${head}`, end, 'latin1')
      const start = startOf(serial)
      end += FILLER.copy(buffer, end, start, start + size)
      end += buffer.write('\r\n', end, 'latin1')
    }
    return buffer.subarray(0, end)
  }
}

/** Bytes of a publish beside its names and its filler, at most. */
const MOST_EXTRA = 48
