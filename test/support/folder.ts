import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/**
 * A fresh folder with files, gone when the test is over.
 *
 * @param files Texts as byte strings, by name.
 * @param onEnd Registers the removal; `afterAll` for a folder of a whole file.
 */
export function folderWith(
  files: Readonly<Record<string, string>> = {},
  onEnd: (remove: () => void) => void = onTestFinished,
): string {
  const folder = mkdtempSync(join(tmpdir(), 'respcast-'))
  onEnd(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(folder, name), text, 'latin1')
  return folder
}
