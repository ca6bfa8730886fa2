/** Token for any one byte. */
export const ANY = -1
/** Token for any number of bytes. */
export const STAR = -2
/** Tokens from here downwards stand for the class at index `FIRST_CLASS - token`; tokens from 0 on are literal bytes. */
export const FIRST_CLASS = -3

/** 256 bits, one per byte value. */
export type ByteSet = Uint32Array

/** Counts the steps of matches. A step looks at one byte and one token, or at one byte and 32 tokens at once. */
export interface StepMeter {
  steps: number
  /** A match that would go beyond so many steps gives up; no limit by default. */
  most?: number
  /** Set by a match that gave up: nobody knows whether it is one. */
  gaveUp?: boolean
}

/** Steps to build the automaton of so many tokens, no star among them: at most. */
export function buildSteps(tokens: number): number {
  return ((tokens >>> 5) + 1) * ROWS + tokens * STEPS_PER_TOKEN
}

/** Rows of an automaton's table: one for each byte value, and the stars. */
const ROWS = 257

/** Steps to enter a token in the table. */
const STEPS_PER_TOKEN = 8

/** The state of the automaton that runs. */
let states = new Int32Array(32)

/**
 * The tokens of a glob between two stars as an automaton that follows all attempts at once: the algorithm Shift-And of
 * Baeza-Yates and Gonnet, with stars. Bit `i` of its state says that the first `i` tokens fit what was read; a star lets the
 * bit before it stay. No subject takes more steps than its length times {@link words}.
 */
export class GlobAutomaton {
  /** Words of 32 bits in the state. */
  readonly words: number
  /** For each byte value, the bits whose token accepts it, `words` words each; then the bits before a star. */
  readonly #table: Int32Array
  readonly #lastBit: number

  /** The tokens `[from, end)`; the automaton begins as if a star came before them, and has matched once they are read. */
  constructor(tokens: Int32Array, from: number, end: number, classes: readonly ByteSet[]) {
    const places: number[] = []
    const starred = [0]
    for (let at = from; at < end; at++) {
      const token = tokens[at] as number
      if (token === STAR) starred.push(places.length)
      else places.push(token)
    }
    this.words = (places.length >>> 5) + 1
    this.#lastBit = places.length
    this.#table = tableOf(places, this.words, classes)
    for (const bit of starred) setBit(this.#table, this.words * 256, bit)
  }

  /** Words of 32 bits that it keeps. */
  get size(): number {
    return this.#table.length
  }

  /**
   * Reports whether the bytes `[from, end)` of `subject` begin with what the tokens match. False and `gaveUp` if that takes more
   * steps than are left on the meter.
   */
  finds(subject: string, from: number, end: number, meter: StepMeter): boolean {
    const { words } = this
    const table = this.#table
    const stars = words * 256
    if (states.length < words) states = new Int32Array(words * 2)
    const state = states.fill(0, 0, words)
    const lastWord = this.#lastBit >>> 5
    const last = 1 << (this.#lastBit & 31)
    state[0] = 1
    // Only the words [low, high] have bits. What leads to an earlier star than the latest is dropped.
    let low = 0
    let high = 0
    let steps = 0
    const most = (meter.most ?? Number.POSITIVE_INFINITY) - meter.steps
    for (let at = from; at < end; at++) {
      const row = subject.charCodeAt(at) * words
      const top = high
      let carry = 0
      steps += top - low + 1
      if (steps > most) {
        meter.steps += steps
        meter.gaveUp = true
        return false
      }
      for (let word = low; word <= top || (carry !== 0 && word < words); word++) {
        const before = state[word] as number
        const moved = ((before << 1) | carry) & (table[row + word] as number)
        const after = moved | (before & (table[stars + word] as number))
        carry = before >>> 31
        state[word] = after
        if (after === 0) continue
        if (word > high) high = word
        const reached = moved & (table[stars + word] as number)
        if (reached === 0) continue
        low = word
        state[word] = after & (-1 << (31 - Math.clz32(reached)))
      }
      if ((state[lastWord] as number) & last) {
        meter.steps += steps
        return true
      }
    }
    meter.steps += steps
    return false
  }
}

function tableOf(
  places: readonly number[],
  words: number,
  classes: readonly ByteSet[],
): Int32Array {
  const table = new Int32Array(words * ROWS)
  const end = words * 256
  // Every row begins with the tokens that accept most bytes. What differs is turned over.
  for (let i = 0; i < places.length; i++) {
    if (acceptsMost(places[i] as number, classes)) setBit(table, 0, i + 1)
  }
  for (let filled = words; filled < end; filled *= 2) table.copyWithin(filled, 0, filled)
  for (let i = 0; i < places.length; i++) {
    const token = places[i] as number
    const bit = i + 1
    if (token >= 0) {
      flipBit(table, token * words, bit)
    } else if (token !== ANY) {
      const set = classes[FIRST_CLASS - token] as ByteSet
      const inverted = acceptsMost(token, classes) ? -1 : 0
      for (let part = 0; part < 8; part++) {
        for (let rest = (set[part] as number) ^ inverted; rest !== 0; rest &= rest - 1) {
          flipBit(table, (part * 32 + 31 - Math.clz32(rest & -rest)) * words, bit)
        }
      }
    }
  }
  return table
}

/** Reports whether a token accepts more than half of all bytes. */
function acceptsMost(token: number, classes: readonly ByteSet[]): boolean {
  if (token > FIRST_CLASS) return token === ANY
  const set = classes[FIRST_CLASS - token] as ByteSet
  let members = 0
  for (let part = 0; part < 8; part++) {
    for (let rest = set[part] as number; rest !== 0; rest &= rest - 1) members++
  }
  return members > 128
}

function setBit(words: Int32Array, row: number, bit: number): void {
  const at = row + (bit >>> 5)
  words[at] = (words[at] as number) | (1 << (bit & 31))
}

function flipBit(words: Int32Array, row: number, bit: number): void {
  const at = row + (bit >>> 5)
  words[at] = (words[at] as number) ^ (1 << (bit & 31))
}
