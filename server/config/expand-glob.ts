import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { compileGlob } from '../../shared/glob.ts'

const SPECIAL = /[*?[]/

/**
 * Lists the files that a path with wildcards stands for, sorted, as glob(3) does for `include`: a wildcard does not
 * cross a `/`, and a leading dot has to be written. A path without wildcards stands for itself.
 *
 * @param path Path, absolute or relative to `cwd`; results keep that form.
 */
export function expandGlob(path: string, cwd: string): string[] {
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
