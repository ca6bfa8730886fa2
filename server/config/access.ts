import { compileGlob } from '../../shared/glob.ts'
import { quoteWord, splitWords } from '../../shared/words.ts'
import { directiveNames, findDirective, type Directive } from './directives.ts'
import { settingOf, valueOf } from './settings.ts'
import type { Setting, SettingMap, Settings } from './settings.ts'
import { holdsSecret } from './tables/tokens.ts'
import { parseValue, type Lines, type Parsed, type Refusal } from './values.ts'

/** Replaces a secret. */
const REDACTED = '(redacted)'

/**
 * The answer to CONFIG GET: each name once, even if several patterns match it. Names are answered as they were
 * typed, those that a pattern found in lower case, aliases included.
 *
 * @param patterns Byte strings.
 * @see Redis CONFIG GET
 */
export function listConfig(
  settings: SettingMap,
  patterns: readonly string[],
): [name: string, value: string][] {
  const found = new Map<string, [name: string, value: string]>()
  const add = (typed: string, setting: Setting): void => {
    const key = typed.toLowerCase()
    if (!setting.directive.fileOnly && !found.has(key)) found.set(key, [typed, shownText(setting)])
  }
  for (const pattern of patterns) {
    if (!/[*?[]/.test(pattern)) {
      const directive = findDirective(pattern)
      if (directive) add(pattern, settingOf(settings, directive))
      continue
    }
    const glob = compileGlob(pattern, { ignoreCase: true })
    for (const [name, directive] of directiveNames()) {
      if (!directive.hidden && glob.matches(name)) add(name, settingOf(settings, directive))
    }
  }
  return [...found.values()]
}

function shownText(setting: Setting): string {
  const { directive, text } = setting
  if (directive.secret) return text === '' ? '' : REDACTED
  if (directive.name !== 'issuer') return text
  return valueOf(setting, 'lines')
    .map((words) =>
      (holdsSecret(words) ? [...words.slice(0, 2), REDACTED] : words).map(quoteWord).join(' '),
    )
    .join('\n')
}

/** A name and a value of CONFIG SET; byte strings. */
export type Pair = readonly [name: string, value: string]

/** The client that sets. */
export interface SetClient {
  /** Connected over loopback or a Unix socket: counts for `enable-protected-configs local`. */
  readonly isLocal: boolean
}

/** One directive that is to change. */
export interface Change {
  /** The name as it was typed, alias or not, in lower case: errors about values name it so. */
  readonly typed: string
  readonly setting: Setting
}

/**
 * Reads the pairs of CONFIG SET without changing anything. As in Redis all names are checked before any value.
 *
 * @returns The changes, or the error's text after `ERR `.
 * @see Redis CONFIG SET
 */
export function readPairs(
  current: Settings,
  settings: SettingMap,
  pairs: readonly Pair[],
  client: SetClient,
): Change[] | string {
  const seen = new Set<string>()
  const known: [typed: string, directive: Directive, value: string][] = []
  for (const [typed, value] of pairs) {
    const directive = findDirective(typed)
    if (!directive || directive.fileOnly) {
      return `Unknown option or number of arguments for CONFIG SET - '${typed}'`
    }
    const refusal = refusalOf(directive, current, client)
    if (refusal !== undefined) return setError(typed, refusal)
    if (seen.has(typed.toLowerCase())) return setError(typed, 'duplicate parameter')
    seen.add(typed.toLowerCase())
    known.push([typed, directive, value])
  }
  const changes: Change[] = []
  for (const [typed, directive, value] of known) {
    const parsed = readValue(directive, value, settingOf(settings, directive))
    if ('reason' in parsed) return setError(typed.toLowerCase(), parsed.reason)
    const source = { kind: 'config-set', where: 'CONFIG SET' } as const
    changes.push({ typed: typed.toLowerCase(), setting: { directive, ...parsed, source } })
  }
  return changes
}

/** The text after `ERR ` of a CONFIG SET that fails. */
export function setError(typed: string, reason: string): string {
  return `CONFIG SET failed (possibly related to argument '${typed}') - ${reason}`
}

function refusalOf(directive: Directive, current: Settings, client: SetClient): string | undefined {
  if (directive.protected) {
    const allowed = current.choice('enable-protected-configs')
    if (allowed === 'no' || (allowed === 'local' && !client.isLocal))
      return "can't set protected config"
  }
  if (!directive.mutable) return "can't set immutable config"
  return directive.secret ? `a secret is read from a file: set ${directive.name}-file` : undefined
}

function readValue(directive: Directive, value: string, current: Setting): Parsed | Refusal {
  if (directive.type === 'lines') return readLines(directive, value, valueOf(current, 'lines'))
  // CONFIG SET of a list replaces it; classes of buffer limits that are not named stay.
  return parseValue(directive, [value], directive.type === 'list' ? undefined : current.value)
}

/**
 * A directive of several lines is set as a whole, its lines separated by line feeds. The answer of CONFIG GET may be
 * set again: `(redacted)` keeps the present secret.
 */
function readLines(directive: Directive, value: string, current: Lines): Parsed | Refusal {
  let parsed: Parsed = { value: [], text: '' }
  for (const line of value.split('\n').filter((each) => each.trim() !== '')) {
    let words: readonly string[] | undefined = splitWords(line)
    if (!words) return { reason: 'unbalanced quotes' }
    if (holdsSecret(words)) {
      const [alias, name, secret] = words
      words = current.findLast((known) => known[0] === alias && known[1] === name)
      if (!words || secret !== REDACTED) {
        return { reason: 'a secret is read from a file: set the property with -file' }
      }
    }
    const next = parseValue(directive, words, parsed.value)
    if ('reason' in next) return next
    parsed = next
  }
  return parsed
}
