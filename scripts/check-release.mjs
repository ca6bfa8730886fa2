import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Checks that a tag may be published: `node scripts/check-release.mjs v1.2.3` prints a line for each fault, and exits with 1 if there is
 * one. Manifest, lock file and changelog have to name the version, the changelog with its date.
 */
const [tag = '', root = join(import.meta.dirname, '..')] = process.argv.slice(2)
const read = (name) => readFileSync(join(root, name), 'utf8')
const version = tag.replace(/^v/, '')
const faults = []

if (!/^v\d+\.\d+\.\d+(-[\w.]+)?$/.test(tag)) faults.push(`'${tag}' is no tag of a version`)
for (const name of ['package.json', 'package-lock.json']) {
  const found = JSON.parse(read(name)).version
  if (found !== version) faults.push(`${name} has the version ${found}, and not ${version}`)
}
const dated = read('CHANGELOG.md')
  .split('\n')
  .some((line) => line.startsWith(`## ${version} (`) && /\(\d{4}-\d{2}-\d{2}\)$/.test(line))
if (!dated) faults.push(`CHANGELOG.md has no line '## ${version} (<year>-<month>-<day>)'`)

for (const fault of faults) process.stderr.write(`${fault}\n`)
process.exitCode = faults.length > 0 ? 1 : 0
