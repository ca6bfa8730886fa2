import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** The latest change in a folder, in ms since 1970. */
function newest(folder: string): number {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
  return Math.max(...files.map((file) => statSync(join(ROOT, folder, file)).mtimeMs))
}

/** Builds the server before the first test, if its sources are newer than what was built. */
export default function setup(): void {
  const main = join(ROOT, 'dist/server/main.js')
  const built = existsSync(main) ? statSync(main).mtimeMs : 0
  if (Math.max(newest('server'), newest('shared')) <= built) return
  execFileSync('npm', ['run', '--silent', 'build:server'], { cwd: ROOT, stdio: 'inherit' })
}
