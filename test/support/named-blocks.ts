import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './process.ts'

/** A fenced block of a page, whose first line names its language and its file: ` ```python views.py `. */
interface NamedBlock {
  readonly language: string
  readonly file: string
  readonly text: string
}

/** The blocks of a page that name a file, in order. */
export function namedBlocks(page: string): readonly NamedBlock[] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  return [...text.matchAll(/^```(\w+) (\S+)\n([^]*?)^```$/gm)].map(
    ([, language = '', file = '', block = '']) => ({ language, file, text: block }),
  )
}

/** The text of the block of a page that names a file. @throws Error There is none. */
export function namedBlock(page: string, file: string): string {
  const found = namedBlocks(page).find((block) => block.file === file)
  if (found === undefined) throw new Error(`${page} has no block ${file}`)
  return found.text
}
