/** Number of hash slots of a Redis cluster. */
export const SLOT_COUNT = 16_384

/** CRC16/XMODEM of each single byte: polynomial 0x1021, not reflected. */
const CRC_OF_BYTE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc & 0xffff
})

/**
 * The hash slot of a shard channel.
 *
 * If there is text between the first `{` and the next `}`, only that tag is hashed: names with the same tag share a
 * slot.
 *
 * @param name Byte string.
 * @returns 0 to 16,383.
 * @see Redis `CLUSTER KEYSLOT`
 */
export function keySlot(name: string): number {
  const open = name.indexOf('{')
  const close = open < 0 ? -1 : name.indexOf('}', open + 1)
  return close > open + 1 ? slotOf(name, open + 1, close) : slotOf(name, 0, name.length)
}

function slotOf(name: string, from: number, to: number): number {
  let crc = 0
  for (let at = from; at < to; at++) {
    const index = ((crc >>> 8) ^ name.charCodeAt(at)) & 0xff
    crc = ((crc << 8) & 0xffff) ^ (CRC_OF_BYTE[index] as number)
  }
  return crc % SLOT_COUNT
}
