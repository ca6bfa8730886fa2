import type { CommandArgument } from '../../../shared/resp/command.ts'
import { labelOf } from './reply.ts'

/** A command: its name first. */
export type Command = readonly [name: string, ...args: CommandArgument[]]

/** Splits typed text into the words of a command. Single or double quotes keep spaces together. */
export function splitWords(text: string): string[] {
  const words = text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)
  return Array.from(words, ([, double, single, plain]) => double ?? single ?? plain ?? '')
}

/** Maximum length of a word. Characters. */
const MAX_WORD = 160

/** Maximum number of words. */
const MAX_WORDS = 40

/**
 * A command as typed into redis-cli: words with spaces are quoted, long ones cut, and secrets hidden.
 */
export function commandText(words: readonly CommandArgument[]): string {
  const texts = words.map((word) => (typeof word === 'string' ? word : labelOf(word)))
  const shown = texts.slice(0, MAX_WORDS).map((word, at) => showWord(texts, word, at))
  if (texts.length > MAX_WORDS) shown.push(`... (${texts.length - MAX_WORDS} more)`)
  return shown.join(' ')
}

function showWord(words: readonly string[], word: string, at: number): string {
  const secret = hiddenAs(words, word, at)
  if (secret !== undefined) return secret
  const short = word.length > MAX_WORD ? `${word.slice(0, MAX_WORD)}...` : word
  if (short !== '' && !/[\s"'\\\p{Cc}]/u.test(short)) return short
  const escaped = short
    .replaceAll(/["\\]/g, String.raw`\$&`)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\r', String.raw`\r`)
    .replaceAll('\t', String.raw`\t`)
  return `"${escaped}"`
}

/** Placeholder for a secret word; undefined for any other word. */
function hiddenAs(words: readonly string[], word: string, at: number): string | undefined {
  const command = words[0]?.toUpperCase()
  const subcommand = words[1]?.toUpperCase()
  if (command === 'AUTH') return at === words.length - 1 && at > 0 ? '(password)' : undefined
  const hasRules =
    (command === 'ACL' && subcommand === 'SETUSER' && at > 2) ||
    (command === 'RESPCAST' && subcommand === 'CHECK' && at > 1)
  if (hasRules) return /^[><#!]./.test(word) ? `${word[0]}(password)` : undefined
  if (command === 'TOKEN' && subcommand === 'EXPLAIN' && at === 2) {
    return word.toUpperCase() === 'CLIENT' ? undefined : '(token)'
  }
  if (command === 'CONFIG' && subcommand === 'SET' && at > 2 && at % 2 === 1) {
    return isSecretDirective(words[at - 1] ?? '') ? '(secret)' : undefined
  }
  return undefined
}

/** Reports whether the value of a directive is a secret: a password, pass phrase or key. */
function isSecretDirective(name: string): boolean {
  return /pass$|secret$|^(masterauth|primaryauth|requirepass)$/i.test(name)
}
