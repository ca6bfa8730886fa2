import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { compileGlob } from '../../shared/glob.ts'
import { splitWords } from '../../shared/words.ts'
import { RespcastError } from '../errors.ts'

/**
 * A configuration that cannot be used; `message` is one line: place, statement, error, remedy.
 *
 * `redis.conf:12: port abc: argument couldn't be parsed into an integer. Give a whole number from 0 to 65535.`
 */
export class ConfigError extends RespcastError {
  /** `file:line`, `command line` or the environment variable. */
  readonly where: string
  /** The directive as it was written; empty where none could be read. */
  readonly directive: string
  readonly reason: string
  readonly remedy: string

  constructor(where: string, shown: string, directive: string, reason: string, remedy: string) {
    super(
      'ERR_CONFIG',
      oneLine([where, shown, `${reason}. ${remedy}`].filter((part) => part !== '').join(': ')),
    )
    this.name = 'ConfigError'
    this.where = where
    this.directive = directive
    this.reason = reason
    this.remedy = remedy
  }
}

/** Text of a message in which control characters cannot end the line or reach a terminal: `\x00`. */
function oneLine(text: string): string {
  return text.replace(
    /[\0-\x1f\x7f-\x9f]/g,
    (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )
}

/** Kinds of sources of a value. */
export type SourceKind = 'default' | 'file' | 'environment' | 'command-line' | 'config-set'

/** One directive as written. Texts are byte strings. */
export interface Statement {
  /** As written, in its own case. */
  readonly name: string
  /** The words after the name. */
  readonly words: readonly string[]
  /** The whole statement, for messages. */
  readonly text: string
  readonly kind: SourceKind
  /** Its place, for people: `file:line`, `command line`, the environment variable. */
  readonly where: string
}

/** Files may include each other this deep. */
const MAX_DEPTH = 16

/**
 * Reads a file in redis.conf syntax, each `include` replaced by the statements of its files.
 *
 * As in Redis a path of `include` is relative to `cwd`, not to the file, and a glob may match nothing.
 *
 * @param path Path of the file, relative to `cwd`; `-` is standard input.
 * @throws {ConfigError} A file cannot be read, quotes are unbalanced, or files include each other.
 */
export function readConfigFile(path: string, cwd: string): Statement[] {
  const where = 'command line'
  return readFile(path, cwd, [], (reason) => {
    throw new ConfigError(
      where,
      path,
      '',
      reason,
      'Give the path of a readable configuration file.',
    )
  })
}

/**
 * Splits the text of one file into statements, `include` among them.
 *
 * @param text Byte string.
 * @param name Name of the file, for messages.
 * @throws {ConfigError} Quotes are unbalanced.
 */
export function parseConfig(text: string, name: string): Statement[] {
  const statements: Statement[] = []
  text.split('\n').forEach((raw, index) => {
    const line = raw.replace(/^[ \t\r]+|[ \t\r]+$/g, '')
    if (line === '' || line.startsWith('#')) return
    const where = `${name}:${index + 1}`
    const words = splitWords(line)
    if (!words) {
      // The line may hold a secret: the text before the quote is enough.
      const shown = line.split(/["' \t]/, 1)[0] as string
      throw new ConfigError(
        where,
        `${shown} ...`,
        shown,
        'unbalanced quotes in configuration line',
        'Close each quote; a space or the end of the line must follow it.',
      )
    }
    const [directive, ...rest] = words
    if (directive !== undefined) {
      statements.push({ name: directive, words: rest, text: line, kind: 'file', where })
    }
  })
  return statements
}

function readFile(
  path: string,
  cwd: string,
  open: readonly string[],
  fail: (reason: string) => never,
): Statement[] {
  const absolute = path === '-' ? path : resolve(cwd, path)
  if (open.includes(absolute)) fail('the file includes itself')
  if (open.length >= MAX_DEPTH) fail(`more than ${MAX_DEPTH} files include each other`)
  let text: string
  try {
    text = readFileSync(absolute === '-' ? 0 : absolute, 'latin1')
  } catch (error) {
    fail(`cannot read the file: ${(error as NodeJS.ErrnoException).code ?? String(error)}`)
  }
  const name = path === '-' ? 'standard input' : path
  return parseConfig(text, name).flatMap((statement) =>
    statement.name.toLowerCase() === 'include' && statement.words.length === 1
      ? readIncluded(statement, cwd, [...open, absolute])
      : [statement],
  )
}

function readIncluded(statement: Statement, cwd: string, open: readonly string[]): Statement[] {
  const path = Buffer.from(statement.words[0] as string, 'latin1').toString('utf8')
  return expandGlob(path, cwd).flatMap((match) =>
    readFile(match, cwd, open, (reason) => {
      const remedy = 'Give the path of a readable file, relative to where the server was started.'
      throw new ConfigError(statement.where, statement.text, statement.name, reason, remedy)
    }),
  )
}

const SPECIAL = /[*?[]/

/**
 * Lists the files that a path with wildcards stands for, sorted, as glob(3) does for `include`: a wildcard does not
 * cross a `/`, and a leading dot has to be written. A path without wildcards is returned unchanged.
 *
 * @param path Path, absolute or relative to `cwd`; results keep that form.
 */
function expandGlob(path: string, cwd: string): string[] {
  if (!SPECIAL.test(path)) return [path]
  let found = [path.startsWith('/') ? '/' : '']
  for (const segment of path.split('/').filter((part) => part !== '')) {
    found = SPECIAL.test(segment)
      ? found.flatMap((folder) =>
          namesIn(resolve(cwd, folder), segment).map((name) => join(folder, name)),
        )
      : found.map((folder) => join(folder, segment))
  }
  return found
}

function namesIn(folder: string, segment: string): string[] {
  const glob = compileGlob(toBytes(segment))
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch {
    return []
  }
  return names
    .filter(
      (name) => (segment.startsWith('.') || !name.startsWith('.')) && glob.matches(toBytes(name)),
    )
    .toSorted()
}

function toBytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}
