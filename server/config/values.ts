import { isCount } from './checks.ts'
import { ULONG_MAX, type Bound, type DirectiveType, type Spec } from './spec.ts'
import { quoteWord } from '../../shared/words.ts'

/** Classes of clients whose output has limits of their own, in the order of CONFIG GET. */
export const BUFFER_CLASSES = ['normal', 'replica', 'pubsub', 'websocket'] as const

/** A class of `client-output-buffer-limit`. */
export type BufferClass = (typeof BUFFER_CLASSES)[number]

/** Limit on the output that a client leaves unread; 0 is no limit. */
export interface BufferLimit {
  /** Closed at once from here on. */
  readonly hardBytes: number
  /** Closed where it stays at or above this for longer than `softSeconds`. */
  readonly softBytes: number
  readonly softSeconds: number
}

/** A limit with its exact bytes, which numbers beyond 2^53 round: `hard soft seconds`, as CONFIG GET writes it. */
export interface StatedLimit extends BufferLimit {
  readonly text: string
}

/** The limits of all classes. */
export type BufferLimits = Readonly<Record<BufferClass, StatedLimit>>

/** Bytes, or a share of `maxmemory`. */
type MemoryOrPercent = { readonly bytes: number } | { readonly percent: number }

/** The lines of a directive that may stand several times, each split into words. */
export type Lines = readonly (readonly string[])[]

/** Value of a directive of a type. */
export type ValueOf<T extends DirectiveType> = {
  boolean: boolean
  integer: number
  octal: number
  seconds: number
  memory: number
  'memory-or-percent': MemoryOrPercent
  enumeration: string
  flags: readonly string[]
  string: string
  list: readonly string[]
  'buffer-limits': BufferLimits
  lines: Lines
}[T]

/** Value of a directive; its form follows from the type. */
export type Value = ValueOf<DirectiveType>

/** A value with the text by which CONFIG GET shows it. */
export interface Parsed {
  readonly value: Value
  /** Byte string. */
  readonly text: string
}

/** The reason why words are no value, in Redis' words, to follow `CONFIG SET failed (...) - `. */
export interface Refusal {
  readonly reason: string
}

const WRONG_COUNT: Refusal = { reason: 'wrong number of arguments' }
const NO_LIMITS: BufferLimits = Object.freeze({
  normal: noLimit(),
  replica: noLimit(),
  pubsub: noLimit(),
  websocket: noLimit(),
})

/**
 * Reads the words after a directive.
 *
 * @param previous The value that additive directives add to: classes that are not named keep their limit, lines and
 *   lists are appended.
 */
export function parseValue(
  spec: Spec,
  words: readonly string[],
  previous?: Value,
): Parsed | Refusal {
  const given =
    takesWords(spec) && words.length === 1 ? splitSpaces(spec, words[0] as string) : words
  const parsed = parseByType(spec, given, previous)
  if ('reason' in parsed) return parsed
  const reason =
    spec.check?.(takesWords(spec) && isEmpty(given) ? [] : given) ?? closedBy(spec, given)
  return reason === undefined ? parsed : { reason }
}

/** Returns what a value without effect would leave open. */
function closedBy({ closes }: Spec, words: readonly string[]): string | undefined {
  if (!closes) return undefined
  const name = words[0]?.split('/').at(-1) ?? ''
  return closes.harmless.includes(name.toLowerCase()) ? undefined : closes.why
}

/** Several words may follow the directive and make one value; in quotes they count as several too, as in Redis. */
export function takesWords({ type }: Spec): boolean {
  return type === 'list' || type === 'flags' || type === 'buffer-limits'
}

function isEmpty(words: readonly string[]): boolean {
  return words.length === 1 && words[0] === ''
}

function splitSpaces(spec: Spec, word: string): string[] {
  if (spec.type !== 'list' || spec.singleSpaces) return word.split(' ')
  const words = word.split(/ +/).filter((part) => part !== '')
  return words.length === 0 ? [''] : words
}

function parseByType(
  spec: Spec,
  words: readonly string[],
  previous: Value | undefined,
): Parsed | Refusal {
  switch (spec.type) {
    case 'list':
      return parseList(spec, words, previous as ValueOf<'list'> | undefined)
    case 'flags':
      return parseFlags(spec, words)
    case 'buffer-limits':
      return parseBufferLimits(words, (previous as BufferLimits | undefined) ?? NO_LIMITS)
    case 'lines': {
      const lines = [...((previous as Lines | undefined) ?? []), words]
      return { value: lines, text: lines.map((line) => line.map(quoteWord).join(' ')).join('\n') }
    }
    default: {
      const [word] = words
      return word === undefined || words.length > 1 ? WRONG_COUNT : parseWord(spec, word)
    }
  }
}

function parseWord(spec: Spec, word: string): Parsed | Refusal {
  switch (spec.type) {
    case 'boolean': {
      const text = word.toLowerCase()
      return text === 'yes' || text === 'no'
        ? { value: text === 'yes', text }
        : { reason: "argument must be 'yes' or 'no'" }
    }
    case 'integer':
    case 'seconds':
      return /^(0|-?[1-9]\d*)$/.test(word) && fitsLongLong(BigInt(word))
        ? within(spec, BigInt(word), 10)
        : { reason: "argument couldn't be parsed into an integer" }
    case 'octal':
      return /^[0-7]{1,21}$/.test(word)
        ? within(spec, BigInt(`0o${word}`), 8)
        : { reason: "argument couldn't be parsed as an octal number" }
    case 'memory': {
      const bytes = parseMemory(word)
      return bytes === undefined
        ? { reason: 'argument must be a memory value' }
        : within(spec, bytes, 10)
    }
    case 'memory-or-percent':
      return parseMemoryOrPercent(spec, word)
    case 'enumeration': {
      const text = word.toLowerCase()
      const known = spec.values?.find((value) => value.toLowerCase() === text)
      return known === undefined ? unknownWord(spec) : { value: known, text: known }
    }
    default: {
      const text = spec.canonical?.(word) ?? word
      return { value: text, text }
    }
  }
}

function parseList(
  spec: Spec,
  words: readonly string[],
  previous: readonly string[] | undefined,
): Parsed {
  const { canonical = (word) => word } = spec
  const value = isEmpty(words) ? [] : [...(previous ?? []), ...words.map(canonical)]
  return { value, text: value.join(' ') }
}

function parseFlags(spec: Spec, words: readonly string[]): Parsed | Refusal {
  const value = words.map((word) => word.toLowerCase())
  const valid = value.length > 0 && value.every((word) => spec.values?.includes(word))
  return valid ? { value, text: value.join(' ') } : unknownWord(spec)
}

function parseBufferLimits(words: readonly string[], previous: BufferLimits): Parsed | Refusal {
  const given = isEmpty(words) ? [] : words
  if (given.length % 4 !== 0)
    return { reason: 'Wrong number of arguments in buffer limit configuration.' }
  const limits: Record<BufferClass, StatedLimit> = { ...previous }
  for (let at = 0; at < given.length; at += 4) {
    const [name, hard, soft, softSeconds] = given.slice(at, at + 4) as [
      string,
      string,
      string,
      string,
    ]
    const bufferClass = bufferClassOf(name)
    if (!bufferClass)
      return { reason: 'Invalid client class specified in buffer limit configuration.' }
    const hardBytes = parseMemory(hard)
    const softBytes = parseMemory(soft)
    if (hardBytes === undefined || softBytes === undefined || !isCount(softSeconds)) {
      return {
        reason: 'Error in hard, soft or soft_seconds setting in buffer limit configuration.',
      }
    }
    limits[bufferClass] = statedLimit(hardBytes, softBytes, Number(softSeconds))
  }
  return {
    value: limits,
    text: BUFFER_CLASSES.map((name) => bufferLimitText(name, limits[name])).join(' '),
  }
}

/** One class as CONFIG GET writes it: `slave 268435456 67108864 60`. Redis says `slave` for replicas to this day. */
function bufferLimitText(name: BufferClass, limit: StatedLimit): string {
  return `${name === 'replica' ? 'slave' : name} ${limit.text}`
}

/** The class a word of the configuration names; `slave` is the old name of `replica`. */
function bufferClassOf(word: string): BufferClass | undefined {
  const name = word.toLowerCase()
  return name === 'slave' ? 'replica' : BUFFER_CLASSES.find((known) => known === name)
}

/**
 * Reads a memory value: digits with an optional unit, `kb mb gb` in powers of 1024, `k m g` in powers of 1000.
 * The empty string is 0, and whatever does not fit into 64 bits is 2^64 - 1, as in Redis.
 */
export function parseMemory(word: string): bigint | undefined {
  const match = /^(\d*)(|b|k|kb|m|mb|g|gb)$/i.exec(word)
  if (!match) return undefined
  const [, digits = '', unit = ''] = match
  const bytes = BigInt(digits === '' ? 0 : digits) * (UNITS.get(unit.toLowerCase()) ?? 1n)
  return bytes > ULONG_MAX ? ULONG_MAX : bytes
}

const UNITS: ReadonlyMap<string, bigint> = new Map([
  ['k', 1_000n],
  ['kb', 1_024n],
  ['m', 1_000_000n],
  ['mb', 1_048_576n],
  ['g', 1_000_000_000n],
  ['gb', 1_073_741_824n],
])

function parseMemoryOrPercent(spec: Spec, word: string): Parsed | Refusal {
  if (/^\d{1,9}%$/.test(word)) {
    const percent = Number(word.slice(0, -1))
    return percent > 100
      ? { reason: 'percentage argument must be less or equal to 100' }
      : { value: { percent }, text: `${percent}%` }
  }
  const bytes = parseMemory(word)
  if (bytes === undefined) return { reason: 'argument must be a memory or percent value' }
  const parsed = within(spec, bytes, 10)
  return 'reason' in parsed
    ? parsed
    : { value: { bytes: parsed.value as number }, text: parsed.text }
}

function within(spec: Spec, number: bigint, radix: 8 | 10): Parsed | Refusal {
  const [low, high] = spec.range as readonly [Bound, Bound]
  if (number >= low && number <= high) {
    const [least, most] = spec.clamp ?? [number, number]
    const counts = number < least ? least : number > most ? most : number
    return { value: Number(counts), text: counts.toString(radix) }
  }
  return {
    reason: `argument must be between ${shown(low, radix)} and ${shown(high, radix)} inclusive`,
  }
}

function shown(bound: Bound, radix: number): string {
  return bound.toString(radix)
}

function unknownWord(spec: Spec): Refusal {
  return { reason: `argument(s) must be one of the following: ${spec.values?.join(', ')}` }
}

function fitsLongLong(number: bigint): boolean {
  return BigInt.asIntN(64, number) === number
}

function noLimit(): StatedLimit {
  return statedLimit(0n, 0n, 0)
}

function statedLimit(hardBytes: bigint, softBytes: bigint, softSeconds: number): StatedLimit {
  return {
    hardBytes: Number(hardBytes),
    softBytes: Number(softBytes),
    softSeconds,
    text: `${hardBytes} ${softBytes} ${softSeconds}`,
  }
}
