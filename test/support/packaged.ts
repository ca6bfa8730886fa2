import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from './process.ts'

/** The end of a program that went well. */
interface Output {
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program in a folder. @throws With everything that it wrote, if it fails. */
export async function run(
  cwd: string,
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Output> {
  const options = { cwd, env, timeout: 240_000, maxBuffer: 16 * 1024 * 1024 }
  try {
    return await promisify(execFile)(program, args, options)
  } catch (error) {
    const { stdout, stderr } = error as Output
    throw new Error(`${program} ${args.join(' ')}\n${stdout}\n${stderr}`, { cause: error })
  }
}

/** `name@version` of a development dependency of this project. */
export function pinned(...names: readonly string[]): string[] {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    devDependencies: Record<string, string>
  }
  return names.map((name) => `${name}@${manifest.devDependencies[name] ?? ''}`)
}

/**
 * Packs both packages as they were built into a folder, which becomes an application that has them installed, and nothing of this
 * project beside them. A package that wants another version of Node.js is an error.
 *
 * @param others Packages that the application uses as well.
 */
export async function installPacked(folder: string, others: readonly string[]): Promise<void> {
  const tarballs: string[] = []
  for (const source of [ROOT, join(ROOT, 'dist/package')]) {
    const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder]
    const { stdout } = await run(source, 'npm', args)
    tarballs.push(`./${stdout.trim()}`)
  }
  const manifest = { name: 'application', private: true, type: 'module' }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await run(folder, 'npm', ['install', '--engine-strict', ...quiet, ...tarballs, ...others])
}

/**
 * A page's program: it shares its connection, and shows the last message of the channel `news` as its title.
 *
 * @param tabsWorker Address of the worker, where the bundler does not emit it.
 */
export function pageProgram(library: string, tabsWorker?: string): string {
  return `
    import { connect } from '${library}'
    const client = connect(new URLSearchParams(location.search).get('server'), {
      share: 'tabs',
      tabsWorker: ${JSON.stringify(tabsWorker)},
      codec: 'text',
      token: async () => (await fetch('/token')).text(),
    })
    client.subscribe('news', ({ data }) => { document.title = data })
  `
}
