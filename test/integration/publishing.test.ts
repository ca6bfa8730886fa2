import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { requireInCi } from '../interop/endpoint.ts'
import { folderWith } from '../support/folder.ts'
import { ROOT } from '../support/process.ts'

const PYTHON = '/usr/bin/python3'
const WORKFLOW = join(ROOT, '.github/workflows/publish.yml')

const hasYaml = requireInCi(
  spawnSync(PYTHON, ['-c', 'import yaml']).status === 0,
  'a reader of YAML (python3-yaml)',
)

interface Job {
  readonly needs?: string
  readonly permissions?: Readonly<Record<string, string>>
  readonly steps: readonly { readonly run?: string; readonly uses?: string }[]
}

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<'test' | 'publish', Job>>
}

function readWorkflow(): Workflow {
  // YAML 1.1 takes the key `on` for a truth value, which JSON writes as a text.
  const program = 'import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))'
  return JSON.parse(
    execFileSync(PYTHON, ['-c', program, WORKFLOW], { encoding: 'utf8' }),
  ) as Workflow
}

const commandsOf = ({ steps }: Job): string[] => steps.flatMap(({ run }) => run ?? [])

describe.runIf(hasYaml)('the workflow that publishes', () => {
  test('runs all tests first, and only then may sign and write', () => {
    const { permissions, jobs } = readWorkflow()
    expect(commandsOf(jobs.test)).toContain('bash .ci/run')
    expect(jobs.publish.needs).toBe('test')
    expect(permissions).toEqual({ contents: 'read' })
    expect(jobs.test.permissions).toBeUndefined()
    expect(jobs.publish.permissions).toEqual({ contents: 'write', 'id-token': 'write' })
  })

  test('publishes both packages with a statement of provenance, and without a secret', () => {
    const commands = commandsOf(readWorkflow().jobs.publish)
    expect(commands.filter((command) => command.startsWith('npm publish'))).toEqual([
      'npm publish --provenance --access public ./respcast-client-*.tgz',
      'npm publish --provenance --access public ./respcast-[0-9]*.tgz',
    ])
    const text = readFileSync(WORKFLOW, 'utf8')
    expect([...text.matchAll(/secrets\.\w+/g)]).toEqual([])
  })

  test('writes a bill of materials with what the server installs, and nothing that only builds it', () => {
    const commands = commandsOf(readWorkflow().jobs.publish)
    const [line = ''] = commands.filter((command) => command.startsWith('npm sbom'))
    const [command = ''] = line.split(' > ')
    const [program = '', ...args] = command.split(' ')
    const document = JSON.parse(
      execFileSync(program, args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 }),
    ) as { spdxVersion: string; packages: { name: string; versionInfo: string }[] }
    expect(document.spdxVersion).toBe('SPDX-2.3')
    const named = new Map(document.packages.map(({ name, versionInfo }) => [name, versionInfo]))
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      version: string
      dependencies: Record<string, string>
      devDependencies: Record<string, string>
    }
    expect(named.get('respcast')).toBe(manifest.version)
    for (const [name, version] of Object.entries(manifest.dependencies)) {
      expect(named.get(name)).toBe(version)
    }
    expect(['vitest', 'vite', 'typescript'].filter((name) => named.has(name))).toEqual([])
  })
})

describe('a tag', () => {
  /** Checks a tag against a project. @returns The faults found. */
  const faultsOf = (tag: string, files: Readonly<Record<string, string>>): string => {
    const args = [join(ROOT, 'scripts/check-release.mjs'), tag, folderWith(files)]
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    expect(status).toBe(stderr === '' ? 0 : 1)
    return stderr
  }
  const FILES = {
    'package.json': '{"version":"1.2.3"}',
    'package-lock.json': '{"version":"1.2.3"}',
    'CHANGELOG.md': '# Changelog\n\n## 1.2.3 (2026-12-01)\n',
  }

  test('may be published where manifest, lock file and changelog name its version', () => {
    expect(faultsOf('v1.2.3', FILES)).toBe('')
  })

  test.each<[string, string, Partial<typeof FILES>]>([
    ["'1.2.3' is no tag of a version", '1.2.3', {}],
    [
      'package.json has the version 1.2.2, and not 1.2.3',
      'v1.2.3',
      { 'package.json': '{"version":"1.2.2"}' },
    ],
    [
      'package-lock.json has the version 1.2.2',
      'v1.2.3',
      { 'package-lock.json': '{"version":"1.2.2"}' },
    ],
    [
      "CHANGELOG.md has no line '## 1.2.3 (",
      'v1.2.3',
      { 'CHANGELOG.md': '## 1.2.3 (unreleased)\n' },
    ],
    [
      "CHANGELOG.md has no line '## 1.2.3 (",
      'v1.2.3',
      { 'CHANGELOG.md': '## 1.2.30 (2026-12-01)\n' },
    ],
  ])('is refused with "%s"', (fault, tag, changes) => {
    expect(faultsOf(tag, { ...FILES, ...changes })).toContain(fault)
  })
})
