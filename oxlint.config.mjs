import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'

/** Folders of the server go no deeper than this below `server/`. */
const DEEPEST = 3

const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'))

const WHO = 'docs/architecture.md: who may import whom'

/**
 * The table "Who may import whom" of docs/architecture.md, which is the only place where it stands.
 *
 * @returns For each folder, or file beside the folders: what it may call, what it may take types of, and which modules of
 *   Node.js and packages it may use.
 */
export function importTable() {
  const page = readFileSync(new URL('docs/architecture.md', import.meta.url), 'utf8')
  const [, section = ''] = page.split('\n## Who may import whom\n')
  const rows = section
    .split('\n## ')[0]
    .split('\n')
    .filter((line) => line.startsWith('| `'))
  if (rows.length === 0) throw new Error(`${WHO}: there is no table`)
  return rows.map((row) => {
    const [name, calls, types, packages] = row
      .slice(1, -1)
      .split('|')
      .map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]))
    if (packages === undefined) throw new Error(`${WHO}: not four columns: ${row}`)
    return { name: name[0], calls, types, packages }
  })
}

const TABLE = importTable()

const escaped = (text) => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')

const anyOf = (names) => names.map(escaped).join('|')

/** A name of the table as imports write it behind the dots: a folder with its slash, or a file. */
const target = (name) => (name.endsWith('.ts') ? name : `${name}/`)

/** What the server could import that is not its own: the modules of Node.js, and the packages in package.json. */
const PACKAGES = [...builtinModules.map((name) => `node:${name}`), ...Object.keys(dependencies)]

/** A name of the table stands for what lies below it too: `node:fs` for `node:fs/promises`, `@fastify` for its packages. */
const isBelow = (name, above) => name === above || name.startsWith(`${above}/`)

const packagesBut = (allowed) => {
  const others = PACKAGES.filter((name) => !allowed.some((one) => isBelow(name, one)))
  return `^(${anyOf(others)}|${anyOf(others.filter((name) => name.startsWith('node:')).map((name) => name.slice(5)))})$`
}

/** The overrides for one row: one for each depth, since an import is written relative to its file. */
function rulesFor({ name, calls, types, packages }) {
  const own = name.endsWith('.ts')
  const depths = own ? [0] : Array.from({ length: DEEPEST }, (_, at) => at + 1)
  return depths.map((depth) => {
    const up = depth === 0 ? './' : '../'.repeat(depth)
    const others = TABLE.map((row) => row.name).filter((other) => other !== name)
    const forbidden = others.filter((other) => !calls.includes(other) && !types.includes(other))
    const typesOnly = types.filter((other) => others.includes(other))
    const pattern = (names) => `^${escaped(up)}(${anyOf(names.map(target))})`
    return {
      files: [own ? `server/${name}` : `server/${name}/${'*/'.repeat(depth - 1)}*.ts`],
      rules: {
        'no-restricted-imports': [
          'error',
          {
            patterns: [
              { regex: pattern(forbidden), message: WHO },
              ...(typesOnly.length === 0
                ? []
                : [
                    {
                      regex: pattern(typesOnly),
                      allowTypeImports: true,
                      message: `types only; ${WHO}`,
                    },
                  ]),
              { regex: `^${escaped('../'.repeat(depth + 1))}(web|test|scripts)/`, message: WHO },
              { regex: packagesBut(packages), message: `no such package here; ${WHO}` },
            ].filter(({ regex }) => regex !== '^()'),
          },
        ],
      },
    }
  })
}

const restricted = (...patterns) => ({ 'no-restricted-imports': ['error', { patterns }] })

const CLOCK = 'time comes from clock.ts, in the client library from environment.ts'
const TIMERS = ['setTimeout', 'setInterval', 'setImmediate']
const CLEARERS = ['clearTimeout', 'clearInterval', 'clearImmediate']

export default {
  plugins: ['typescript', 'unicorn', 'import', 'promise', 'vitest'],
  categories: { correctness: 'error', suspicious: 'error' },
  ignorePatterns: ['dist', 'coverage'],
  rules: {
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/switch-exhaustiveness-check': [
      'error',
      { considerDefaultExhaustiveForUnions: true },
    ],
    'typescript/consistent-type-imports': 'error',
    'typescript/no-explicit-any': 'error',
    'import/no-cycle': 'error',
    'typescript/consistent-return': 'off',
    'typescript/no-unsafe-type-assertion': 'off',
    'unicorn/consistent-function-scoping': 'off',
    'unicorn/no-array-sort': 'off',
    'unicorn/no-array-reverse': 'off',
    'unicorn/no-useless-spread': 'off',
    'promise/always-return': 'off',
    'vitest/no-standalone-expect': 'off',
    'vitest/no-conditional-expect': 'off',
    'vitest/valid-title': 'off',
    'vitest/valid-expect': 'off',
    'no-underscore-dangle': 'off',
    'no-control-regex': 'off',
    'import/no-default-export': 'off',
    'import/no-named-as-default': 'off',
    'import/no-named-as-default-member': 'off',
    'vitest/expect-expect': [
      'error',
      {
        assertFunctionNames: [
          'expect',
          'expect*',
          'fc.assert',
          'assert*',
          'accepted',
          'check',
          'see',
          'play*',
          '**.takeExactly',
          '**.takeUntil',
          '**.waitFor',
          'take*',
          '**.assert*',
          '**.takeAccepted',
        ],
      },
    ],
  },
  overrides: [
    ...TABLE.flatMap(rulesFor),
    {
      files: ['shared/**'],
      rules: restricted(
        { regex: '^[^.]', message: 'shared/ runs in browsers: no package, no Node.js module' },
        { regex: '\\.\\./(server|web|test)/', message: WHO },
      ),
    },
    {
      files: ['web/client/**'],
      rules: restricted(
        { regex: '^[^.]', message: 'the client library has no dependency' },
        { regex: '\\.\\./(server|playground|test)/', message: WHO },
      ),
    },
    {
      files: ['web/playground/**'],
      rules: restricted(
        { regex: '^[^.]', message: 'the page has no dependency' },
        { regex: '\\.\\./(server|shared|test)/', message: 'the page uses the client library' },
      ),
    },
    {
      files: [
        'web/react/**',
        'web/vue/**',
        'web/svelte/**',
        'web/store/**',
        'web/testing/**',
        'web/console/**',
        'web/examples/**',
      ],
      rules: restricted({ regex: '\\.\\./(server|playground|test)/|^node:', message: WHO }),
    },
    {
      files: ['web/*/vite.config.ts'],
      rules: restricted({ regex: '\\.\\./(server|test)/', message: WHO }),
    },
    {
      files: ['server/**', 'shared/**', 'web/client/**'],
      rules: {
        'no-restricted-globals': [
          'error',
          ...[...TIMERS, ...CLEARERS, 'performance'].map((name) => ({ name, message: CLOCK })),
        ],
        'no-restricted-properties': [
          'error',
          { object: 'Date', property: 'now', message: CLOCK },
          { object: 'process', property: 'hrtime', message: CLOCK },
          ...[...TIMERS, 'performance'].map((property) => ({
            object: 'globalThis',
            property,
            message: CLOCK,
          })),
        ],
      },
    },
    {
      files: ['server/clock.ts', 'web/client/browser-environment.ts'],
      rules: { 'no-restricted-globals': 'off', 'no-restricted-properties': 'off' },
    },
  ],
}
