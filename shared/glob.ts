import {
  ANY,
  buildSteps,
  type ByteSet,
  FIRST_CLASS,
  GlobAutomaton,
  STAR,
  type StepMeter,
} from './glob-automaton.ts'

/** Options of {@link compileGlob}. */
interface GlobOptions {
  /** ASCII letters match in both cases, as in `CONFIG GET`; Pub/Sub and ACL compare bytes. Default `false`. */
  readonly ignoreCase?: boolean
}

/** Receives the tokens of a glob in order, see {@link readGlob}. A byte is a UTF-16 unit of the pattern. */
interface GlobReader {
  /** A byte that stands for itself. @param escaped It follows a backslash. */
  literal(byte: number, escaped: boolean): void
  /** `?`: any one byte. */
  any(): void
  /** `*`: any number of bytes. */
  star(): void
  /** `[`, or `[^` for a negated class. Its members follow. */
  beginClass(negated: boolean): void
  /** One byte in a class. @param escaped It follows a backslash. */
  member(byte: number, escaped: boolean): void
  /** A range in a class. Its ends come as written, in either order. */
  range(from: number, to: number): void
  /** `]`, or the end of the pattern. */
  endClass(): void
}

const BACKSLASH = 0x5c
const CARET = 0x5e
const CLOSE = 0x5d
const DASH = 0x2d
const OPEN = 0x5b
const QUESTION = 0x3f
const ASTERISK = 0x2a

/**
 * Reads a Redis glob token by token. This is the only place that knows the syntax: `*`, `?`, `[...]`, `[^...]`, ranges, and
 * `\` before a literal byte. A backslash at the end stands for itself, `]` closes a class even in first position, a range takes
 * any byte as its end (`]` included), and an unclosed class ends with the pattern.
 */
export function readGlob(pattern: string, reader: GlobReader): void {
  const end = pattern.length
  let at = 0
  while (at < end) {
    const byte = pattern.charCodeAt(at++)
    if (byte === ASTERISK) reader.star()
    else if (byte === QUESTION) reader.any()
    else if (byte === OPEN) at = readClass(pattern, at, reader)
    else if (byte === BACKSLASH && at < end) reader.literal(pattern.charCodeAt(at++), true)
    else reader.literal(byte, false)
  }
}

/** Reads a class. @param at Index after its `[`. @returns The index after its `]`, or the end of the pattern. */
function readClass(pattern: string, at: number, reader: GlobReader): number {
  const end = pattern.length
  const negated = pattern.charCodeAt(at) === CARET
  if (negated) at++
  reader.beginClass(negated)
  while (at < end) {
    const byte = pattern.charCodeAt(at++)
    if (byte === BACKSLASH && at < end) {
      reader.member(pattern.charCodeAt(at++), true)
    } else if (byte === CLOSE) {
      break
    } else if (at + 1 < end && pattern.charCodeAt(at) === DASH) {
      reader.range(byte, pattern.charCodeAt(at + 1))
      at += 2
    } else {
      reader.member(byte, false)
    }
  }
  reader.endClass()
  return at
}

/** Escapes a byte string so that, as a pattern, it matches exactly itself. */
export function escapeGlob(text: string): string {
  return text.replace(/[*?[\\]/g, '\\$&')
}

/**
 * Compiles a Redis glob.
 *
 * Verdicts are those of Redis on x86-64, quirks included: `*` does not match the empty string, and the ends of a range compare
 * as signed bytes.
 *
 * @param pattern Byte string; every byte string is a valid pattern.
 * @see Redis `PSUBSCRIBE`, `ACL SETUSER`, `PUBSUB CHANNELS`
 */
export function compileGlob(pattern: string, options?: GlobOptions): Glob {
  return new Glob(pattern, options?.ignoreCase ?? false)
}

/**
 * Redis recurses once per star that is not the last token, and gives up below this depth (the fix of CVE-2024-31228).
 * A match has to pass every such star, so the count alone decides.
 */
const MAX_INNER_STARS = 1000

/** Globs whose token counts multiply to more than this are compared by their literal ends alone. */
const MAX_OVERLAP_STATES = 16_384

/** States of all comparisons that share a meter: a few milliseconds. */
export const MAX_OVERLAP_STEPS = 1_000_000

/** Longer patterns have no automaton: it would take 32 bytes per token. */
const MAX_AUTOMATON_TOKENS = 1_048_576

/** Words of 32 bits in the automata that are kept: 16 MB. */
const MAX_KEPT_WORDS = 4_194_304

/** Automata of the globs that needed one, dropped all together when they get too large. */
const automata = new Map<Glob, GlobAutomaton>()
let keptWords = 0

/** The meter of matches that nobody counts. */
const UNCOUNTED: StepMeter = { steps: 0 }

const NO_BYTES: ByteSet = new Uint32Array(8)

/**
 * A compiled glob pattern. Patterns and subjects are byte strings: one UTF-16 unit (0–255) per byte.
 *
 * The tokens before the first star have to begin the subject, those after the last star have to end it. With one star, that
 * is all. Those in between are compared place by place, and by an automaton once a subject has made that costly.
 */
export class Glob {
  /** The pattern as it was given. */
  readonly pattern: string
  /** The longest literal prefix of every match; escapes are resolved. */
  readonly literalHead: string
  /** The pattern matches `literalHead` and nothing else. */
  readonly isLiteral: boolean
  readonly #isPrefix: boolean
  readonly #neverMatches: boolean
  /** Bytes that every match has at least. */
  readonly #fewest: number
  readonly #tokens: Int32Array
  /** Indexes of the first and the last star; -1 without one. */
  readonly #firstStar: number
  readonly #lastStar: number
  readonly #classes: readonly ByteSet[]
  #needsAutomaton = false

  constructor(pattern: string, ignoreCase: boolean) {
    const compiler = new Compiler(ignoreCase)
    readGlob(pattern, compiler)
    const { tokens, classes } = compiler
    let head = 0
    while (head < tokens.length && (tokens[head] as number) >= 0) head++
    let innerStars = 0
    for (let at = 0; at < tokens.length - 1; at++) if (tokens[at] === STAR) innerStars++
    const stars = tokens.at(-1) === STAR ? innerStars + 1 : innerStars

    this.pattern = pattern
    this.literalHead = literalText(tokens, 0, head)
    this.isLiteral = head === tokens.length
    this.#isPrefix = head === tokens.length - 1 && tokens[head] === STAR
    this.#neverMatches = innerStars > MAX_INNER_STARS
    this.#fewest = tokens.length - stars
    this.#tokens = Int32Array.from(tokens)
    this.#firstStar = tokens.indexOf(STAR)
    this.#lastStar = tokens.lastIndexOf(STAR)
    this.#classes = classes
  }

  /** The longest literal suffix of every match that comes after a star. */
  get literalTail(): string {
    const tokens = this.#tokens
    let from = tokens.length
    while (from > this.#lastStar + 1 && (tokens[from - 1] as number) >= 0) from--
    return this.#lastStar < 0 ? '' : literalText(tokens, from, tokens.length)
  }

  /**
   * Reports whether the whole of `subject` matches. The steps are bounded by both lengths together and, with several stars, by
   * their product divided by 32. A pattern that needs more bytes than `subject` has takes none, so that no automaton is built that is
   * larger than the subject is worth.
   *
   * @param meter Told the steps beyond a comparison of the literal head. If they would go beyond its limit by an automaton, the match
   *   gives up: it says so to the meter, and returns false.
   */
  matches(subject: string, meter: StepMeter = UNCOUNTED): boolean {
    if (this.isLiteral) return subject === this.literalHead
    // A pattern that is not literal needs at least one byte: Redis never enters its loop for an empty subject.
    if (subject.length === 0 || this.#neverMatches) return false
    if (!subject.startsWith(this.literalHead)) return false
    return this.#isPrefix || this.#run(subject, meter)
  }

  /**
   * Reports whether some string may match both globs, case-sensitive ones. Conservative: true if there is such a string,
   * and sometimes if there is none (a class of several bytes counts as any byte; very long patterns are compared by
   * their literal ends).
   *
   * @param meter Shared by many comparisons; once it has counted {@link MAX_OVERLAP_STEPS}, all that is left may overlap.
   */
  mayOverlap(other: Glob, meter: StepMeter = { steps: 0 }): boolean {
    if (this.pattern === other.pattern) return true
    const [a, b] = [this.#tokens, other.#tokens]
    if (!headsAgree(a, b) || !tailsAgree(a, b)) return false
    const states = a.length * b.length
    if (states > MAX_OVERLAP_STATES || meter.steps > MAX_OVERLAP_STEPS) return true
    meter.steps += states
    return intersect(a, b)
  }

  #run(subject: string, meter: StepMeter): boolean {
    const [first, last] = [this.#firstStar, this.#lastStar]
    const head = this.literalHead.length
    const count = this.#tokens.length
    if (first < 0) {
      return subject.length === count && this.#fits(subject, head, count, head, meter)
    }
    const end = subject.length - (count - 1 - last)
    return (
      subject.length >= this.#fewest &&
      this.#fits(subject, head, first, head, meter) &&
      this.#fits(subject, last + 1, count, end, meter) &&
      (first === last || this.#finds(subject, first, end, meter))
    )
  }

  /** Reports whether the tokens `[from, end)`, none of them a star, accept the bytes from `at` on. */
  #fits(subject: string, from: number, end: number, at: number, meter: StepMeter): boolean {
    for (let token = from; token < end; token++) {
      const byte = subject.charCodeAt(at + token - from)
      if (this.#accepts(this.#tokens[token] as number, byte)) continue
      meter.steps += token - from + 1
      return false
    }
    meter.steps += end - from
    return true
  }

  /**
   * Finds what is between the first star and the last in the bytes `[from, end)`. Only the latest star is ever resumed:
   * what follows an earlier star has been found as far left as possible, so that moving it right can only leave less room
   * for the rest.
   */
  #finds(subject: string, from: number, end: number, meter: StepMeter): boolean {
    if (this.#needsAutomaton) return this.#findsByAutomaton(subject, from, end, meter)
    const tokens = this.#tokens
    let token = this.#firstStar + 1
    let at = from
    let resumeToken = token
    let resumeAt = at
    let repeated = 0
    while (at < end) {
      const expected = tokens[token] as number
      if (expected === STAR) {
        if (token === this.#lastStar) break
        resumeToken = ++token
        resumeAt = at
      } else if (this.#accepts(expected, subject.charCodeAt(at))) {
        token++
        at++
      } else {
        repeated += at - resumeAt
        if (repeated > end - from && tokens.length <= MAX_AUTOMATON_TOKENS) {
          meter.steps += repeated * 2
          this.#needsAutomaton = true
          return this.#findsByAutomaton(subject, from, end, meter)
        }
        token = resumeToken
        at = ++resumeAt
      }
    }
    meter.steps += at - from + repeated
    return token === this.#lastStar
  }

  #findsByAutomaton(subject: string, from: number, end: number, meter: StepMeter): boolean {
    let automaton = automata.get(this)
    if (!automaton) {
      const steps = buildSteps(this.#lastStar - this.#firstStar - 1)
      if (meter.steps + steps > (meter.most ?? Number.POSITIVE_INFINITY)) {
        meter.gaveUp = true
        return false
      }
      meter.steps += steps
      automaton = this.#buildAutomaton()
    }
    return automaton.finds(subject, from, end, meter)
  }

  #buildAutomaton(): GlobAutomaton {
    const [from, end] = [this.#firstStar + 1, this.#lastStar]
    const made = new GlobAutomaton(this.#tokens, from, end, this.#classes)
    if (keptWords + made.size > MAX_KEPT_WORDS) {
      automata.clear()
      keptWords = 0
    }
    if (made.size <= MAX_KEPT_WORDS) {
      automata.set(this, made)
      keptWords += made.size
    }
    return made
  }

  #accepts(token: number, byte: number): boolean {
    if (token >= 0) return token === byte
    return token === ANY || contains(this.#classes[FIRST_CLASS - token] as ByteSet, byte)
  }
}

/** Turns a pattern into tokens: a byte value, {@link ANY}, {@link STAR}, or a reference to a class. */
class Compiler implements GlobReader {
  readonly tokens: number[] = []
  readonly classes: ByteSet[] = []
  readonly #ignoreCase: boolean
  #set: ByteSet = NO_BYTES
  #negated = false

  constructor(ignoreCase: boolean) {
    this.#ignoreCase = ignoreCase
  }

  literal(byte: number): void {
    const other = this.#otherCase(byte)
    if (other === byte) {
      this.tokens.push(byte)
      return
    }
    const set: ByteSet = new Uint32Array(8)
    add(set, byte)
    add(set, other)
    this.#pushSet(set)
  }

  any(): void {
    this.tokens.push(ANY)
  }

  star(): void {
    if (this.tokens.at(-1) !== STAR) this.tokens.push(STAR)
  }

  beginClass(negated: boolean): void {
    this.#set = new Uint32Array(8)
    this.#negated = negated
  }

  /** Escaped members keep their case even where case is ignored. */
  member(byte: number, escaped: boolean): void {
    add(this.#set, byte)
    if (!escaped) add(this.#set, this.#otherCase(byte))
  }

  /** Ignored case lowers the ends after they were put in order, as Redis does. */
  range(from: number, to: number): void {
    const low = Math.min(signed(from), signed(to))
    const high = Math.max(signed(from), signed(to))
    if (!this.#ignoreCase) {
      for (let char = low; char <= high; char++) add(this.#set, char & 0xff)
      return
    }
    for (let char = lower(low); char <= lower(high); char++) {
      if (lower(char) === char) this.member(char & 0xff, false)
    }
  }

  endClass(): void {
    const set = this.#set
    if (this.#negated) for (let word = 0; word < 8; word++) set[word] = ~(set[word] as number)
    this.#pushSet(set)
  }

  /** A class of one member is that byte, which makes the literal head longer. */
  #pushSet(set: ByteSet): void {
    const only = onlyMember(set)
    if (only !== undefined) {
      this.tokens.push(only)
      return
    }
    this.tokens.push(FIRST_CLASS - this.classes.length)
    this.classes.push(set)
  }

  /** The other case of a letter where case is ignored, else the byte itself. */
  #otherCase(byte: number): number {
    const small = lower(byte)
    const isLetter = small >= 0x61 && small <= 0x7a
    return this.#ignoreCase && isLetter ? small + (small - 0x20) - byte : byte
  }
}

/** Two tokens other than {@link STAR} may stand for the same byte. */
function agree(one: number, other: number): boolean {
  return one === other || one < 0 || other < 0
}

/** The tokens before the first star of either may be the same. */
function headsAgree(a: Int32Array, b: Int32Array): boolean {
  const shorter = Math.min(a.length, b.length)
  for (let i = 0; i < shorter; i++) {
    const [one, other] = [a[i] as number, b[i] as number]
    if (one === STAR || other === STAR) return true
    if (!agree(one, other)) return false
  }
  return true
}

/** The tokens after the last star of either may be the same. */
function tailsAgree(a: Int32Array, b: Int32Array): boolean {
  const shorter = Math.min(a.length, b.length)
  for (let i = 1; i <= shorter; i++) {
    const [one, other] = [a[a.length - i] as number, b[b.length - i] as number]
    if (one === STAR || other === STAR) return true
    if (!agree(one, other)) return false
  }
  return true
}

/** The end of a token list. */
const END = 0x7fff_ffff

/** The languages of two token lists have a word in common: a table over the rests of both, from their ends on. */
function intersect(a: Int32Array, b: Int32Array): boolean {
  let below = new Uint8Array(b.length + 1)
  for (let i = a.length; i >= 0; i--) {
    const one = i < a.length ? (a[i] as number) : END
    const row = new Uint8Array(b.length + 1)
    for (let j = b.length; j >= 0; j--) {
      const other = j < b.length ? (b[j] as number) : END
      let common = false
      if (one === END && other === END) common = true
      else if (one === STAR && (below[j] === 1 || (other !== END && row[j + 1] === 1)))
        common = true
      else if (other === STAR && (row[j + 1] === 1 || (one !== END && below[j] === 1)))
        common = true
      else if (one !== END && other !== END && one !== STAR && other !== STAR)
        common = agree(one, other) && below[j + 1] === 1
      row[j] = common ? 1 : 0
    }
    below = row
  }
  return below[0] === 1
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

/** The byte string of the literal tokens `[from, end)`, made in pieces that fit on the call stack. */
function literalText(tokens: readonly number[] | Int32Array, from: number, end: number): string {
  let result = ''
  for (let at = from; at < end; at += 8192) {
    result += String.fromCharCode(...tokens.slice(at, Math.min(end, at + 8192)))
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
