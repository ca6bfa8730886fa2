import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

interface Row {
  readonly name: string
  readonly calls: readonly string[]
  readonly types: readonly string[]
}

/** Reads the table of docs/architecture.md as the linter does. */
async function importTable(): Promise<readonly Row[]> {
  const { importTable: read } = (await import(join(ROOT, 'oxlint.config.mjs'))) as {
    importTable: () => readonly Row[]
  }
  return read()
}

describe('The table of who may import whom', () => {
  test('has a row for each folder and file of the server, and no other', async () => {
    const names = (await importTable()).map(({ name }) => name)
    expect(names.toSorted()).toEqual(readdirSync(join(ROOT, 'server')).toSorted())
  })

  test('names only folders and files that are there', async () => {
    const rows = await importTable()
    const known = new Set(rows.map(({ name }) => name))
    const unknown = rows
      .flatMap(({ calls, types }) => [...calls, ...types])
      .filter((name) => !known.has(name))
    expect(unknown).toEqual([])
  })

  test('lets folders call each other in one direction only', async () => {
    const left = new Map((await importTable()).map(({ name, calls }) => [name, new Set(calls)]))
    for (let isSmaller = true; isSmaller;) {
      const leaves = [...left].filter(([, calls]) => ![...calls].some((name) => left.has(name)))
      for (const [name] of leaves) left.delete(name)
      isSmaller = leaves.length > 0
    }
    expect([...left.keys()]).toEqual([])
  })
})
