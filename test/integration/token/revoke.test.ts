import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { encodeCommand, type RawClient } from '../../support/resp-client.ts'
import { slowIssuer } from '../../support/key-server.ts'
import {
  assertPong,
  assertReads,
  assertReply,
  DEFAULT_USER,
  NO_CHANNEL,
  opener,
  push,
  receiversOf,
  subscribe,
  takeAccepted,
  takeLine,
} from '../../support/opened.ts'

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
  await takeAccepted(browser, 'jwt:42')
  const backend = await open.tcp(server, 3)
  await assertReply(backend, ['AUTH', 'jwt', token], '+OK\r\n')
  const other = await open.webSocket(server, { token: stranger })
  await takeAccepted(other, 'jwt:7')
  return { server, token, stranger, browser, backend, other, admin: await open.tcp(server) }
}

async function revoke(admin: RawClient, ...words: string[]): Promise<string> {
  admin.command('TOKEN', 'REVOKE', ...words)
  return takeLine(admin)
}

describe('TOKEN REVOKE', () => {
  test.each([[['JTI', 'j42']], [['SUB', '42']], [['GROUP', 'acme']], [['ROLE', 'member']]])(
    '%j ends the sessions it names, refuses their token, and touches no other',
    async (target) => {
      const { server, token, browser, backend, other, admin } = await sessions()
      for (const client of [browser, backend, other]) await subscribe(client, 'a')
      expect(await revoke(admin, ...target, 'MESSAGE', 'bye')).toBe(':2')
      await assertReads(browser, push(3, 'token', 'revoked', '', 'bye'))
      const { code, reason } = await browser.closed
      expect(code).toBe(4403)
      expect(reason).toMatch(/^revoked\|\d*\|bye$/)
      await backend.closed
      expect(backend.takeAll()).toBe('')
      expect(await receiversOf(open, server, 'a')).toBe(1)
      await assertReads(other, push(3, 'message', 'a', 'm'))
      await assertPong(other)

      const overTcp = await open.tcp(server)
      await assertReply(overTcp, ['AUTH', 'jwt', token], REVOKED)
      await assertPong(overTcp)
      const inBand = await open.webSocket(server)
      await assertReply(inBand, ['AUTH', 'jwt', token], REVOKED)
      expect((await inBand.closed).reason).toMatch(/^revoked\|/)
      const atUpgrade = await open.webSocket(server, { token })
      expect(await atUpgrade.closed).toMatchObject({ code: 4403 })
    },
  )

  test('ALL ends every token session and no user', async () => {
    const { browser, backend, other, admin } = await sessions()
    expect(await revoke(admin, 'ALL')).toBe(':3')
    for (const client of [browser, backend, other]) await client.closed
    await assertPong(admin)
  })

  test('a message published behind it in the same write reaches no session it ended', async () => {
    const { browser, backend, admin } = await sessions()
    for (const client of [browser, backend]) await subscribe(client, 'a')
    admin.send(
      Buffer.concat([
        encodeCommand('TOKEN', 'REVOKE', 'SUB', '42'),
        encodeCommand('PUBLISH', 'a', 'late'),
      ]),
    )
    await assertReads(admin, ':2\r\n:0\r\n')
    for (const client of [browser, backend]) {
      await client.closed
      expect(client.takeAll()).not.toContain('late')
    }
  })

  test('a login that is under way does not slip through', async () => {
    const issuer = await slowIssuer(open)
    const clients = [await open.tcp(issuer.server, 3), await open.webSocket(issuer.server)]
    for (const client of clients) {
      client.command('AUTH', 'jwt', issuer.unknown('42', { channels: ['a'] }))
      client.command('ACL', 'WHOAMI')
    }
    await issuer.asked()
    expect(await revoke(await open.tcp(issuer.server), 'SUB', '42')).toBe(':0')
    issuer.answer()
    for (const client of clients) await assertReads(client, REVOKED)
    await assertReads(clients[0] as RawClient, '$7\r\ndefault\r\n')
    expect((await clients[1]?.closed)?.code).toBe(4403)
    expect(issuer.server.core.tokens.size).toBe(0)
  })

  test('holds after a restart', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'respcast-'))
    open.onEnd(() => rmSync(dir, { recursive: true, force: true }))
    const first = await open.server({ directives: { dir } })
    const token = await first.mint('42', { channels: ['a'] })
    expect(await revoke(await open.tcp(first), 'SUB', '42')).toBe(':0')
    await first.stop()
    const second = await open.server({ directives: { dir } })
    await assertReply(await open.tcp(second), ['AUTH', 'jwt', token], REVOKED)
    const stranger = await second.mint('7', { channels: ['a'] })
    await assertReply(await open.tcp(second), ['AUTH', 'jwt', stranger], '+OK\r\n')
  })

  test('DRYRUN changes nothing', async () => {
    const { browser, backend, other, admin } = await sessions()
    expect(await revoke(admin, 'SUB', '42', 'DRYRUN')).toBe('*4')
    for (const client of [browser, backend, other]) await assertPong(client)
  })
})

describe('TOKEN REVOKE CHANNEL', () => {
  test('ends exact subscriptions, and filters patterns that may reach the channel', async () => {
    const { server, browser, backend, other, admin } = await sessions()
    await subscribe(browser, 'room:7')
    await subscribe(other, 'room:8')
    await assertReply(backend, ['PSUBSCRIBE', 'room:*'], push(3, 'psubscribe', 'room:*', 1))
    expect(await revoke(admin, 'CHANNEL', 'room:7', 'TTL', '60', 'MESSAGE', 'closed')).toBe(':2')
    await assertReads(browser, push(3, 'token', 'revoked', 'room:7', 'closed'))
    expect(await browser.closed).toEqual({ code: 4403, reason: 'permissions-changed||closed' })
    await assertReads(backend, push(3, 'token', 'revoked', 'room:7', 'closed'))
    expect(await receiversOf(open, server, 'room:7')).toBe(0)
    expect(await receiversOf(open, server, 'room:8')).toBe(2)
    await assertReads(backend, push(3, 'pmessage', 'room:*', 'room:8', 'm'))
    await assertReads(other, push(3, 'message', 'room:8', 'm'))
    for (const client of [backend, other]) {
      await assertReply(client, ['SUBSCRIBE', 'room:7'], NO_CHANNEL)
      await assertReply(client, ['PUBLISH', 'room:7', 'm'], NO_CHANNEL)
      await assertPong(client)
    }
  })

  test('touches no password user', async () => {
    const { server, admin } = await sessions()
    const user = await open.tcp(server, 3)
    await subscribe(user, 'room:7')
    expect(await revoke(admin, 'CHANNEL', 'room:*', 'TTL', '60')).toBe(':0')
    expect(await receiversOf(open, server, 'room:7')).toBe(1)
    await assertReads(user, push(3, 'message', 'room:7', 'm'))
  })

  test('is lifted by UNREVOKE', async () => {
    const { server, backend, admin } = await sessions()
    await assertReply(backend, ['PSUBSCRIBE', 'room:*'], push(3, 'psubscribe', 'room:*', 1))
    expect(await revoke(admin, 'CHANNEL', 'room:7', 'PERSIST')).toBe(':1')
    await backend.takeUntil('\r\n')
    expect(await receiversOf(open, server, 'room:7')).toBe(0)
    admin.command('TOKEN', 'REVOCATIONS')
    admin.command('ECHO', 'passed')
    const id = /\$2\r\nid\r\n(?::|\$\d+\r\n)(\d+)\r\n/.exec(
      await admin.takeUntil('$6\r\npassed\r\n'),
    )?.[1]
    await assertReply(admin, ['TOKEN', 'UNREVOKE', id ?? ''], '+OK\r\n')
    expect(await receiversOf(open, server, 'room:7')).toBe(1)
  })
})
