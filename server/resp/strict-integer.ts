const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39

/** Redis' strict decimal: optional `-`, no `+`, no leading zero, fits 64 bits. NaN if it is not. */
export function parseInteger64(line: Buffer, start: number): number {
  const negative = line[start] === MINUS
  const first = negative ? start + 1 : start
  const digits = line.length - first
  if (digits < 1 || digits > 19) return Number.NaN
  if (line[first] === ZERO && (digits > 1 || negative)) return Number.NaN
  for (let i = first; i < line.length; i++) {
    const byte = line[i] as number
    if (byte < ZERO || byte > NINE) return Number.NaN
  }
  const value = BigInt(line.toString('latin1', start))
  return BigInt.asIntN(64, value) === value ? Number(value) : Number.NaN
}
