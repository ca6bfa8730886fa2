/** A compiled glob pattern. Patterns and subjects are byte strings: one UTF-16 unit (0–255) per byte. */
export interface Glob {
  /** The pattern as it was given. */
  readonly pattern: string
  /** The longest literal prefix that every match starts with; escapes are resolved. */
  readonly literalHead: string
  /** The pattern matches `literalHead` and nothing else. */
  readonly isLiteral: boolean
  /** Tells whether the whole of `subject` matches. Time is bounded by pattern length times subject length. */
  matches(subject: string): boolean
}

/** How a pattern is compiled. */
export interface GlobOptions {
  /** ASCII letters match in both cases, as in `CONFIG GET`; Pub/Sub and ACL compare bytes. Default `false`. */
  readonly ignoreCase?: boolean
}

/** Any one byte. */
const ANY = -1
/** Any number of bytes. */
const STAR = -2
/** Tokens from here downwards stand for the class at index `FIRST_CLASS - token`. */
const FIRST_CLASS = -3

/**
 * Redis recurses once per star that is not the last token, and gives up below this depth (the fix of CVE-2024-31228).
 * A match has to pass every such star, so that the count alone decides.
 */
const MAX_INNER_STARS = 1000

/** The bytes that mean something in a glob. */
export const BACKSLASH = 0x5c
export const CARET = 0x5e
export const CLOSE = 0x5d
export const DASH = 0x2d
export const OPEN = 0x5b
export const QUESTION = 0x3f
export const ASTERISK = 0x2a

/** 256 bits, one per byte value. */
type ByteSet = Uint32Array

/**
 * Compiles a Redis glob: `*`, `?`, `[...]`, `[^...]`, ranges, and `\` before a byte that is meant literally.
 *
 * Verdicts are Redis' own on x86-64, with the odd ones: `*` does not match the empty string, `]` closes a class
 * even in first position, an unclosed class ends with the pattern, and the ends of a range compare as signed bytes.
 *
 * @param pattern Byte string; every byte string is a valid pattern.
 * @see Redis `PSUBSCRIBE`, `ACL SETUSER`, `PUBSUB CHANNELS`
 */
export function compileGlob(pattern: string, options?: GlobOptions): Glob {
  return new CompiledGlob(pattern, options?.ignoreCase ?? false)
}

/** Escapes a byte string so that, as a pattern, it matches exactly itself. */
export function escapeGlob(text: string): string {
  return text.replace(/[*?[\\]/g, '\\$&')
}

class CompiledGlob implements Glob {
  readonly pattern: string
  readonly literalHead: string
  readonly isLiteral: boolean
  readonly #isPrefix: boolean
  readonly #neverMatches: boolean
  readonly #tokens: Int32Array
  readonly #classes: readonly ByteSet[]

  constructor(pattern: string, ignoreCase: boolean) {
    const { tokens, classes } = new Compiler(pattern, ignoreCase).compile()
    let head = 0
    while (head < tokens.length && (tokens[head] as number) >= 0) head++
    let innerStars = 0
    for (let at = 0; at < tokens.length - 1; at++) if (tokens[at] === STAR) innerStars++

    this.pattern = pattern
    this.literalHead = literalText(tokens, head)
    this.isLiteral = head === tokens.length
    this.#isPrefix = head === tokens.length - 1 && tokens[head] === STAR
    this.#neverMatches = innerStars > MAX_INNER_STARS
    this.#tokens = Int32Array.from(tokens)
    this.#classes = classes
  }

  matches(subject: string): boolean {
    if (this.isLiteral) return subject === this.literalHead
    // What is not a literal needs at least one byte: Redis never enters its loop for an empty subject.
    if (subject.length === 0 || this.#neverMatches) return false
    if (this.#isPrefix) return subject.startsWith(this.literalHead)
    return this.#run(subject)
  }

  /**
   * Walks pattern and subject together. Only the latest star is ever resumed: what follows an earlier star has been
   * found as far left as possible, so that moving it right can only leave less room for the rest.
   */
  #run(subject: string): boolean {
    const tokens = this.#tokens
    const end = tokens.length
    let token = 0
    let at = 0
    let resumeToken = -1
    let resumeAt = 0

    while (at < subject.length) {
      const expected = token < end ? (tokens[token] as number) : undefined
      if (expected === STAR) {
        token++
        if (token === end) return true
        resumeToken = token
        resumeAt = at
      } else if (expected !== undefined && this.#accepts(expected, subject.charCodeAt(at))) {
        token++
        at++
      } else if (resumeToken >= 0) {
        token = resumeToken
        at = ++resumeAt
      } else {
        return false
      }
    }
    return token === end || (token === end - 1 && tokens[token] === STAR)
  }

  #accepts(token: number, byte: number): boolean {
    if (token >= 0) return token === byte
    return token === ANY || contains(this.#classes[FIRST_CLASS - token] as ByteSet, byte)
  }
}

/** Turns a pattern into tokens: a byte value, {@link ANY}, {@link STAR}, or a reference to a class. */
class Compiler {
  readonly #pattern: string
  readonly #ignoreCase: boolean
  readonly #tokens: number[] = []
  readonly #classes: ByteSet[] = []
  #at = 0

  constructor(pattern: string, ignoreCase: boolean) {
    this.#pattern = pattern
    this.#ignoreCase = ignoreCase
  }

  compile(): { tokens: readonly number[]; classes: readonly ByteSet[] } {
    while (this.#left > 0) {
      const byte = this.#take()
      if (byte === ASTERISK) {
        if (this.#tokens.at(-1) !== STAR) this.#tokens.push(STAR)
      } else if (byte === QUESTION) {
        this.#tokens.push(ANY)
      } else if (byte === OPEN) {
        this.#pushSet(this.#takeClass())
      } else if (byte === BACKSLASH && this.#left > 0) {
        this.#pushLiteral(this.#take())
      } else {
        this.#pushLiteral(byte)
      }
    }
    return { tokens: this.#tokens, classes: this.#classes }
  }

  get #left(): number {
    return this.#pattern.length - this.#at
  }

  #peek(ahead: number): number {
    return this.#pattern.charCodeAt(this.#at + ahead)
  }

  #take(): number {
    return this.#pattern.charCodeAt(this.#at++)
  }

  /** Reads a class from behind its `[` to behind its `]`, or to the end of the pattern. */
  #takeClass(): ByteSet {
    const set: ByteSet = new Uint32Array(8)
    const negated = this.#left > 0 && this.#peek(0) === CARET
    if (negated) this.#at++

    while (this.#left > 0) {
      if (this.#peek(0) === BACKSLASH && this.#left >= 2) {
        // Escaped members keep their case even where case is ignored, and never start a range.
        this.#at++
        add(set, this.#take())
      } else if (this.#peek(0) === CLOSE) {
        this.#at++
        break
      } else if (this.#left >= 3 && this.#peek(1) === DASH) {
        this.#addRange(set, this.#peek(0), this.#peek(2))
        this.#at += 3
      } else {
        for (const byte of this.#variants(this.#take())) add(set, byte)
      }
    }
    if (negated) for (let word = 0; word < 8; word++) set[word] = ~(set[word] as number)
    return set
  }

  /** Adds a range whose ends come in any order. Ignored case lowers the ends after they were put in order, as Redis does. */
  #addRange(set: ByteSet, one: number, other: number): void {
    const low = Math.min(signed(one), signed(other))
    const high = Math.max(signed(one), signed(other))
    if (!this.#ignoreCase) {
      for (let char = low; char <= high; char++) add(set, char & 0xff)
      return
    }
    for (let char = lower(low); char <= lower(high); char++) {
      if (lower(char) === char) for (const byte of this.#variants(char & 0xff)) add(set, byte)
    }
  }

  #pushLiteral(byte: number): void {
    const variants = this.#variants(byte)
    if (variants.length === 1) {
      this.#tokens.push(byte)
      return
    }
    const set: ByteSet = new Uint32Array(8)
    for (const variant of variants) add(set, variant)
    this.#pushSet(set)
  }

  /** A class of one member is that byte, which makes the literal head longer. */
  #pushSet(set: ByteSet): void {
    const only = onlyMember(set)
    if (only !== undefined) {
      this.#tokens.push(only)
      return
    }
    this.#tokens.push(FIRST_CLASS - this.#classes.length)
    this.#classes.push(set)
  }

  /** The bytes that a literal byte stands for: itself, and its other case where case is ignored. */
  #variants(byte: number): readonly number[] {
    const small = lower(byte)
    const isLetter = small >= 0x61 && small <= 0x7a
    return this.#ignoreCase && isLetter ? [small - 0x20, small] : [byte]
  }
}

function add(set: ByteSet, byte: number): void {
  set[byte >>> 5] = (set[byte >>> 5] as number) | (1 << (byte & 31))
}

function contains(set: ByteSet, byte: number): boolean {
  return (((set[byte >>> 5] as number) >>> (byte & 31)) & 1) === 1
}

/** The member of a set of one; undefined for sets of another size. */
function onlyMember(set: ByteSet): number | undefined {
  let only: number | undefined
  for (let word = 0; word < 8; word++) {
    const bits = set[word] as number
    if (bits === 0) continue
    if (only !== undefined || (bits & (bits - 1)) !== 0) return undefined
    only = word * 32 + 31 - Math.clz32(bits)
  }
  return only
}

/** The byte string of the first `count` literal tokens, made in pieces that fit on the call stack. */
function literalText(tokens: readonly number[], count: number): string {
  let result = ''
  for (let from = 0; from < count; from += 8192) {
    result += String.fromCharCode(...tokens.slice(from, Math.min(count, from + 8192)))
  }
  return result
}

/** The value of a byte as a C `char` of x86-64. */
function signed(byte: number): number {
  return byte < 0x80 ? byte : byte - 0x100
}

function lower(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte
}
