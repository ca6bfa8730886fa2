/** Type of a directive: decides how the words after its name are read. */
export type DirectiveType =
  | 'boolean'
  | 'integer'
  | 'octal'
  | 'seconds'
  | 'memory'
  | 'memory-or-percent'
  | 'enumeration'
  | 'flags'
  | 'string'
  | 'list'
  | 'buffer-limits'
  | 'lines'

/**
 * The time from which a value counts: `live` at once, also by CONFIG SET; `start` from the next start on; `none` never,
 * it is kept so that this server starts with the configuration of a Redis or Valkey.
 */
type Effect = 'live' | 'start' | 'none'

/** A bound of a number; those of 64 bits do not fit a `number`. */
export type Bound = number | bigint

/** Why a directive without effect is refused. */
interface Closing {
  /** Values that close nothing; of a path the last part counts. */
  readonly harmless: readonly string[]
  /** Half a sentence: what would stay open. */
  readonly why: string
  /** A sentence. */
  readonly remedy: string
}

/** Optional traits of a directive, beyond its type, default and text. */
export interface Traits {
  /** Other names, accepted everywhere and reported by CONFIG GET where asked for. */
  readonly aliases?: readonly string[]
  /** Unit of a number, for the manual. */
  readonly unit?: string
  /** CONFIG SET may change it. Default: unless `effect` is `start`. */
  readonly mutable?: boolean
  readonly effect?: Effect
  /** CONFIG SET needs `enable-protected-configs` as well. */
  readonly protected?: true
  /** Write-only: CONFIG GET answers `(redacted)`; neither the command line nor CONFIG SET takes it. */
  readonly secret?: true
  /**
   * Readable with CONFIG GET as in Redis, but never repeated in an error or a log line. `refused`: a value with a secret is
   * refused, so that one in force holds none.
   */
  readonly sensitive?: true | 'refused'
  /** CONFIG GET shows it to its exact name only. */
  readonly hidden?: true
  /** The default once the public listener leaves loopback; strangers are out there. */
  readonly beyondLoopback?: string
  /** Several lines add up instead of the last one winning. */
  readonly multi?: true
  /** Neither CONFIG GET nor CONFIG SET know it, as in Redis. */
  readonly fileOnly?: true
  /** Setting the present value is a change too: it names a file to be read again. */
  readonly volatile?: true
  /** Without effect, but its owner would believe something closed that stays open: refused, but for values that close nothing. */
  readonly closes?: Closing
  /** Returns the reason why the words are refused, in Redis' text where Redis has one. */
  readonly check?: (words: readonly string[]) => string | undefined
  /** In one argument, words are separated by single spaces, as in Redis: a doubled one holds an empty word. */
  readonly singleSpaces?: true
  /** The nearest values that have an effect: a number beyond them counts as one of them. */
  readonly clamp?: readonly [number, number]
  /** The form in which CONFIG GET shows a string, or a word of a list. */
  readonly canonical?: (text: string) => string
}

/** One directive of the table; its name is the key it stands under. */
export interface Spec<T extends DirectiveType = DirectiveType> extends Traits {
  readonly type: T
  /** As it would stand in the file, quotes included for a list. */
  readonly default: string
  /** One line for the manual. */
  readonly text: string
  readonly mutable: boolean
  readonly effect: Effect
  /** Bounds of a number, both allowed. */
  readonly range?: readonly [Bound, Bound]
  /** Words that an enumeration knows. */
  readonly values?: readonly string[]
}

/** An enumeration whose words are known to the compiler. */
export interface ChoiceSpec<V extends string> extends Spec<'enumeration'> {
  readonly values: readonly V[]
}

/** Directives of one theme, by name. */
type Table = Readonly<Record<string, Spec>>

/** 2^31 - 1, Redis' bound for an `int`. */
export const INT_MAX = 2_147_483_647
/** 2^32 - 1. */
export const UINT_MAX = 4_294_967_295
/** 2^63 - 1, Redis' bound for a `long`. */
export const LONG_MAX = 9_223_372_036_854_775_807n
/** 2^64 - 1. */
export const ULONG_MAX = 18_446_744_073_709_551_615n

/** Range of a port; 0 is none. */
export const PORT = [0, 65_535] as const

/** Read once, at start. */
export const AT_START = { effect: 'start' } as const
/** Refused by CONFIG SET as `can't set immutable config`. */
export const IMMUTABLE = { mutable: false } as const

function spec<T extends DirectiveType>(
  type: T,
  fallback: string,
  text: string,
  traits: Traits | undefined,
): Spec<T> {
  const effect = traits?.effect ?? 'live'
  return {
    ...traits,
    type,
    default: fallback,
    text,
    effect,
    mutable: traits?.mutable ?? effect !== 'start',
  }
}

/** A directive that is `yes` or `no`. */
export function boolean(fallback: 'yes' | 'no', text: string, traits?: Traits): Spec<'boolean'> {
  return spec('boolean', fallback, text, traits)
}

/** A whole number between two bounds. */
export function integer(
  fallback: number,
  range: readonly [Bound, Bound],
  text: string,
  traits?: Traits,
): Spec<'integer'> {
  return { ...spec('integer', String(fallback), text, traits), range }
}

/** File permissions, written in octal. */
export function octal(
  fallback: string,
  range: readonly [Bound, Bound],
  text: string,
  traits?: Traits,
): Spec<'octal'> {
  return { ...spec('octal', fallback, text, traits), range }
}

/** Whole seconds. */
export function seconds(
  fallback: number,
  text: string,
  traits?: Traits & { min?: number },
): Spec<'seconds'> {
  return {
    ...spec('seconds', String(fallback), text, { unit: 'seconds', ...traits }),
    range: [traits?.min ?? 0, INT_MAX],
  }
}

/** Bytes, written with an optional unit. */
export function memory(
  fallback: string,
  text: string,
  traits?: Traits & { range?: readonly [Bound, Bound] },
): Spec<'memory'> {
  return {
    ...spec('memory', fallback, text, { unit: 'bytes', ...traits }),
    range: traits?.range ?? [0, LONG_MAX],
  }
}

/** Bytes, or a share of `maxmemory` as `5%`. */
export function memoryOrPercent(
  fallback: string,
  text: string,
  traits?: Traits,
): Spec<'memory-or-percent'> {
  return {
    ...spec('memory-or-percent', fallback, text, { unit: 'bytes or %', ...traits }),
    range: [0, LONG_MAX],
  }
}

/** One word of a few. */
export function choice<const V extends string>(
  fallback: V,
  values: readonly V[],
  text: string,
  traits?: Traits,
): ChoiceSpec<V> {
  return { ...spec('enumeration', fallback, text, traits), values }
}

/** Several words of a few. */
export function flags(
  fallback: string,
  values: readonly string[],
  text: string,
  traits?: Traits,
): Spec<'flags'> {
  return { ...spec('flags', fallback, text, traits), values }
}

/** Any text, as a byte string. */
export function string(fallback: string, text: string, traits?: Traits): Spec<'string'> {
  return spec('string', fallback, text, traits)
}

/** Words, separated by spaces. */
export function list(fallback: string, text: string, traits?: Traits): Spec<'list'> {
  return spec('list', fallback, text, traits)
}

/** `<class> <hard> <soft> <soft seconds>`, one or more times; other classes keep their value. */
export function bufferLimits(
  fallback: string,
  text: string,
  traits?: Traits,
): Spec<'buffer-limits'> {
  return { ...spec('buffer-limits', fallback, text, traits), multi: true }
}

/** A directive whose lines add up. */
export function lines(text: string, traits?: Traits): Spec<'lines'> {
  return { ...spec('lines', '', text, traits), multi: true }
}

/** Marks a whole table as without effect: accepted, checked, kept, shown. */
export function withoutEffect<T extends Table>(table: T): T {
  const inert = Object.entries(table).map(([name, entry]) => [
    name,
    { ...entry, effect: 'none' as const },
  ])
  return Object.fromEntries(inert) as T
}
