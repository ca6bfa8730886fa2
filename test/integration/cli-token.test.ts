import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../server/clock.ts'
import { mintToken } from '../../server/token/mint.ts'
import { connectRaw } from '../support/resp-client.ts'
import { ask } from './support/ask.ts'
import { opener } from './support/opened.ts'

const open = opener()

const MAIN = fileURLToPath(new URL('../../server/main.ts', import.meta.url))
const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
const SECRET = 'a-secret-of-at-least-thirty-two-bytes'

interface Outcome {
  readonly code: number
  readonly output: string
  readonly errors: string
}

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'respcast-cli-'))
  open.onEnd(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** Runs `respcast token ...` to its end, with nothing of this process's environment that configures it. */
function token(cwd: string, args: readonly string[], input = ''): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--import', TSX, MAIN, 'token', ...args],
      { cwd, env: { PATH: process.env['PATH'] } },
      (error, output, errors) => {
        resolve({ code: error === null ? 0 : Number(error.code), output, errors })
      },
    )
    child.stdin?.end(input)
  })
}

function configure(dir: string): string {
  writeFileSync(join(dir, 'secret'), SECRET)
  const file = join(dir, 'respcast.conf')
  writeFileSync(
    file,
    `dir ${dir}\njwt-issuer https://issuer.test\njwt-audience test\njwt-secret-file secret\n` +
      'user default on nopass ~* &* +@all\n' +
      'user role:member off resetchannels +subscribe &news:*\n',
  )
  return file
}

const mint = (sub: string, grants: object, more: object = {}): Promise<string> =>
  mintToken(
    Buffer.from(SECRET),
    {
      iss: 'https://issuer.test',
      aud: 'test',
      sub,
      claim: 'respcast',
      lifetimeSeconds: 600,
      grants,
      ...more,
    },
    systemClock,
  )

describe('respcast token', () => {
  test('mint makes a token with the development key alone, and explain says what it may do', async () => {
    const dir = folder()
    const minted = await token(dir, ['mint', '--sub', '42', '--role', 'demo'])
    expect(minted).toMatchObject({ code: 0, errors: '' })
    expect(statSync(join(dir, '.respcast/dev-key')).mode & 0o777).toBe(0o600)
    const explained = await token(dir, ['explain', minted.output.trim(), '--', 'SUBSCRIBE', 'news'])
    expect(explained.code).toBe(0)
    expect(explained.output).toMatch(/^allowed {4}yes\nuser {7}jwt:42\nissuer {5}default\n/)
    expect(explained.output).toMatch(/\nrole {7}demo\nrule {7}allchannels\nsource {5}role\n/)
    const foreign = await token(dir, ['mint', '--sub', '42', '--secret', SECRET])
    expect(foreign).toMatchObject({ code: 2, output: '' })
    expect(foreign.errors).toMatch(/^respcast token mint: unknown flag '--secret'/)
  })

  test('explain answers 1 for no, with what would allow it', async () => {
    const dir = folder()
    const file = configure(dir)
    const text = await mint('42', { roles: ['member'] })
    const denied = await token(dir, ['explain', text, file, '--', 'SUBSCRIBE', 'room:7'])
    expect(denied.code).toBe(1)
    expect(denied.output).toMatch(/^allowed {4}no\n/)
    expect(denied.output).toContain(
      'fix        ACL SETUSER role:member (resetchannels +subscribe +psubscribe +ssubscribe &room:7)\n',
    )
    const other = await token(dir, ['explain', text, file, '--jwt-audience', 'else'])
    expect(other).toMatchObject({ code: 1, errors: '' })
    expect(other.output).toContain("rule       'aud' names somebody else\n")
  })

  test('reads a token from standard input, where other users of the machine do not see it', async () => {
    const dir = folder()
    const file = configure(dir)
    const text = `${await mint('42', { subscribe: ['a'] })}\n`
    expect(await token(dir, ['explain', '-', file, '--', 'subscribe', 'a'], text)).toMatchObject({
      code: 0,
    })
    const verified = await token(dir, ['verify', '-', file], text)
    expect(JSON.parse(verified.output)).toMatchObject({ accepted: true })
  })

  test('counts the revocations in dir, and leaves the files of a running server alone', async () => {
    const dir = folder()
    const file = configure(dir)
    const server = await open.server({
      issuer: false,
      directives: {
        dir: dir,
        'jwt-issuer': 'https://issuer.test',
        'jwt-audience': 'test',
        'jwt-secret-file': 'secret',
      },
    })
    const admin = await connectRaw(server.port)
    open.onEnd(() => admin.destroy())
    expect(await ask(admin, 'TOKEN', 'REVOKE', 'SUB', '42')).toBe(0)
    const log = statSync(join(dir, 'token.log'))
    const text = await mint('42', {})
    const explained = await token(dir, ['explain', text, file])
    expect(explained).toMatchObject({ code: 1 })
    expect(explained.output).toContain('revocation 1 SUB 42\nfix        TOKEN UNREVOKE 1\n')
    const verified = await token(dir, ['verify', text, file])
    expect(verified.code).toBe(1)
    expect(JSON.parse(verified.output)).toEqual({
      accepted: false,
      reply: 'WRONGPASS token revoked',
      detail: '1 SUB 42',
    })
    const after = statSync(join(dir, 'token.log'))
    expect([after.ino, after.size, after.mtimeMs]).toEqual([log.ino, log.size, log.mtimeMs])
  })

  test.each([
    [['explain'], /^Usage: /],
    [['nosuch'], /^Usage: /],
    [[], /^Usage: /],
    [
      ['explain', 'a.b.c', '--', 'NOSUCH'],
      /^respcast token explain: there is no command 'NOSUCH'\n$/,
    ],
    [
      ['explain', 'a.b.c', '--', 'SUBSCRIBE'],
      /^respcast token explain: subscribe needs a channel\n$/,
    ],
  ])('%j is not understood: exit code 2', async (args, errors) => {
    const outcome = await token(folder(), args)
    expect(outcome).toMatchObject({ code: 2, output: '' })
    expect(outcome.errors).toMatch(errors)
  })

  test('--help is no error', async () => {
    const { code, output } = await token(folder(), ['explain', '--help'])
    expect(code).toBe(0)
    expect(output).toMatch(/respcast token explain <token> \[file\]/)
  })
})
