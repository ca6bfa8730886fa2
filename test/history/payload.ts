import { randomBytes } from 'node:crypto'

/** Bytes of every value, of which each payload has a part. */
const FILLER = randomBytes(131_072)

/** The longest payload. */
export const MAX_PAYLOAD = 65_536

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
