import { escapeGlob, readGlob } from '../../../shared/glob.ts'
import { MAX_PATTERN_BYTES, MAX_PATTERNS } from '../verify/claims.ts'
import { fromByteString, lookUp, plainName } from '../text.ts'
import type { JsonObject } from '../text.ts'

/** A placeholder, by the source of its value. */
type Placeholder =
  | { readonly kind: 'sub' }
  | { readonly kind: 'iss' }
  /** `each`: the value is an array, and every element makes a pattern. */
  | { readonly kind: 'claim'; readonly path: string; readonly each: boolean }

/** A parsed pattern of a role: literal byte strings (braces resolved) and placeholders. */
export type RolePattern = readonly (string | Placeholder)[]

/** The values that fill placeholders. */
export interface PlaceholderValues {
  /** Byte string. */
  readonly sub: string
  /** Byte string. */
  readonly iss: string
  /** Returns the token's payload; called only if a placeholder needs it. */
  readonly payload: () => JsonObject
  /** Bytes that no value may contain. */
  readonly separators: string
}

/** Stands for a placeholder where a pattern is read as a glob: a unit that no byte string holds. */
const PLACEHOLDER_UNIT = 0x100

/**
 * Checks a channel pattern of a role when the role is stored.
 *
 * @param pattern Byte string, without the `&`.
 * @returns The problem in a sentence, or `undefined`.
 */
export function validateRolePattern(pattern: string): string | undefined {
  const parsed = parseRolePattern(pattern)
  return typeof parsed === 'string' ? parsed : undefined
}

/** The text of a pattern that is the same for every token; `undefined` for one with placeholders. */
export function fixedText(pattern: RolePattern): string | undefined {
  let text = ''
  for (const part of pattern) {
    if (typeof part !== 'string') return undefined
    text += part
  }
  return text
}

/**
 * Parses a pattern of a role: `{sub}`, `{iss}`, `{claim.<path>}`, `{claim.<path>[]}`, and `{{` `}}` for braces.
 *
 * @returns The parts, or the problem in a sentence.
 */
export function parseRolePattern(pattern: string): RolePattern | string {
  const parts: (string | Placeholder)[] = []
  let literal = ''
  let at = 0
  while (at < pattern.length) {
    const char = pattern[at] as string
    if (char !== '{' && char !== '}') {
      literal += char
      at++
    } else if (pattern[at + 1] === char) {
      literal += char
      at += 2
    } else if (char === '}') {
      return "a '}' stands alone; a literal brace is written '}}'"
    } else {
      const end = pattern.indexOf('}', at)
      const placeholder = end < 0 ? undefined : readPlaceholder(pattern.slice(at + 1, end))
      if (placeholder === undefined) {
        return "unknown placeholder; use {sub}, {iss}, {claim.<path>} or {claim.<path>[]}, and '{{' for a literal brace"
      }
      if (literal !== '') parts.push(literal)
      parts.push(placeholder)
      literal = ''
      at = end + 1
    }
  }
  if (literal !== '' || parts.length === 0) parts.push(literal)
  return misplaced(parts) ?? parts
}

/**
 * Fills the placeholders of a pattern for one token. For a pattern without any see {@link fixedText}.
 *
 * Values are escaped, so that they match themselves and nothing else. A pattern vanishes where a value is missing,
 * empty, not a string, holds a separator, white space or a control, or makes the pattern longer than 256 bytes.
 *
 * @returns The patterns as byte strings, none if it vanished, or `undefined` if there would be more than 256.
 */
export function expandRolePattern(
  pattern: RolePattern,
  values: PlaceholderValues,
): readonly string[] | undefined {
  const choices = pattern.map((part) =>
    typeof part === 'string' ? [part] : valuesOf(part, values),
  )
  if (choices.some((choice) => choice.length === 0)) return []
  let count = 1
  for (const choice of choices) {
    count *= choice.length
    if (count > MAX_PATTERNS) return undefined
  }
  let patterns = ['']
  for (const choice of choices) {
    patterns = patterns.flatMap((head) => choice.map((tail) => head + tail))
  }
  return patterns.filter((one) => one.length <= MAX_PATTERN_BYTES)
}

function readPlaceholder(text: string): Placeholder | undefined {
  if (text === 'sub' || text === 'iss') return { kind: text }
  if (!text.startsWith('claim.')) return undefined
  const each = text.endsWith('[]')
  const path = fromByteString(text.slice('claim.'.length, each ? -2 : undefined))
  const isPath = path !== '' && !/[{}[\]]/.test(path) && !path.split('.').includes('')
  return isPath ? { kind: 'claim', path, each } : undefined
}

/** The escaped values of a placeholder that are fit to use. */
function valuesOf(placeholder: Placeholder, values: PlaceholderValues): readonly string[] {
  const found =
    placeholder.kind === 'claim'
      ? claimValues(placeholder, values.payload())
      : [values[placeholder.kind]]
  return found
    .filter((value) => value !== '' && !holdsAny(value, values.separators))
    .map(escapeGlob)
}

function holdsAny(value: string, bytes: string): boolean {
  for (let at = 0; at < value.length; at++) if (bytes.includes(value.charAt(at))) return true
  return false
}

function claimValues(
  { path, each }: { readonly path: string; readonly each: boolean },
  payload: JsonObject,
): readonly string[] {
  const found = lookUp(payload, path)
  if (found === undefined || found === 'broken') return []
  if (each !== Array.isArray(found.value)) return []
  const candidates = each ? (found.value as readonly unknown[]) : [found.value]
  return candidates
    .map((value) => plainName(value, MAX_PATTERN_BYTES))
    .filter((value) => value !== undefined)
}

/** Finds a placeholder inside `[...]` or after a backslash, where an escaped value would not match itself alone. */
function misplaced(parts: RolePattern): string | undefined {
  let fault: string | undefined
  const check = (unit: number, place: string): void => {
    if (unit === PLACEHOLDER_UNIT) fault ??= `a placeholder cannot stand ${place}`
  }
  const units = String.fromCharCode(PLACEHOLDER_UNIT)
  readGlob(parts.map((part) => (typeof part === 'string' ? part : units)).join(''), {
    literal: (unit, escaped) => {
      if (escaped) check(unit, 'after a backslash')
    },
    any() {},
    star() {},
    beginClass() {},
    member: (unit) => check(unit, 'inside [...]'),
    range: (from, to) => {
      check(from, 'inside [...]')
      check(to, 'inside [...]')
    },
    endClass() {},
  })
  return fault
}
