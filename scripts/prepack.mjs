import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Builds everything anew, so that nothing of an older build is packed, and checks both packages. */
const root = join(import.meta.dirname, '..')

function run(program, ...args) {
  // What `npm pack` prints is read by programs: the build writes to the other stream.
  const stdio = ['ignore', process.stderr, 'inherit']
  const { status } = spawnSync(program, args, { cwd: root, stdio })
  if (status !== 0) process.exit(status ?? 1)
}

rmSync(join(root, 'dist'), { recursive: true, force: true })
run('npm', 'run', '--silent', 'build')
mkdirSync(join(root, 'dist/man'))
writeFileSync(
  join(root, 'dist/man/respcast.1'),
  execFileSync(process.execPath, [join(root, 'dist/server/main.js'), 'man']),
)
run(process.execPath, 'scripts/check-package.mjs', '.', 'dist/package')
