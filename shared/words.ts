const BACKSLASH = 0x5c
const DOUBLE_QUOTE = 0x22
const SINGLE_QUOTE = 0x27

/** Escapes such as `\n` inside double quotes. */
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['b', '\b'],
  ['a', '\u0007'],
])

/** Part of a word: its text and its end. */
interface Part {
  readonly end: number
  readonly text: string
}

/**
 * Splits a line into words with the quoting of Redis, in linear time. Words are separated by white space. `"..."` has the escapes
 * `\n \r \t \b \a \xHH`, and drops a backslash before anything else; `'...'` has only `\'`. A quote may open within a word; white
 * space or the end must follow where it closes. A NUL ends the line, as it ends a C string.
 *
 * @param line Byte string.
 * @returns The words; undefined if quotes are unbalanced.
 */
export function splitWords(line: string): string[] | undefined {
  const words: string[] = []
  for (let at = skipBlanks(line, 0); at < line.length; at = skipBlanks(line, at)) {
    const word = readWord(line, at)
    if (word === undefined) return undefined
    words.push(word.text)
    at = word.end
    if (line.charCodeAt(at) === 0) break
  }
  return words
}

/** Writes a word so that {@link splitWords} reads it back; quoted if necessary. */
export function quoteWord(word: string): string {
  if (/^[!#-&(-~]+$/.test(word) && !word.startsWith('#')) return word
  return quoteText(word)
}

/** A byte string in double quotes with all but printable ASCII escaped, as Redis shows it. */
export function quoteText(text: string): string {
  const escaped = text.replace(/[\\"]|[^ -~]/g, (char) => {
    if (char === '\\' || char === '"') return `\\${char}`
    for (const [letter, meant] of ESCAPES) if (meant === char) return `\\${letter}`
    return hexEscape(char)
  })
  return `"${escaped}"`
}

/** One character up to U+00FF as `\xNN`. */
export function hexEscape(char: string): string {
  return `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`
}

/**
 * Characters that do not show, or that reorder what does: controls, format characters (zero width, bidi), separators of lines
 * and paragraphs, halves of surrogate pairs, and letters that are blank.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u115f\u1160\u3164\uffa0]|\u034f|\u17b4|\u17b5/gu

/** Reports whether a text has characters that do not show, or that reorder what does. */
export function hasInvisible(text: string): boolean {
  return text.search(INVISIBLE) >= 0
}

/** Replaces characters that do not show, or that reorder what does; by default with `\xNN` or `\u{N}`. */
export function escapeInvisible(text: string, escape: (char: string) => string = escapeOf): string {
  return text.replace(INVISIBLE, escape)
}

function escapeOf(char: string): string {
  const code = char.codePointAt(0) as number
  return code > 0xff ? `\\u{${code.toString(16)}}` : hexEscape(char)
}

function readWord(line: string, start: number): Part | undefined {
  let text = ''
  let at = start
  let from = start
  while (at < line.length && !endsWord(line.charCodeAt(at))) {
    const unit = line.charCodeAt(at)
    if (unit !== DOUBLE_QUOTE && unit !== SINGLE_QUOTE) {
      at++
      continue
    }
    text += line.slice(from, at)
    const quoted = unit === DOUBLE_QUOTE ? readDouble(line, at + 1) : readSingle(line, at + 1)
    if (quoted === undefined) return undefined
    if (quoted.end < line.length && !isBlank(line.charCodeAt(quoted.end))) return undefined
    return { end: quoted.end, text: text + quoted.text }
  }
  return { end: at, text: text + line.slice(from, at) }
}

function readDouble(line: string, start: number): Part | undefined {
  let text = ''
  let from = start
  for (let at = start; at < line.length;) {
    const unit = line.charCodeAt(at)
    if (unit === DOUBLE_QUOTE) return { end: at + 1, text: text + line.slice(from, at) }
    if (unit !== BACKSLASH || at + 1 >= line.length) {
      at++
      continue
    }
    text += line.slice(from, at)
    const hex = /^x[\da-f]{2}$/i.test(line.slice(at + 1, at + 4)) && line[at + 1] === 'x'
    const next = line[at + 1] as string
    text += hex
      ? String.fromCharCode(Number.parseInt(line.slice(at + 2, at + 4), 16))
      : (ESCAPES.get(next) ?? next)
    at += hex ? 4 : 2
    from = at
  }
  return undefined
}

function readSingle(line: string, start: number): Part | undefined {
  let text = ''
  let from = start
  for (let at = start; at < line.length; at++) {
    const unit = line.charCodeAt(at)
    if (unit === SINGLE_QUOTE) return { end: at + 1, text: text + line.slice(from, at) }
    if (unit === BACKSLASH && line.charCodeAt(at + 1) === SINGLE_QUOTE) {
      text += line.slice(from, at)
      from = at + 1
      at++
    }
  }
  return undefined
}

function skipBlanks(line: string, from: number): number {
  let at = from
  while (at < line.length && isBlank(line.charCodeAt(at))) at++
  return at
}

/** Reports whether a unit is white space in the sense of `isspace` in C. */
function isBlank(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d)
}

/** Reports whether a unit ends an unquoted word. */
function endsWord(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09 || unit === 0
}
