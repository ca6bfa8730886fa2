/** FIN and the opcode of a binary WebSocket message (RFC 6455 section 5.2). */
const FINAL_BINARY = 0x82

/** The longest header of a server's frame. */
export const MAX_FRAME_HEADER_BYTES = 10

/** Bytes of the header in front of `payloadBytes` bytes: 2, 4 or 10. */
export function frameHeaderLength(payloadBytes: number): number {
  return payloadBytes < 126 ? 2 : payloadBytes < 65_536 ? 4 : 10
}

/**
 * Writes the header of one final, unmasked, uncompressed binary frame at `into[at]`.
 *
 * It is the same for every receiver (a server must not mask, RFC 6455 section 5.1), so that a frame can be shared.
 *
 * @param payloadBytes 0 to 2^48 - 1.
 * @returns The header's length in bytes.
 */
export function writeFrameHeader(into: Buffer, at: number, payloadBytes: number): number {
  into[at] = FINAL_BINARY
  if (payloadBytes < 126) {
    into[at + 1] = payloadBytes
    return 2
  }
  if (payloadBytes < 65_536) {
    into[at + 1] = 126
    into.writeUInt16BE(payloadBytes, at + 2)
    return 4
  }
  into[at + 1] = 127
  into.writeUInt16BE(0, at + 2)
  into.writeUIntBE(payloadBytes, at + 4, 6)
  return 10
}

/** The header alone, in a buffer of its own. */
export function frameHeader(payloadBytes: number): Buffer {
  const header = Buffer.allocUnsafe(frameHeaderLength(payloadBytes))
  writeFrameHeader(header, 0, payloadBytes)
  return header
}
