/** One thing that happens in a transcript. */
export interface TranscriptStep {
  /** Which connection: `A`, `B`, `C`. */
  readonly peer: string
  /** `send` writes the bytes; `close` ends the connection. */
  readonly action: 'send' | 'close'
  readonly bytes: string
  /** The commands of a step that is written in words; empty for raw bytes. */
  readonly commands: readonly (readonly string[])[]
  /** The line as written. */
  readonly source: string
  /** Redis' answer to this connection, if the transcript has one: bytes, or a form in parentheses. */
  readonly redis: string | undefined
  /** Respcast's answer instead, under the rule of this name. */
  readonly deviation: { readonly rule: string; readonly bytes: string } | undefined
}

/** A named run of steps on fresh connections. */
export interface Transcript {
  readonly title: string
  readonly steps: readonly TranscriptStep[]
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['b', '\b'],
  ['a', '\x07'],
])

/** Reads `\r \n \t \xHH \\` as bytes; every other character is its own byte. */
export function unescapeBytes(text: string): string {
  return text.replace(/\\(?:x([0-9a-f]{2})|(.))/gi, (_all, hex: string | undefined, char: string) =>
    hex === undefined ? (ESCAPES.get(char) ?? char) : String.fromCharCode(Number.parseInt(hex, 16)),
  )
}

/** Shows bytes on one line, so that {@link unescapeBytes} reads them back. */
export function escapeBytes(bytes: string): string {
  return bytes.replace(/[^\x20-\x5b\x5d-\x7e]/g, (char) => {
    if (char === '\r') return '\\r'
    if (char === '\n') return '\\n'
    if (char === '\\') return '\\\\'
    return `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`
  })
}

/** Splits a line into arguments: space-separated, `"..."` reads escapes, `'...'` is literal. */
export function splitWords(line: string): string[] {
  const words: string[] = []
  for (const [raw] of line.matchAll(/(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"']+)+/g)) {
    const word = raw.replace(
      /"((?:[^"\\]|\\.)*)"|'([^']*)'/g,
      (_all, quoted: string | undefined, literal: string | undefined) =>
        quoted === undefined ? (literal ?? '') : unescapeBytes(quoted),
    )
    words.push(word)
  }
  return words
}

/** Writes arguments so that {@link splitWords} reads them back. */
export function joinWords(words: readonly string[]): string {
  return words
    .map((word) =>
      /^[!#-&(-[\]-~]+$/.test(word) ? word : `"${escapeBytes(word).replaceAll('"', '\\"')}"`,
    )
    .join(' ')
}

/** A command as an array of bulk strings; in and out are byte strings. */
export function encodeWords(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`
}

/** Makes a step of commands that go out in one write. */
export function commandStep(
  peer: string,
  commands: readonly (readonly string[])[],
): TranscriptStep {
  return {
    peer,
    action: 'send',
    bytes: commands.map(encodeWords).join(''),
    commands,
    source: `${peer}: ${commands.map(joinWords).join(' && ')}`,
    redis: undefined,
    deviation: undefined,
  }
}

/**
 * Reads a transcript, line by line:
 *
 * - `A: SUBSCRIBE a` sends a command on connection A; ` && ` joins commands that go out in one write.
 * - `A! PING\r\n` sends raw bytes. `A.` closes the connection.
 * - `S: +OK\r\n` is what Redis answers to that connection. Nothing is written as `(nothing)`.
 * - `respcast <rule>: +OK\r\n` is what Respcast answers, where the rule of that name holds.
 */
export function parseTranscript(title: string, text: string): Transcript {
  const steps: TranscriptStep[] = []
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    const [, expected] = /^S: (.*)$/.exec(line) ?? []
    const [, rule, instead] = /^respcast ([a-z0-9-]+): (.*)$/.exec(line) ?? []
    const last = steps.at(-1)
    if (expected !== undefined && last) {
      steps[steps.length - 1] = { ...last, redis: expected }
    } else if (rule !== undefined && instead !== undefined && last) {
      const bytes = instead === '(nothing)' ? '' : unescapeBytes(instead)
      steps[steps.length - 1] = { ...last, deviation: { rule, bytes } }
    } else {
      steps.push(parseStep(line))
    }
  }
  return { title, steps }
}

function parseStep(line: string): TranscriptStep {
  const [, peer, kind, rest = ''] = /^([A-Z])([:!.])(?: (.*))?$/.exec(line) ?? []
  if (peer === undefined) throw new Error(`not a line of a transcript: ${line}`)
  if (kind === ':')
    return { ...commandStep(peer, rest.split(' && ').map(splitWords)), source: line }
  return {
    peer,
    action: kind === '.' ? 'close' : 'send',
    bytes: unescapeBytes(rest),
    commands: [],
    source: line,
    redis: undefined,
    deviation: undefined,
  }
}
