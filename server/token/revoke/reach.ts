import { ASTERISK, BACKSLASH, CARET, CLOSE, DASH, OPEN, QUESTION } from '../../../shared/glob.ts'

/** Any one byte, or a class: what a class holds is not asked. */
const ANY = -1
/** Any number of bytes. */
const STAR = -2

/** Patterns whose token counts multiply to more than this are compared by their ends alone. */
const MOST_STATES = 16_384

/** A glob as bytes, {@link ANY} and {@link STAR}. */
type Tokens = readonly number[]

/**
 * Whether some channel may match both globs. Conservative: the answer is true wherever there is such a channel, and now and
 * then where there is none (classes count as any byte; very long patterns are compared by their literal ends).
 *
 * @param one Byte string, as {@link other}; a glob as PSUBSCRIBE takes it.
 */
export function mayOverlap(one: string, other: string): boolean {
  if (one === other) return true
  const [a, b] = [tokensOf(one), tokensOf(other)]
  if (!headsAgree(a, b) || !tailsAgree(a, b)) return false
  return a.length * b.length > MOST_STATES || intersect(a, b)
}

const remembered = new Map<string, Tokens>()

/** Patterns whose tokens are remembered: one is compared with many. */
const MOST_REMEMBERED = 1_024

function tokensOf(pattern: string): Tokens {
  const known = remembered.get(pattern)
  if (known) return known
  const tokens = tokenize(pattern)
  if (remembered.size >= MOST_REMEMBERED) remembered.clear()
  remembered.set(pattern, tokens)
  return tokens
}

/** Reads a glob as the matcher does: classes end, and backslashes escape, at the same places. */
function tokenize(pattern: string): Tokens {
  const tokens: number[] = []
  let at = 0
  while (at < pattern.length) {
    const byte = pattern.charCodeAt(at++)
    if (byte === ASTERISK) {
      if (tokens.at(-1) !== STAR) tokens.push(STAR)
    } else if (byte === QUESTION) {
      tokens.push(ANY)
    } else if (byte === OPEN) {
      at = endOfClass(pattern, at)
      tokens.push(ANY)
    } else if (byte === BACKSLASH && at < pattern.length) {
      tokens.push(pattern.charCodeAt(at++))
    } else {
      tokens.push(byte)
    }
  }
  return tokens
}

/** Index behind the class whose first member is at `at`, or the end of the pattern for one that is not closed. */
function endOfClass(pattern: string, at: number): number {
  if (pattern.charCodeAt(at) === CARET) at++
  while (at < pattern.length) {
    const left = pattern.length - at
    const byte = pattern.charCodeAt(at)
    if (byte === BACKSLASH && left >= 2) at += 2
    else if (byte === CLOSE) return at + 1
    else if (left >= 3 && pattern.charCodeAt(at + 1) === DASH) at += 3
    else at++
  }
  return at
}

function agree(one: number, other: number): boolean {
  return one === other || one === ANY || other === ANY
}

/** Whether what stands in front of the first star of either may be the same. */
function headsAgree(a: Tokens, b: Tokens): boolean {
  const shorter = Math.min(a.length, b.length)
  for (let i = 0; i < shorter; i++) {
    const [one, other] = [a[i] as number, b[i] as number]
    if (one === STAR || other === STAR) return true
    if (!agree(one, other)) return false
  }
  return true
}

function tailsAgree(a: Tokens, b: Tokens): boolean {
  const shorter = Math.min(a.length, b.length)
  for (let i = 1; i <= shorter; i++) {
    const [one, other] = [a[a.length - i] as number, b[b.length - i] as number]
    if (one === STAR || other === STAR) return true
    if (!agree(one, other)) return false
  }
  return true
}

/** Whether the languages of two token lists have a word in common: a table over the rests of both, from their ends on. */
function intersect(a: Tokens, b: Tokens): boolean {
  let below = new Uint8Array(b.length + 1)
  for (let i = a.length; i >= 0; i--) {
    const row = new Uint8Array(b.length + 1)
    for (let j = b.length; j >= 0; j--) {
      const [one, other] = [a[i], b[j]]
      let common = false
      if (one === undefined && other === undefined) common = true
      else if (one === STAR && (below[j] === 1 || (other !== undefined && row[j + 1] === 1)))
        common = true
      else if (other === STAR && (row[j + 1] === 1 || (one !== undefined && below[j] === 1)))
        common = true
      else if (one !== undefined && other !== undefined && one !== STAR && other !== STAR)
        common = agree(one, other) && below[j + 1] === 1
      row[j] = common ? 1 : 0
    }
    below = row
  }
  return below[0] === 1
}
