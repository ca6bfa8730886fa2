import { splitWords } from '../../shared/words.ts'

/**
 * Splits a line as Redis does for inline commands.
 *
 * @param line Bytes without the line end.
 * @returns The arguments, or undefined where quotes are unbalanced.
 */
export function splitInline(line: Buffer): Buffer[] | undefined {
  return splitWords(line.toString('latin1'))?.map((word) => Buffer.from(word, 'latin1'))
}
