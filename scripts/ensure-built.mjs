import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** What `npm start` serves, and the folders that each is built from. */
const OUTPUTS = [
  { file: 'dist/server/main.js', script: 'build:server', sources: ['server', 'shared'] },
  { file: 'dist/client/client.js', script: 'build:client', sources: ['web/client', 'shared'] },
  {
    file: 'dist/page/index.html',
    script: 'build:page',
    sources: ['web/playground', 'web/style', 'web/client', 'shared'],
  },
  {
    file: 'dist/console/index.html',
    script: 'build:console',
    sources: ['web/console', 'web/style', 'web/client', 'shared'],
  },
]

/** The latest change in a folder, in ms since 1970. */
function newest(folder) {
  let latest = 0
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    latest = Math.max(latest, entry.isDirectory() ? newest(path) : statSync(path).mtimeMs)
  }
  return latest
}

const root = join(import.meta.dirname, '..')
for (const { file, script, sources } of OUTPUTS) {
  const path = join(root, file)
  const built = existsSync(path) ? statSync(path).mtimeMs : 0
  if (sources.every((source) => newest(join(root, source)) <= built)) continue
  process.stderr.write(`building (${script}) ...\n`)
  const { status } = spawnSync('npm', ['run', '--silent', script], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (status !== 0) process.exit(status ?? 1)
}
