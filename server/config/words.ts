const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['b', '\b'],
  ['a', '\x07'],
])

/** Part of a word: a run without blanks and quotes, `"..."` with escapes, or `'...'` with `\'`. */
const PART = /[^ \t\r\n\0"']+|"((?:\\[^]|[^"\\])*)"|'((?:\\'|[^'\\]|\\(?!'))*)'/y
/** A blank as C's `isspace` has it: JavaScript's `\s` holds bytes above 127 as well. */
const BLANK = /[ \t\n\v\f\r]/
/** What an unquoted part ends at. */
const END = /[ \t\r\n\0]/
const ESCAPE = /\\(?:x([0-9a-fA-F]{2})|([^]))/g

/**
 * Splits a line into words by Redis' quoting: blanks separate, `"..."` knows `\n \r \t \b \a \xHH` and takes a
 * backslash before anything else away, `'...'` knows `\'` only. A quote may open within a word; where it closes,
 * a blank or the end must follow.
 *
 * @param line Byte string.
 * @returns The words, or undefined where quotes are unbalanced.
 */
export function splitWords(line: string): string[] | undefined {
  const words: string[] = []
  let at = skipBlanks(line, 0)
  while (at < line.length) {
    let word = ''
    let quoted = false
    while (!quoted && at < line.length && !END.test(line[at] as string)) {
      PART.lastIndex = at
      const part = PART.exec(line)
      if (!part) return undefined
      at = PART.lastIndex
      quoted = part[1] !== undefined || part[2] !== undefined
      word +=
        part[1] !== undefined ? unescape(part[1]) : (part[2]?.replaceAll("\\'", "'") ?? part[0])
    }
    if (quoted && at < line.length && !BLANK.test(line[at] as string)) return undefined
    words.push(word)
    // A NUL ends a line, as it ends a C string.
    if (line[at] === '\0') break
    at = skipBlanks(line, at)
  }
  return words
}

/** Writes a word so that {@link splitWords} reads it back: quoted where it must be. */
export function quoteWord(word: string): string {
  if (/^[!#-&(-~]+$/.test(word) && !word.startsWith('#')) return word
  const escaped = word.replace(/[\\"]|[^ -~]/g, (char) => {
    if (char === '\\' || char === '"') return `\\${char}`
    for (const [letter, meant] of ESCAPES) if (meant === char) return `\\${letter}`
    return `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`
  })
  return `"${escaped}"`
}

function unescape(quoted: string): string {
  return quoted.replace(ESCAPE, (_whole, hex: string | undefined, char: string | undefined) =>
    hex === undefined
      ? (ESCAPES.get(char as string) ?? (char as string))
      : String.fromCharCode(parseInt(hex, 16)),
  )
}

function skipBlanks(line: string, from: number): number {
  let at = from
  while (at < line.length && BLANK.test(line[at] as string)) at++
  return at
}
