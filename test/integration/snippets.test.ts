import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folderWith } from '../support/folder.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Names of the reader's own program that snippets use, with the types that they must have. */
const SURROUNDINGS = `
  import type { ReactNode } from 'react'
  declare global {
    const connect: typeof import('respcast/client').connect
    const url: string
    const password: string
    const token: () => Promise<string>
    const client: import('respcast/client').RespcastClient
    const root: { render(node: ReactNode): void }
    function show(value: string | Uint8Array): void
    function draw(value: unknown): void
    function reload(what: unknown): void
    const App: import('vue').Component
    const props: { readonly id: string }
    function Lines(props: { lines: readonly string[] }): ReactNode
    interface Channels {
      'room:*': { text: string; by: string }
      ticker: number
    }
  }
`

const CONFIG = {
  compilerOptions: {
    strict: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    skipLibCheck: true,
    target: 'ES2023',
    module: 'ESNext',
    moduleResolution: 'bundler',
    moduleDetection: 'force',
    allowImportingTsExtensions: true,
    jsx: 'react-jsx',
    lib: ['ES2023', 'DOM', 'DOM.Iterable', 'ESNext.Disposable'],
    types: ['node'],
    paths: {
      respcast: [join(ROOT, 'dist/server/embed.d.ts')],
      'respcast/client': [join(ROOT, 'web/client/index.ts')],
      'respcast/react': [join(ROOT, 'web/react/index.ts')],
      'respcast/vue': [join(ROOT, 'web/vue/index.ts')],
      'respcast/testing': [join(ROOT, 'web/testing/index.ts')],
      '/client/client.js': [join(ROOT, 'web/client/index.ts')],
      redis: [join(ROOT, 'node_modules/@redis/client')],
    },
  },
}

/** The program of a fenced block; undefined for other languages. */
function programOf(language: string, text: string): string | undefined {
  if (['js', 'ts', 'jsx', 'tsx'].includes(language)) return text
  if (language !== 'html') return undefined
  return /<script type="module">([^]*?)<\/script>/.exec(text)?.[1]
}

/** The programs of a page, each with the line it begins at. */
function snippetsOf(page: string): { readonly name: string; readonly program: string }[] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  return [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].flatMap((match) => {
    const program = programOf(match[1] ?? '', match[2] ?? '')
    const line = text.slice(0, match.index).split('\n').length
    return program === undefined
      ? []
      : [{ name: `${page.replaceAll('/', '-')}-${line}.tsx`, program }]
  })
}

test('every program in README.md and docs/ compiles under strict', () => {
  const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.md'),
  )
  const snippets = ['README.md', ...pages.map((name) => `docs/${name}`)].flatMap(snippetsOf)
  expect(snippets.length).toBeGreaterThan(10)
  const folder = folderWith({
    'surroundings.d.ts': SURROUNDINGS,
    'tsconfig.json': JSON.stringify(CONFIG),
  })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  for (const { name, program } of snippets) writeFileSync(join(folder, name), program)
  const { stdout } = spawnSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder])
  expect(stdout.toString()).toBe('')
})
