import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { folderWith } from '../support/folder.ts'
import { freePort } from '../support/free-port.ts'
import { assertLogsIn, MINTING_SECRET, startMintingServer } from '../support/minting.ts'
import { namedBlock } from '../support/named-blocks.ts'
import { installPacked, pinned, run } from '../support/packaged.ts'

/** The frameworks of docs/minting.md that the repository itself does not use. */
const FRAMEWORKS = ['express@5.3.0', 'next@16.4.6']

let folder: string

/** Writes a file of the application. */
function write(file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true })
  writeFileSync(join(folder, file), text)
}

beforeAll(async () => {
  folder = folderWith({}, afterAll)
  const own = pinned('react', 'react-dom', 'typescript', '@types/node', '@types/react')
  await installPacked(folder, [...FRAMEWORKS, ...own])
})

/** Asks the application for a token until it listens. @returns That of the user 42; strangers get none. */
async function askFor(port: number, child: ChildProcess): Promise<string> {
  const ask = (headers: Record<string, string>): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}/token`, { method: 'POST', headers })
  await expect
    .poll(
      () =>
        ask({}).then(
          ({ status }) => status,
          () => child.exitCode,
        ),
      { timeout: 30_000, interval: 200 },
    )
    .toBe(401)
  const response = await ask({ user: '42' })
  expect(response.headers.get('cache-control')).toBe('no-store')
  return response.text()
}

/** Starts an application on a port of its own, which ends with the test. */
async function start(...args: string[]): Promise<{ port: number; child: ChildProcess }> {
  const port = await freePort()
  const env = {
    ...process.env,
    NODE_ENV: 'production' as const,
    NEXT_TELEMETRY_DISABLED: '1',
    RESPCAST_JWT_SECRET: MINTING_SECRET,
    PORT: String(port),
  }
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: 'inherit' })
  onTestFinished(() => void child.kill('SIGKILL'))
  return { port, child }
}

describe('docs/minting.md', () => {
  test('has an endpoint of Express', async () => {
    const server = await startMintingServer()
    write(
      'users.mjs',
      'export const userOf = ({ headers }) => headers.user && { id: Number(headers.user) }',
    )
    write('express.mjs', namedBlock('docs/minting.md', 'express.mjs'))
    const { port, child } = await start('express.mjs')
    await assertLogsIn(server, await askFor(port, child))
  })

  test('has a route handler of Next.js', async () => {
    const server = await startMintingServer()
    write(
      'app/users.ts',
      `export async function userOf(request: Request): Promise<{ id: number } | undefined> {
        const id = request.headers.get('user')
        return id === null ? undefined : { id: Number(id) }
      }`,
    )
    write(
      'app/layout.tsx',
      'export default ({ children }: { children: React.ReactNode }) => <html><body>{children}</body></html>',
    )
    write('app/page.tsx', 'export default () => <p>none</p>')
    write('app/token/route.ts', namedBlock('docs/minting.md', 'app/token/route.ts'))
    const next = join(folder, 'node_modules/next/dist/bin/next')
    const { RESPCAST_JWT_SECRET: _none, ...env } = process.env
    await run(folder, process.execPath, [next, 'build'], {
      ...env,
      NODE_ENV: 'production',
      NEXT_TELEMETRY_DISABLED: '1',
    })
    const { port, child } = await start(next, 'start', '-H', '127.0.0.1')
    await assertLogsIn(server, await askFor(port, child))
  })
})
