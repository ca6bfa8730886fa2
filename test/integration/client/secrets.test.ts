import { existsSync, readFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  connectWebSocket,
  type RawClient,
  type WebSocketOptions,
} from '../../support/resp-client.ts'
import { TEST_SECRET, type TestGateway } from '../../support/server.ts'
import { eventually, opener } from '../../support/opened.ts'
import { folderWith } from '../../support/folder.ts'
import { runHere } from '../../support/process.ts'
import { checkConfiguration } from '../../../server/cli/check.ts'
import { RespcastError } from '../../../server/errors.ts'

const open = opener()

const PASSWORD = 'canary-password-7f3a'
const WRONG_PASSWORD = 'canary-wrong-91bc'
const NEW_PASSWORD = 'canary-new-55de'

/** Sends a command and lets its reply, of whatever form, pass. */
async function pass(client: RawClient, ...command: string[]): Promise<void> {
  client.command(...command)
  client.command('ECHO', 'passed')
  await client.takeUntil('$6\r\npassed\r\n')
}

/** Everything the server tells of itself. */
async function told(server: TestGateway, admin: RawClient, logFile: string): Promise<string> {
  let text = readFileSync(logFile, 'latin1')
  for (const file of ['token.log', 'token-audit.log']) {
    const path = join(server.dir, file)
    if (existsSync(path)) text += readFileSync(path, 'latin1')
  }
  for (const command of [
    ['ACL', 'LOG', '128'],
    ['ACL', 'LIST'],
    ['SLOWLOG', 'GET', '-1'],
    ['TOKEN', 'REVOCATIONS'],
    ['RESPCAST', 'AUDIT'],
    ['COMMAND', 'DOCS', 'AUTH'],
    ['CONFIG', 'GET', 'jwt-*'],
    ['CONFIG', 'GET', 'issuer'],
    ['CONFIG', 'GET', 'user'],
    ['CONFIG', 'GET', 'upstream*'],
  ]) {
    admin.command(...command)
    admin.command('ECHO', 'passed')
    text += await admin.takeUntil('$6\r\npassed\r\n')
  }
  text += await admin.askBulk('CLIENT', 'LIST')
  text += await admin.askBulk('INFO', 'everything')
  for (const path of ['/livez', '/readyz', '/metrics']) {
    text += await (await fetch(`http://127.0.0.1:${server.adminPort}${path}`)).text()
  }
  return text
}

/** Connects, or is refused. */
async function come(url: string, options: WebSocketOptions = {}): Promise<void> {
  try {
    const client = await connectWebSocket(url, options)
    open.onEnd(() => client.destroy())
  } catch (error) {
    expect(String(error)).toMatch(/40[03]/)
  }
}

describe('secrets', () => {
  test('stand in no log, list or metric, whichever way they came', async () => {
    const logs = await open.server()
    const logFile = join(logs.dir, 'log')
    const [server, admin] = await open.withTcp({
      logFile,
      directives: {
        requirepass: PASSWORD,
        'slowlog-log-slower-than': '0',
        'slowlog-max-len': '10000',
        'ws-token-query': 'yes',
        'ws-token-cookie': 'session',
        'ws-allowed-origins': 'https://app.example',
      },
    })
    await admin.assertReply(['AUTH', PASSWORD], '+OK\r\n')
    const monitor = await open.tcp(server)
    await monitor.assertReply(['AUTH', PASSWORD], '+OK\r\n')
    await monitor.assertReply(['MONITOR'], '+OK\r\n')
    const good = await server.mint('42', { channels: ['a'] })
    const bad = `${good.slice(0, -10)}canaryMAC0`
    const expired = await server.mint('42', {}, { lifetimeSeconds: -10 })
    const tokens = [good, bad, expired]

    for (const secret of [PASSWORD, WRONG_PASSWORD, ...tokens]) {
      const client = await open.tcp(server)
      for (const command of [
        ['AUTH', secret],
        ['AUTH', 'default', secret],
        ['AUTH', 'nobody', secret],
        ['AUTH', 'jwt', secret],
        ['AUTH', 'jwt', secret, 'too', 'many'],
        ['AUHT', 'jwt', secret],
        ['HELLO', '3', 'AUTH', 'jwt', secret],
        ['HELLO', '3', 'AUTH', 'default', secret],
        ['HELLO', '3', 'AUTH', secret],
        ['HELLO', 'AUTH', 'jwt', secret],
        ['HELLO', 'AUTH', secret],
        ['HELLO', 'jwt', secret],
        ['HELLO', secret],
        ['HELLO', '3', secret],
        ['HELLO', '3', 'jwt', secret],
        ['HELLO', '3', 'AUHT', 'jwt', secret],
        ['HELLO', '3', 'SETNAME', 'n', secret],
        ['HELLO', '3', 'SETNAME', 'n', 'AUTH', secret],
        ['HELLO', '3', 'AUTH', 'setname', secret],
        ['HELLO', '3', 'AUTH', 'default', 'x', secret],
        ['HELLO', '3', 'AUTH', 'default', 'x', 'AUTH', 'jwt', secret],
        ['HELLO', 'three', 'AUTH', 'jwt', secret],
      ]) {
        client.command(...command)
        client.command('HELLO', '9')
        await client.takeUntil('-NOPROTO unsupported protocol version\r\n')
      }
      client.send(`AUTH default "${secret}\r\n`)
      await client.closed
    }
    for (const token of tokens) {
      const ways = [
        { token },
        { headers: { authorization: `Bearer ${token}` } },
        { origin: 'https://app.example', headers: { cookie: `session=${token}` } },
        { origin: 'https://evil.test', headers: { cookie: `session=${token}` } },
      ]
      for (const way of ways) await come(server.wsUrl, way)
      await come(`${server.wsUrl}?token=${token}`)
      await fetch(`${server.url}/ws?token=${token}`)
      await fetch(`${server.url}/nowhere?token=${token}`)
    }
    for (const command of [
      ['ACL', 'SETUSER', 'x', `>${NEW_PASSWORD}`],
      ['ACL', 'SETUSER', 'x', `>${NEW_PASSWORD}`, 'bad-rule'],
      ['ACL', 'SETUSER', 'x', `<${NEW_PASSWORD}-absent`],
      ['ACL', 'SETUSER', 'jwt:1', `>${NEW_PASSWORD}`],
      ['CONFIG', 'SET', 'requirepass', NEW_PASSWORD],
      ['CONFIG', 'SET', 'tls-key-file-pass', NEW_PASSWORD],
      ['CONFIG', 'SET', 'jwt-secret', `${NEW_PASSWORD}-of-more-than-32-bytes`],
      ['CONFIG', 'SET', 'requirepas', NEW_PASSWORD],
      ['CONFIG', 'SET', 'password', NEW_PASSWORD],
      ['CONFIG', 'SET', 'requirepass', NEW_PASSWORD, 'too-many'],
      ['CONFIG', 'SET', 'maxclients', 'requirepass', NEW_PASSWORD],
      ['CONFIG', 'SET', 'maxclients', 'many', 'masterauth', NEW_PASSWORD],
      ['CONFIG', 'SET', 'issuer', `other secret ${NEW_PASSWORD}-of-more-than-32-bytes`],
      ['CONFIG', 'SET', 'jwt-jwks-url', `https://me:${NEW_PASSWORD}@keys.example`],
      ['CONFIG', 'SET', 'upstream', `redis://:${NEW_PASSWORD}@127.0.0.1`],
      ['CONFIG', 'SET', 'upstream-password', NEW_PASSWORD],
      ['CONFIG', 'SET', 'maxclients', '1', 'upstream', `redis://:${NEW_PASSWORD}@127.0.0.1`],
      ['CONFIG', 'SET', 'jwt-jwks-url', `//me:${NEW_PASSWORD}@keys example`],
      ['ACL', 'SETUSER', 'x', NEW_PASSWORD],
      ['ACL', 'SETUSER', 'x', `#${NEW_PASSWORD}`],
      ['ACL', 'SETUSER', 'x', `(>${NEW_PASSWORD}`],
      ['AUTH', 'jwt', bad],
      ['TOKEN', 'EXPLAIN', 'jwt', good],
      ['TOKEN', 'EXPLAIN', good],
      ['TOKEN', 'EXPLAIN', bad, 'SUBSCRIBE', 'a'],
      ['TOKEN', 'REVOKE', 'SUB', 'nobody', 'REASON', 'a test'],
    ]) {
      await pass(admin, ...command)
    }
    admin.command('MULTI')
    admin.command('AUTH', 'default', WRONG_PASSWORD)
    admin.command('AUTH', 'jwt', good)
    await pass(admin, 'EXEC')
    const live = await open.webSocket(server, { token: good })
    await live.takeAccepted('jwt:42')

    const seen = await monitor.takeUntil('"ECHO" "passed"\r\n')
    expect(seen).toContain('"EXEC"')
    const text = (await told(server, admin, logFile)) + seen
    expect(text).toContain('token refused')
    expect(text).toContain('jwt-sub=42')
    for (const token of tokens) {
      const [, body = '', mac = ''] = token.split('.')
      expect(text.includes(body), 'the payload of a token').toBe(false)
      expect(text.includes(mac), 'the signature of a token').toBe(false)
    }
    for (const secret of [PASSWORD, WRONG_PASSWORD, NEW_PASSWORD, TEST_SECRET.toString()]) {
      expect(text.includes(secret), secret).toBe(false)
    }
    expect(text).toContain('(redacted)')
  })
})

describe('The password of the upstream', () => {
  const CANARY = 'canary-upstream-2b6c'

  test.each([
    // Servers older than RESP3 repeat what they were sent.
    `-ERR unknown command \`HELLO\`, with args beginning with: \`3\`, \`AUTH\`, \`gateways\`, \`${CANARY}\`, \r\n`,
    `-ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'gateways' '${CANARY}' \r\n`,
    '-WRONGPASS invalid username-password pair or user is disabled.\r\n',
    '-ERR no\r\n',
    // An echo is no reply.
    undefined,
  ])('stands in no log, list or metric where the upstream answers %j', async (reply) => {
    let received = ''
    const upstream = createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', (chunk) => {
        received += chunk.toString('latin1')
        socket.write(reply ?? chunk)
      })
    })
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
    open.onEnd(() => void upstream.close())
    const { port } = upstream.address() as AddressInfo
    const folder = folderWith({ password: `${CANARY}\n` })
    const logFile = join(folder, 'log')
    const [server, admin] = await open.withTcp({
      logFile,
      directives: {
        upstream: `redis://127.0.0.1:${port}`,
        'upstream-user': 'gateways',
        'upstream-password-file': join(folder, 'password'),
      },
    })
    const isRefused = (): boolean =>
      received.includes(CANARY) && readFileSync(logFile, 'latin1').includes(`127.0.0.1:${port}`)
    await eventually('the upstream was asked, and what it answered is in the log', isRefused)
    const text = await told(server, admin, logFile)
    expect(text).toContain('upstream_ready:0')
    expect(text).toContain('"status":"not ready"')
    expect(text.includes(CANARY)).toBe(false)
  })
})

describe('A start that fails', () => {
  const CANARY = 'canary-start-3e1d'

  test.each([
    `require-password ${CANARY}`,
    `password ${CANARY}`,
    `requirepass ${CANARY} two`,
    `requirepass "${CANARY}`,
    `masterauth ${CANARY} two`,
    `user alice on ${CANARY}`,
    `user alice on #${CANARY}`,
    `user alice on <${CANARY}`,
    `user alice on (>${CANARY}`,
    `user alice on (~* ${CANARY})`,
    `user alice >${CANARY}\nuser alice >${CANARY}`,
    `jwt-secret ${CANARY}`,
    `jwt-secret ${CANARY} two`,
    `jwt-secrets ${CANARY}`,
    `issuer other secret ${CANARY}`,
    `issuer other secret ${CANARY} two`,
    `issuer other secrets ${CANARY}`,
    `issuer OTHER secret ${CANARY}`,
    `tls-key-file-pass ${CANARY} two`,
    `upstream redis://:${CANARY}@127.0.0.1`,
    `upstream redis://${CANARY}@127.0.0.1`,
    `upstream redis://127.0.0.1 ${CANARY}`,
    `upstream ${CANARY}`,
    `upstreams redis://:${CANARY}@127.0.0.1`,
    `upstream-password ${CANARY}`,
    `upstream redis://127.0.0.1\nupstream-password ${CANARY} two`,
    `upstream redis://127.0.0.1\nupstream-password ${CANARY}\nupstream-password-file p`,
    `jwt-issuer i\njwt-audience a\njwt-algorithms RS256\njwt-jwks-url https://me:${CANARY}@keys.example`,
    `jwt-issuer i\njwt-audience a\njwt-algorithms RS256\njwt-jwks-url //me:${CANARY}@keys`,
  ])('does not repeat the secret of %j', async (text) => {
    const cwd = folderWith({ 'respcast.conf': `${text}\n` })
    const failure = await runHere(cwd, async () => {
      await checkConfiguration(['respcast.conf'])
      return 0
    }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(RespcastError)
    expect(String(failure)).not.toContain(CANARY)
  })

  test.each([
    `user alice on ${CANARY}`,
    `user alice on #${CANARY}`,
    `user alice on (>${CANARY}`,
    CANARY,
  ])('does not repeat the secret of %j in an ACL file', async (line) => {
    const cwd = folderWith({ 'users.acl': `${line}\n` })
    const failure = await runHere(cwd, async () => {
      await checkConfiguration(['--aclfile', 'users.acl'])
      return 0
    }).catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'ERR_ACL_FILE' })
    expect(String(failure)).not.toContain(CANARY)
  })
})

describe('a login that fails', () => {
  const WRONG = '-WRONGPASS invalid username-password pair or user is disabled.\r\n'

  test('reads the same for an unknown user, a disabled one and a bad password', async () => {
    const [server, admin] = await open.withTcp({ directives: { 'auth-failure-delay': '0' } })
    await admin.assertReply(['ACL', 'SETUSER', 'known', 'on', '>good'], '+OK\r\n')
    await admin.assertReply(['ACL', 'SETUSER', 'disabled', 'off', '>good'], '+OK\r\n')
    await admin.assertReply(['ACL', 'SETUSER', 'without', 'on'], '+OK\r\n')
    const tcp = await open.tcp(server)
    const attempts = [
      ['unknown', 'good'],
      ['disabled', 'good'],
      ['without', 'good'],
      ['known', 'bad'],
      ['known', ''],
      ['\xff\0', 'good'],
    ]
    for (const [user = '', password = ''] of attempts) {
      await tcp.assertReply(['AUTH', user, password], WRONG)
      await tcp.assertReply(['HELLO', '3', 'AUTH', user, password], WRONG)
    }
    for (const [user = '', password = ''] of attempts) {
      const failing = await open.adminSocket(server)
      await failing.assertReply(['AUTH', user, password], WRONG)
    }
    const webSocket = await open.adminSocket(server)
    webSocket.command('HELLO', '3', 'AUTH', 'known', 'good')
    expect(await webSocket.takeLine()).toBe('%7')
  })

  test('is logged with the user and without the password', async () => {
    const [, client] = await open.withTcp()
    await client.assertReply(['AUTH', 'eve', 'hunter2'], WRONG)
    client.command('ACL', 'LOG')
    client.command('ECHO', 'passed')
    const entry = await client.takeUntil('$6\r\npassed\r\n')
    expect(entry).toContain('$8\r\nusername\r\n$3\r\neve\r\n')
    expect(entry).not.toContain('hunter2')
  })
})
