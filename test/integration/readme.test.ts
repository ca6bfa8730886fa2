import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { checkConfiguration } from '../../server/cli/check.ts'
import { splitWords } from '../../shared/words.ts'
import { findProgram } from '../support/redis-servers.ts'
import { connectRaw, connectWebSocket } from '../support/resp-client.ts'
import type { RawClient } from '../support/resp-client.ts'
import { startServer } from '../support/server.ts'
import type { TestGateway } from '../support/server.ts'

const ROOT = join(import.meta.dirname, '../..')
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
const SECRET = 'a-secret-of-the-manual-with-more-than-32-bytes'

const canRunPython = findProgram('python3') !== undefined || process.env['CI'] === 'true'

/** The code blocks of the README in one language, in order. */
function blocks(language: string): string[] {
  const found = README.matchAll(/^```(\S+)\n(.*?)^```$/gms)
  return [...found].filter(([, name]) => name === language).map(([, , text = '']) => text)
}

/** The one code block that holds a text. */
function block(language: string, part: string): string {
  const [found, ...more] = blocks(language).filter((text) => text.includes(part))
  if (found === undefined || more.length > 0) throw new Error(`not one block with ${part}`)
  return found
}

/** The words after `redis-cli -p 6380`, line by line. */
function commands(text: string): string[][] {
  const lines = text.split('\n').filter((line) => line.startsWith('redis-cli -p 6380 '))
  return lines.map((line) => splitWords(line)?.slice(3) ?? [])
}

describe('the README', () => {
  let folder: string
  let server: TestGateway | undefined
  let terminal: RawClient | undefined

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'respcast-readme-'))
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'jwt-secret'), `${SECRET}\n`)
    writeFileSync(join(folder, 'users.acl'), '')
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const pem = publicKey.export({ type: 'spki', format: 'pem' })
    writeFileSync(join(folder, 'accounts.pem'), pem)
  })

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  afterEach(async () => {
    terminal?.destroy()
    terminal = undefined
    await server?.stop()
    server = undefined
  })

  /** Starts the server of the README's first configuration, and makes its role. */
  async function startConfigured(): Promise<TestGateway> {
    const lines = block('conf', 'jwt-secret-file').split('\n')
    const jwt = lines.filter((line) => line.startsWith('jwt-')).map((line) => line.split(' '))
    const directives = Object.fromEntries(
      jwt.map(([name = '', value = '']) => [
        name,
        name === 'jwt-secret-file' ? join(folder, value) : value,
      ]),
    )
    server = await startServer({ issuer: false, directives })
    terminal = await connectRaw(server.port)
    for (const words of commands(block('sh', 'role:member'))) terminal.command(...words)
    await terminal.takeExactly('+OK\r\n')
    return server
  }

  async function run(program: string, args: readonly string[]): Promise<string> {
    const options = { cwd: folder, timeout: 20_000 }
    const { stdout } = await promisify(execFile)(program, args, options)
    return stdout.trimEnd()
  }

  async function runModule(name: string, text: string): Promise<string> {
    writeFileSync(join(folder, name), text)
    return run(process.execPath, [name])
  }

  /** Logs in with a token, and uses what the README says that it grants. */
  async function expectMember(token: string): Promise<void> {
    const client = await connectRaw(server?.port ?? 0)
    try {
      client.command('HELLO', '3', 'AUTH', 'jwt', token)
      await client.takeUntil('$7\r\nmodules\r\n*0\r\n')
      client.command('ACL', 'WHOAMI')
      await client.takeExactly('$6\r\njwt:42\r\n')
      client.command('SUBSCRIBE', 'news:sport', 'user:42:inbox')
      await client.takeUntil('$13\r\nuser:42:inbox\r\n:2\r\n')
      client.command('SUBSCRIBE', 'room:7')
      await client.takeExactly('>3\r\n$9\r\nsubscribe\r\n$6\r\nroom:7\r\n:3\r\n')
      client.command('PSUBSCRIBE', 'news:*')
      await client.takeExactly('>3\r\n$10\r\npsubscribe\r\n$6\r\nnews:*\r\n:4\r\n')
      client.command('PUBLISH', 'typing:42', 'x')
      await client.takeExactly(':0\r\n')
      for (const words of [
        ['SUBSCRIBE', 'user:43:inbox'],
        ['PUBLISH', 'news:sport', 'x'],
      ]) {
        client.command(...words)
        expect(await client.takeUntil('\r\n')).toMatch(/^-NOPERM /)
      }
    } finally {
      client.destroy()
    }
  }

  test('has a first session that ends as it says', async () => {
    const role = ['role:demo', 'off', 'allchannels', '+subscribe', '+psubscribe', '+publish']
    server = await startServer({ directives: { user: [role] } })
    terminal = await connectRaw(server.port)
    const token = await server.mint('demo', { roles: ['demo'] })
    const openPage = async (): Promise<RawClient> => {
      const page = await connectWebSocket(server?.wsUrl ?? '', { token })
      page.command('SUBSCRIBE', 'news')
      return page
    }
    const session = README.slice(README.indexOf('## A first session'), README.indexOf('## Config'))
    const [publish, revoke, unheard, restore, kill, again, ...rest] = commands(session)
    expect(rest).toEqual([])

    const page = await openPage()
    await page.takeUntil('$4\r\nnews\r\n:1\r\n')
    terminal.command(...(publish ?? []))
    await terminal.takeExactly(':1\r\n')
    await page.takeExactly('>3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n')

    terminal.command(...(revoke ?? []))
    await terminal.takeExactly('+OK\r\n')
    expect(await page.closed).toMatchObject({
      code: 4403,
      reason: expect.stringMatching(/^permissions-changed\|/) as string,
    })
    const back = await openPage()
    expect(await back.takeUntil('access a channel\r\n')).toContain('-NOPERM ')
    terminal.command(...(unheard ?? []))
    await terminal.takeExactly(':0\r\n')

    terminal.command(...(restore ?? []))
    await terminal.takeExactly('+OK\r\n')
    terminal.command(...(kill ?? []))
    await terminal.takeExactly(':1\r\n')
    await back.closed
    const third = await openPage()
    await third.takeUntil('$4\r\nnews\r\n:1\r\n')
    terminal.command(...(again ?? []))
    await terminal.takeExactly(':1\r\n')
    third.destroy()
  })

  test('has configurations that the server accepts', async () => {
    const configurations = blocks('conf')
    expect(configurations.length).toBe(3)
    for (const text of configurations) {
      const file = join(folder, 'respcast.conf')
      writeFileSync(file, text)
      await expect(checkConfiguration([file, '--dir', folder])).resolves.toBeDefined()
    }
  })

  test('has a token of Node.js that logs in', async () => {
    await startConfigured()
    await expectMember(await runModule('mint.mjs', block('js', 'SignJWT')))
  })

  test.runIf(canRunPython)('has a token of Python that logs in', async () => {
    await startConfigured()
    writeFileSync(join(folder, 'mint.py'), block('python', 'hmac'))
    await expectMember(await run('python3', ['mint.py']))
  })

  test.each([
    ['node-redis', "from 'redis'", "from '@redis/client'"],
    ['ioredis', "from 'ioredis'", "from 'ioredis'"],
  ])('has lines for %s that publish and subscribe', async (name, part, replacement) => {
    server = await startServer({ issuer: false })
    const text = block('js', part).replace(part, replacement)
    const port = String(server.port)
    expect(text).toContain('6380')
    expect(await runModule(`${name}.mjs`, text.replaceAll('6380', port))).toBe('hello')
  })

  test('embeds the server in a Fastify application that publishes', async () => {
    const embed = pathToFileURL(join(ROOT, 'dist/server/embed.js')).href
    const text = block('js', "from 'respcast'")
      .replace("'respcast'", `'${embed}'`)
      .replace("'6380'", "'0'")
      .replace('3000', '0')
    const proof = `
      const answer = await app.inject({ method: 'POST', url: '/news', payload: { headline: 'x' } })
      console.log(answer.body)
      await app.close()`
    expect(await runModule('embed.mjs', text + proof)).toBe('{"receivers":0}')
  })
})
