import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { tokenCommand } from '../../../server/cli/token.ts'
import { systemClock } from '../../../server/clock.ts'
import { mintToken } from '../../../server/token/mint.ts'
import { respcast, runHere, type Outcome } from '../../support/process.ts'
import { ask } from '../../support/ask.ts'
import { opener } from '../../support/opened.ts'
import { folderWith } from '../../support/folder.ts'

const open = opener()

const FILE = 'respcast.conf'
const SECRET = 'a-secret-of-at-least-thirty-two-bytes'

/** Runs `respcast token ...` to its end. */
function token(cwd: string, args: readonly string[]): Promise<Outcome> {
  return runHere(cwd, () => tokenCommand(args))
}

/** A folder with a configuration. */
function configured(): string {
  return folderWith({
    secret: SECRET,
    [FILE]:
      'dir .\njwt-issuer https://issuer.test\njwt-audience test\njwt-secret-file secret\n' +
      'user default on nopass ~* &* +@all\n' +
      'user role:member off resetchannels +subscribe &news:*\n',
  })
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
  test('mint makes a token with the development key by default; verify and explain know it', async () => {
    const dir = folderWith()
    const mintFlags = ['token', 'mint', '--sub', '42', '--role', 'demo']
    const minted = await respcast(open, mintFlags, { cwd: dir }).ended
    expect(minted).toMatchObject({ code: 0, errors: '' })
    expect(statSync(join(dir, '.respcast/dev-key')).mode & 0o777).toBe(0o600)
    const text = minted.output.trim()
    const good = await token(dir, ['verify', text])
    expect([good.code, JSON.parse(good.output)]).toMatchObject([0, { accepted: true }])
    const bad = await token(dir, ['verify', `${text.slice(0, -8)}AAAAAAAA`])
    const refused = { accepted: false, reply: 'WRONGPASS invalid token' }
    expect([bad.code, JSON.parse(bad.output)]).toMatchObject([1, refused])
    const explained = await token(dir, ['explain', text, '--', 'SUBSCRIBE', 'news'])
    expect(explained.code).toBe(0)
    expect(explained.output).toMatch(/^allowed {4}yes\nuser {7}jwt:42\nissuer {5}default\n/)
    expect(explained.output).toMatch(/\nrole {7}demo\nrule {7}allchannels\nsource {5}role\n/)
    const foreign = await token(dir, ['mint', '--sub', '42', '--secret', SECRET])
    expect(foreign).toMatchObject({ code: 2, output: '' })
    expect(foreign.errors).toMatch(/^respcast token mint: unknown flag '--secret'/)
  })

  test('mint signs with the secret of a configured issuer, and prints nothing that the server would refuse', async () => {
    const dir = configured()
    const minted = await token(dir, ['mint', FILE, '--sub', '42', '--role', 'member'])
    expect(minted).toMatchObject({ code: 0, errors: '' })
    const verified = await token(dir, ['verify', minted.output.trim(), FILE])
    expect(JSON.parse(verified.output)).toMatchObject({
      accepted: true,
      user: expect.stringMatching(/^user jwt:42 on /) as string,
    })
    for (const [flags, reason] of [
      [['--ttl', '9999999'], 'the server would refuse this token: valid for longer than'],
      [['--aud', 'else'], "the server would refuse this token: 'aud' names somebody else"],
      [['--iss', 'https://else.test'], "no issuer 'https://else.test' is configured"],
    ] as const) {
      const refused = await token(dir, ['mint', FILE, '--sub', '42', ...flags])
      expect([refused.code, refused.output]).toEqual([1, ''])
      expect(refused.errors).toContain(reason)
    }
  })

  test('mint says that it has no key where the issuer has a private one', async () => {
    const dir = folderWith({
      [FILE]:
        'dir .\njwt-issuer i\njwt-audience a\njwt-jwks-url http://127.0.0.1:1/keys\njwt-algorithms ES256\n',
    })
    const refused = await token(dir, ['mint', FILE, '--sub', '42'])
    expect(refused).toMatchObject({ code: 1, output: '' })
    expect(refused.errors).toContain('no issuer with a secret is configured')
  })

  test('explain answers 1 for no, with what would allow it', async () => {
    const dir = configured()
    const text = await mint('42', { roles: ['member'] })
    const denied = await token(dir, ['explain', text, FILE, '--', 'SUBSCRIBE', 'room:7'])
    expect(denied.code).toBe(1)
    expect(denied.output).toMatch(/^allowed {4}no\n/)
    expect(denied.output).toContain(
      'fix        ACL SETUSER role:member (resetchannels +subscribe +psubscribe +ssubscribe &room:7)\n',
    )
    const other = await token(dir, ['explain', text, FILE, '--jwt-audience', 'else'])
    expect(other).toMatchObject({ code: 1, errors: '' })
    expect(other.output).toContain("rule       'aud' names somebody else\n")
  })

  test('reads a token from standard input, where other users of the machine do not see it', async () => {
    const options = { cwd: configured(), input: `${await mint('42', { subscribe: ['a'] })}\n` }
    const explain = ['token', 'explain', '-', FILE, '--', 'subscribe', 'a']
    expect(await respcast(open, explain, options).ended).toMatchObject({ code: 0 })
    const verified = await respcast(open, ['token', 'verify', '-', FILE], options).ended
    expect(JSON.parse(verified.output)).toMatchObject({ accepted: true })
  })

  test('counts the revocations in dir, and leaves the files of a running server alone', async () => {
    const dir = configured()
    const server = await open.server({
      issuer: false,
      directives: {
        dir,
        'jwt-issuer': 'https://issuer.test',
        'jwt-audience': 'test',
        'jwt-secret-file': 'secret',
      },
    })
    expect(await ask(await open.tcp(server), 'TOKEN', 'REVOKE', 'SUB', '42')).toBe(0)
    const log = statSync(join(dir, 'token.log'))
    const text = await mint('42', {})
    const explained = await token(dir, ['explain', text, FILE])
    expect(explained).toMatchObject({ code: 1 })
    expect(explained.output).toContain('revocation 1 SUB 42\nfix        TOKEN UNREVOKE 1\n')
    const verified = await token(dir, ['verify', text, FILE])
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
    [['mint', '--role', 'demo'], /^respcast token mint: --sub is required\n/],
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
    const outcome = await token(folderWith(), args)
    expect(outcome).toMatchObject({ code: 2, output: '' })
    expect(outcome.errors).toMatch(errors)
  })

  test('--help is no error', async () => {
    const { code, output } = await token(folderWith(), ['explain', '--help'])
    expect(code).toBe(0)
    expect(output).toMatch(/respcast token explain <token> \[file\]/)
  })
})
