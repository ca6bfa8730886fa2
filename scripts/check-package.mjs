import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/**
 * Finds what would be missing from a package for those who install it: `node scripts/check-package.mjs FOLDER...` prints a line for
 * each fault, and exits with 1 if there is one.
 *
 * @param folder Folder of a `package.json`, built.
 * @returns A line for each fault: paths of the manifest without a file, exports whose types do not come first, declarations that lead
 *   to files or packages that are not there, source maps without their sources.
 */
function checkPackage(folder) {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const name = manifest.name
  const faults = []
  const isPacked = (path) =>
    !manifest.files || manifest.files.some((part) => path === part || path.startsWith(`${part}/`))

  for (const path of pathsOf(manifest)) {
    const file = path.replace(/^\.\//, '')
    if (!existsSync(join(folder, file))) faults.push(`${name}: ${path} was not built`)
    else if (file !== 'package.json' && !isPacked(file))
      faults.push(`${name}: ${path} is not in files`)
  }
  for (const [entry, conditions] of Object.entries(manifest.exports)) {
    if (typeof conditions === 'string') continue
    if (Object.keys(conditions)[0] !== 'types') faults.push(`${name}: types of ${entry} come first`)
    const seen = new Set()
    followTypes(join(folder, conditions.types), seen, (from, to) =>
      faults.push(`${name}: ${relative(folder, from)} leads to ${to}`),
    )
    const strangers = [...packagesOf(seen)].filter((one) => !isProvided(manifest, one))
    for (const one of strangers) faults.push(`${name}: types of ${entry} need ${one}`)
  }
  for (const map of mapsOf(folder, manifest.files ?? [''])) {
    const { sourcesContent, sources } = JSON.parse(readFileSync(map, 'utf8'))
    if (sourcesContent?.length !== sources.length || sourcesContent.includes(null))
      faults.push(`${name}: ${relative(folder, map)} lacks its sources`)
  }
  return faults
}

/** Every path in the entry points of a manifest. */
function pathsOf({ bin = {}, exports, unpkg, jsdelivr, sideEffects = [] }) {
  const targets = Object.values(exports).flatMap((entry) =>
    typeof entry === 'string' ? [entry] : Object.values(entry),
  )
  const others = [unpkg, jsdelivr].filter((path) => path !== undefined)
  return [
    ...targets,
    ...others,
    ...Object.values(bin),
    ...sideEffects.filter((path) => !path.includes('*')),
  ]
}

/** Modules that a declaration file names. */
function importsOf(file) {
  const text = readFileSync(file, 'utf8').replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '')
  return [
    ...text.matchAll(/(?:\bfrom|\bimport\(|^import|declare module)\s*['"]([^'"]+)['"]/gm),
  ].map((match) => match[1])
}

/** Visits the declaration files that one leads to. */
function followTypes(file, seen, failed) {
  if (seen.has(file) || !existsSync(file)) return
  seen.add(file)
  for (const to of importsOf(file)) {
    if (!to.startsWith('.')) continue
    const target = join(dirname(file), to.replace(/\.[jt]s$/, '.d.ts'))
    if (existsSync(target)) followTypes(target, seen, failed)
    else failed(file, to)
  }
}

function packagesOf(files) {
  const names = [...files].flatMap(importsOf).filter((name) => !name.startsWith('.'))
  return new Set(names.map((name) => /^(@[^/]+\/)?[^/]+/.exec(name)[0]))
}

/** Whoever installs the package has this one too. Types of Node.js come with the application. */
function isProvided({ name, dependencies = {}, peerDependencies = {} }, one) {
  return one === name || one.startsWith('node:') || one in dependencies || one in peerDependencies
}

function mapsOf(folder, files) {
  return files
    .map((file) => join(folder, file))
    .filter((path) => existsSync(path) && statSync(path).isDirectory())
    .flatMap((path) =>
      readdirSync(path, { recursive: true })
        .filter((file) => file.endsWith('.map'))
        .map((file) => join(path, file)),
    )
}

const faults = process.argv.slice(2).flatMap((folder) => checkPackage(folder))
for (const fault of faults) process.stderr.write(`${fault}\n`)
process.exitCode = faults.length > 0 ? 1 : 0
