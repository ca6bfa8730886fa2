import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { encodeCommand, push, type RawClient } from '../../support/resp-client.ts'
import { startServer, type TestGateway } from '../../support/server.ts'
import { DEFAULT_USER, NO_CHANNEL, opener, receiversOf } from '../../support/opened.ts'

const open = opener()

const REVOKED = '-WRONGPASS token revoked\r\n'

const USERS = [
  DEFAULT_USER,
  ['role:member', 'off', 'resetchannels', '+subscribe', '+publish', '&*'],
]

/** Two sessions over each transport: of the subject that is revoked, and of another. */
async function sessions() {
  const server = await open.server({ directives: { user: USERS } })
  const token = await server.mint(
    '42',
    { roles: ['member'], channels: ['*'], group: 'acme' },
    { jti: 'j42' },
  )
  const stranger = await server.mint('7', { channels: ['*'], group: 'other' }, { jti: 'j7' })
  const browser = await open.webSocket(server, { token })
  await browser.takeAccepted('jwt:42')
  const backend = await open.tcp(server, 3)
  await backend.assertReply(['AUTH', 'jwt', token], '+OK\r\n')
  const other = await open.webSocket(server, { token: stranger })
  await other.takeAccepted('jwt:7')
  return { server, token, stranger, browser, backend, other, admin: await open.tcp(server) }
}

async function revoke(admin: RawClient, ...words: string[]): Promise<string> {
  admin.command('TOKEN', 'REVOKE', ...words)
  return admin.takeLine()
}

async function ready(server: TestGateway): Promise<{ status: number; problems: string[] }> {
  const response = await fetch(`http://127.0.0.1:${server.adminPort}/readyz`)
  const { problems } = (await response.json()) as { problems: string[] }
  return { status: response.status, problems }
}

describe('TOKEN REVOKE', () => {
  test('ends the sessions it names, refuses their token, and touches no other', async () => {
    const { server, token, browser, backend, other, admin } = await sessions()
    for (const client of [browser, backend, other]) await client.subscribe('a')
    expect(await revoke(admin, 'SUB', '42', 'MESSAGE', 'bye')).toBe(':2')
    await browser.takeExactly(push(3, 'token', 'revoked', '', 'bye'))
    const { code, reason } = await browser.closed
    expect(code).toBe(4403)
    expect(reason).toMatch(/^revoked\|\d*\|bye$/)
    await backend.closed
    expect(backend.takeAll()).toBe('')
    expect(await receiversOf(open, server, 'a')).toBe(1)
    await other.takeExactly(push(3, 'message', 'a', 'm'))
    await other.assertPong()

    const overTcp = await open.tcp(server)
    await overTcp.assertReply(['AUTH', 'jwt', token], REVOKED)
    await overTcp.assertPong()
    const inBand = await open.webSocket(server)
    await inBand.assertReply(['AUTH', 'jwt', token], REVOKED)
    expect((await inBand.closed).reason).toMatch(/^revoked\|/)
    const atUpgrade = await open.webSocket(server, { token })
    expect(await atUpgrade.closed).toMatchObject({ code: 4403 })
  })

  test('a message published after it in the same write reaches no session it ended', async () => {
    const { browser, backend, admin } = await sessions()
    for (const client of [browser, backend]) await client.subscribe('a')
    admin.send(
      Buffer.concat([
        encodeCommand('TOKEN', 'REVOKE', 'SUB', '42'),
        encodeCommand('PUBLISH', 'a', 'late'),
      ]),
    )
    await admin.takeExactly(':2\r\n:0\r\n')
    for (const client of [browser, backend]) {
      await client.closed
      expect(client.takeAll()).not.toContain('late')
    }
  })
})

describe('TOKEN REVOKE CHANNEL', () => {
  test('ends exact subscriptions, and filters patterns that may reach the channel', async () => {
    const { server, browser, backend, other, admin } = await sessions()
    await browser.subscribe('room:7')
    await other.subscribe('room:8')
    await backend.assertReply(['PSUBSCRIBE', 'room:*'], push(3, 'psubscribe', 'room:*', 1))
    expect(await revoke(admin, 'CHANNEL', 'room:7', 'TTL', '60', 'MESSAGE', 'closed')).toBe(':2')
    await browser.takeExactly(push(3, 'token', 'revoked', 'room:7', 'closed'))
    expect(await browser.closed).toEqual({ code: 4403, reason: 'permissions-changed||closed' })
    await backend.takeExactly(push(3, 'token', 'revoked', 'room:7', 'closed'))
    expect(await receiversOf(open, server, 'room:7')).toBe(0)
    expect(await receiversOf(open, server, 'room:8')).toBe(2)
    await backend.takeExactly(push(3, 'pmessage', 'room:*', 'room:8', 'm'))
    await other.takeExactly(push(3, 'message', 'room:8', 'm'))
    for (const client of [backend, other]) {
      await client.assertReply(['SUBSCRIBE', 'room:7'], NO_CHANNEL)
      await client.assertReply(['PUBLISH', 'room:7', 'm'], NO_CHANNEL)
      await client.assertPong()
    }
  })
})

describe('a revocation', () => {
  test('holds after a restart with the same dir, and the audit log says who did it', async () => {
    const [server, admin] = await open.withTcp()
    const words = ['TOKEN', 'REVOKE', 'GROUP', 'acme', 'REASON', 'left the company']
    await admin.assertReply(words, ':0\r\n')
    const token = await server.mint('42', { group: 'acme' })
    const audit = readFileSync(join(server.dir, 'token-audit.log'), 'utf8')
    expect(JSON.parse(audit)).toMatchObject({
      action: 'revoke',
      by: 'default',
      kind: 'group',
      target: 'acme',
      reason: 'left the company',
      hit: 0,
      durable: true,
    })
    const directives = { 'token-log-file': join(server.dir, 'token.log') }
    await expect(startServer({ directives })).rejects.toMatchObject({ code: 'ERR_DIR_IN_USE' })
    await server.gateway.stop()
    const copy = await open.server({ directives })
    const client = await open.tcp(copy)
    await client.assertReply(['AUTH', 'jwt', token], REVOKED)
    const stranger = await copy.mint('7', { group: 'other' })
    await client.assertReply(['AUTH', 'jwt', stranger], '+OK\r\n')
  })
})

describe('a disk that fails', () => {
  test('answers MISCONF, enforces all the same, is told by /readyz, and heals', async () => {
    const [server, admin] = await open.withTcp()
    expect(await ready(server)).toEqual({ status: 200, problems: [] })
    rmSync(server.dir, { recursive: true })
    const client = await open.session(server, '42', {})
    await admin.assertReply(
      ['TOKEN', 'REVOKE', 'SUB', '42'],
      '-MISCONF revocation is in force but not durable\r\n',
    )
    expect((await client.closed).code).toBe(4403)
    expect(await ready(server)).toEqual({
      status: 503,
      problems: [
        expect.stringMatching(
          /^revocations are in force but not durable: token-log-file cannot be written \(E[A-Z]+\)$/,
        ),
        expect.stringMatching(/^token-audit-file cannot be written \(E[A-Z]+\)$/),
      ],
    })
    mkdirSync(server.dir)
    await admin.assertReply(['TOKEN', 'REVOKE', 'SUB', '43'], ':0\r\n')
    expect((await ready(server)).status).toBe(200)
    expect(readFileSync(join(server.dir, 'token.log'), 'latin1')).toMatch(
      /"target":"42".*\n.*"target":"43"/,
    )
  })

  test('keeps a server with an issuer from starting, and one without from nothing', async () => {
    const directives = { 'token-log-file': '/nonexistent/token.log' }
    await expect(startServer({ directives })).rejects.toMatchObject({ code: 'ERR_DATA_DIR' })
    const [, admin] = await open.withTcp({ directives, issuer: false })
    await admin.assertReply(
      ['TOKEN', 'REVOKE', 'ALL'],
      '-ERR No issuer of tokens is configured\r\n',
    )
    expect(existsSync('/nonexistent')).toBe(false)
  })
})
