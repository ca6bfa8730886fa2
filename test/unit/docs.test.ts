import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../server/config/load.ts'
import { ERROR_CODES } from '../../server/errors.ts'
import { CLOSE_CODES } from '../../shared/close-codes.ts'

const ROOT = join(import.meta.dirname, '../..')

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** Codes that a source file names in quotes: types leave nothing else behind. */
function codesOf(path: string): string[] {
  return [...read(path).matchAll(/'(ERR_[A-Z_]+)'/g)].map(([, code = '']) => code)
}

/** The code in the first column of each row of the tables. */
function rowsOf(page: string): string[] {
  return [...page.matchAll(/^\| `(ERR_[A-Z_]+)` \|/gm)].map(([, code = '']) => code)
}

/** The Markdown pages of the repository. */
const DOCS = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`)

const PAGES = [...readdirSync(ROOT).filter((name) => name.endsWith('.md')), ...DOCS]

/** A heading as the fragment of an address. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

function anchorsOf(page: string): string[] {
  return [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))
}

describe('docs/errors.md', () => {
  const page = read('docs/errors.md')

  test('has one row for each code that the server, the reader and the browser client throw, and no other', () => {
    const codes = [
      ...Object.keys(ERROR_CODES),
      ...codesOf('shared/resp/error.ts'),
      ...codesOf('web/client/errors.ts'),
    ]
    expect(rowsOf(page).toSorted()).toEqual([...new Set(codes)].toSorted())
  })

  test('names no code outside of its tables that is not in them', () => {
    const named = [...page.matchAll(/ERR_[A-Z_]+/g)].map(([code]) => code)
    expect([...new Set(named)].toSorted()).toEqual(rowsOf(page).toSorted())
  })
})

test('docs/tokens.md has one row for each close code and name, with what a browser does then', () => {
  const rows = [
    ...read('docs/tokens.md').matchAll(
      /^\| (4\d\d\d) \| `([a-z-]+)` \| [^|]+ \| ([a-z ]+?)(?:,| \|)/gm,
    ),
  ]
  const does = { stop: 'stops', 'new-token': 'gets a new token', reconnect: 'connects' }
  expect(rows.map(([, code, name, action]) => `${code} ${name}: ${action}`)).toEqual(
    CLOSE_CODES.map(
      ({ code, name, action }) =>
        `${code} ${name}: ${name === 'permissions-changed' ? 'connects with the same token' : does[action]}`,
    ),
  )
})

describe.each(PAGES)('%s', (path) => {
  const page = read(path)

  test('links to files and headings that are there', () => {
    const broken: string[] = []
    for (const [, target = ''] of page.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue
      const [file = '', fragment] = target.split('#', 2)
      const to = file === '' ? path : join(dirname(path), file)
      const isThere = existsSync(join(ROOT, to))
      const hasFragment =
        fragment === undefined || (isThere && anchorsOf(read(to)).includes(fragment))
      if (!isThere || !hasFragment) broken.push(target)
    }
    expect(broken).toEqual([])
  })

  test('has configurations of directives that exist, with values that are good', () => {
    const refused: string[] = []
    for (const [, block = ''] of page.matchAll(/^```conf\n(.*?)^```$/gms)) {
      for (const line of block.split('\n')) {
        if (line.trim() === '' || line.startsWith('#')) continue
        const [name = '', ...words] = line.split(' ')
        try {
          loadConfig({ argv: [`--${name}`, ...words], env: {}, cwd: ROOT })
        } catch (error) {
          refused.push(String(error))
        }
      }
    }
    expect(refused).toEqual([])
  })
})

test('README.md leads to every page', () => {
  const [, list = ''] = read('README.md').split('## Documentation\n')
  expect(DOCS.filter((page) => !list.includes(`](${page})`))).toEqual([])
})

describe('docs/versioning.md', () => {
  const page = read('docs/versioning.md')
  const manifest = JSON.parse(read('package.json')) as {
    exports: Record<string, string | object>
    engines: { node: string }
  }

  test('promises something of each export of the package', () => {
    const entries = Object.entries(manifest.exports).flatMap(([path, conditions]) =>
      typeof conditions === 'string' ? [] : [path.replace('.', 'respcast')],
    )
    expect(entries.length).toBeGreaterThan(3)
    expect(entries.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  })

  test('names the versions of Node.js that the package asks for, and that the build tests', () => {
    const least = manifest.engines.node.replace('>=', '')
    const tested = /set -- (\d+) (\d+)/.exec(read('.ci/node-versions')) ?? []
    expect(page).toContain(
      `on ${least} or newer, ${tested[1]} and ${tested[2]}, which the build tests`,
    )
  })
})

test('docs/testing.md names tests that exist', () => {
  const folders = 'unit|property|integration|conformance|interop|browser'
  const named = read('docs/testing.md').matchAll(new RegExp(`\`((?:${folders})/[\\w/-]+)\``, 'g'))
  const missing = [...named]
    .map(([, name = '']) => join(ROOT, 'test', name))
    .filter((path) => !existsSync(`${path}.test.ts`) && !existsSync(path))
  expect(missing).toEqual([])
})

describe('docs/security.md', () => {
  const rows = [...read('docs/security.md').matchAll(/^\| R(\d\d) \|(.*)\|$/gm)]

  test('has a row for each requirement, in order', () => {
    expect(rows.map(([, number]) => Number(number))).toEqual(
      Array.from({ length: 43 }, (_, at) => at + 1),
    )
  })

  test.each(rows.map(([, number = '', cells = '']) => [`R${number}`, cells]))(
    '%s names tests that exist',
    (_row, cells) => {
      const [, , tests = ''] = cells.split('|')
      const cited = [...tests.matchAll(/`([a-z]+\/[\w/-]+)`(?: "([^"]+)")?/g)]
      expect(cited.length).toBeGreaterThan(0)
      const missing = cited.filter(([, name = '', title]) => {
        const path = `test/${name}.test.ts`
        return !existsSync(join(ROOT, path)) || (title !== undefined && !read(path).includes(title))
      })
      expect(missing.map(([whole]) => whole)).toEqual([])
    },
  )
})
