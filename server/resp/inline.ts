const BACKSLASH = 0x5c
const DOUBLE_QUOTE = 0x22
const SINGLE_QUOTE = 0x27

/** What `\n` and the like stand for inside double quotes. */
const ESCAPES: Readonly<Record<number, number>> = {
  0x6e: 0x0a,
  0x72: 0x0d,
  0x74: 0x09,
  0x62: 0x08,
  0x61: 0x07,
}

/**
 * Splits a line as Redis does for inline commands: blanks separate, `"..."` knows `\n \r \t \b \a \xHH`,
 * `'...'` knows `\'` only, and a closing quote must be followed by a blank or the end.
 *
 * @param line Bytes without the line end.
 * @returns The arguments, or undefined where quotes are unbalanced.
 */
export function splitInline(line: Buffer): Buffer[] | undefined {
  const args: Buffer[] = []
  let at = 0
  for (;;) {
    while (at < line.length && isSpace(line[at])) at++
    if (at >= line.length) return args
    const token: number[] = []
    const end = readToken(line, at, token)
    if (end === undefined) return undefined
    args.push(Buffer.from(token))
    at = end
  }
}

function readToken(line: Buffer, start: number, into: number[]): number | undefined {
  let at = start
  while (at < line.length) {
    const byte = line[at] as number
    if (endsToken(byte)) return at
    if (byte === DOUBLE_QUOTE || byte === SINGLE_QUOTE) {
      const end =
        byte === DOUBLE_QUOTE ? readDouble(line, at + 1, into) : readSingle(line, at + 1, into)
      if (end === undefined) return undefined
      if (end < line.length && !isSpace(line[end])) return undefined
      return end
    }
    into.push(byte)
    at++
  }
  return at
}

function readDouble(line: Buffer, start: number, into: number[]): number | undefined {
  let at = start
  while (at < line.length) {
    const byte = line[at] as number
    if (byte === DOUBLE_QUOTE) return at + 1
    if (byte !== BACKSLASH || at + 1 >= line.length) {
      into.push(byte)
      at++
      continue
    }
    const next = line[at + 1] as number
    const high = next === 0x78 ? hexDigit(line[at + 2]) : -1
    const low = high >= 0 ? hexDigit(line[at + 3]) : -1
    if (low >= 0) {
      into.push(high * 16 + low)
      at += 4
    } else {
      into.push(ESCAPES[next] ?? next)
      at += 2
    }
  }
  return undefined
}

function readSingle(line: Buffer, start: number, into: number[]): number | undefined {
  let at = start
  while (at < line.length) {
    const byte = line[at] as number
    if (byte === SINGLE_QUOTE) return at + 1
    if (byte === BACKSLASH && line[at + 1] === SINGLE_QUOTE) at++
    into.push(line[at] as number)
    at++
  }
  return undefined
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || (byte !== undefined && byte >= 0x09 && byte <= 0x0d)
}

function endsToken(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09 || byte === 0
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1
}
