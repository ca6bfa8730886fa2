import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Puts the package `respcast-client` together in `dist/package`, of what was built: the client library and the hooks for React, without
 * the server and its dependencies. It has the version of the server.
 */
const root = join(import.meta.dirname, '..')
const folder = join(root, 'dist/package')
const manifest = JSON.parse(readFileSync(join(root, 'web/package/package.json'), 'utf8'))
const { version, engines, repository } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
)

rmSync(folder, { recursive: true, force: true })
mkdirSync(join(folder, 'docs'), { recursive: true })
for (const name of ['client', 'react', 'vue', 'svelte', 'testing']) {
  cpSync(join(root, 'dist', name), join(folder, name), { recursive: true })
}
cpSync(join(root, 'web/package/README.md'), join(folder, 'README.md'))
cpSync(join(root, 'docs/client.md'), join(folder, 'docs/client.md'))
cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
const { name, ...rest } = manifest
writeFileSync(
  join(folder, 'package.json'),
  `${JSON.stringify({ name, version, ...rest, repository, engines }, undefined, 2)}\n`,
)
