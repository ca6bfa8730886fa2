import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * A folder of the build, seen from the sources or from dist/; undefined where it was not built.
 *
 * @param name `page`, `client`, `console`.
 */
export function builtFolder(name: string): string | undefined {
  for (const path of [`../../${name}`, `../../dist/${name}`]) {
    const folder = fileURLToPath(new URL(path, import.meta.url))
    if (folder.includes('dist') && existsSync(folder)) return folder
  }
  return undefined
}
