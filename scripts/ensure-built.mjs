import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** What the build makes, in its order, and the folders that each is built from. */
const OUTPUTS = [
  { files: ['dist/server/main.js'], script: 'build:server', sources: ['server', 'shared'] },
  {
    files: ['dist/client/client.js', 'dist/client/types/web/client/index.d.ts'],
    script: 'build:client',
    sources: ['web/client', 'shared'],
  },
  // The types of all are in one folder, which the build of the client empties.
  ...['react', 'vue', 'svelte', 'testing'].map((name) => ({
    files: [`dist/${name}/${name}.js`, `dist/client/types/web/${name}/index.d.ts`],
    script: `build:${name}`,
    sources: [`web/${name}`, 'web/store', 'web/client', 'shared'],
  })),
  {
    files: ['dist/page/index.html'],
    script: 'build:page',
    sources: ['web/playground', 'web/style', 'web/client', 'shared'],
  },
  {
    files: ['dist/console/index.html'],
    script: 'build:console',
    sources: ['web/console', 'web/style', 'web/client', 'shared'],
  },
  {
    files: ['dist/package/package.json'],
    script: 'build:package',
    sources: [
      ...['package', 'react', 'vue', 'svelte', 'testing', 'store', 'client'].map(
        (name) => `web/${name}`,
      ),
      'shared',
      'package.json',
      'docs/client.md',
    ],
  },
]

/** The latest change of a file or in a folder, in ms since 1970. */
function newest(path) {
  const stats = statSync(path)
  if (!stats.isDirectory()) return stats.mtimeMs
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))))
}

const root = join(import.meta.dirname, '..')
for (const { files, script, sources } of OUTPUTS) {
  const built = Math.min(
    ...files.map((file) => join(root, file)).map((path) => (existsSync(path) ? newest(path) : 0)),
  )
  if (sources.every((source) => newest(join(root, source)) <= built)) continue
  process.stderr.write(`building (${script}) ...\n`)
  const { status } = spawnSync('npm', ['run', '--silent', script], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (status !== 0) process.exit(status ?? 1)
}
