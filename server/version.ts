import { readFileSync } from 'node:fs'

/** The version of Redis that HELLO and INFO name: clients gate features on it. */
export const REDIS_VERSION = '8.0.6'

/** This server's own version, from its package manifest. */
export const RESPCAST_VERSION = readVersion()

function readVersion(): string {
  // Relative to the sources and to dist/server the manifest lies at different heights.
  for (const path of ['../package.json', '../../package.json']) {
    try {
      const manifest = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as {
        name?: string
        version?: string
      }
      if (manifest.name === 'respcast' && manifest.version !== undefined) return manifest.version
    } catch {
      // Not here: the next place is tried.
    }
  }
  return '0.0.0'
}
