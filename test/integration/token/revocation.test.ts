import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { TestGateway } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'
import { assertReply, opener, push, subscribe, TRANSPORTS } from '../../support/opened.ts'

const open = opener()

async function ready(server: TestGateway): Promise<{ status: number; problems: string[] }> {
  const response = await fetch(`http://127.0.0.1:${server.adminPort}/readyz`)
  const { problems } = (await response.json()) as { problems: string[] }
  return { status: response.status, problems }
}

describe('A revoked session', () => {
  test.each(TRANSPORTS)('is gone when the administrator reads the reply: %s', async (transport) => {
    const server = await open.server()
    const admin = await open.tcp(server)
    const token = await server.mint('42', { channels: ['news'] })
    const client =
      transport === 'RESP3 over WebSocket'
        ? await open.session(server, '42', { channels: ['news'] })
        : await open.tcp(server, transport === 'RESP2 over TCP' ? 2 : 3)
    client.takeAll()
    const protocol = transport === 'RESP2 over TCP' ? 2 : 3
    if (transport !== 'RESP3 over WebSocket')
      await assertReply(client, ['AUTH', 'jwt', token], '+OK\r\n')
    await subscribe(client, 'news', 1, protocol)
    await assertReply(admin, ['TOKEN', 'REVOKE', 'SUB', '42'], ':1\r\n')
    await assertReply(admin, ['PUBLISH', 'news', 'late'], ':0\r\n')
    const { code, reason } = await client.closed
    if (transport === 'RESP3 over WebSocket') {
      expect(client.takeAll()).toBe(push(3, 'token', 'revoked', '', 'token revoked').toString())
      expect(code).toBe(4403)
      expect(reason).toMatch(/^revoked\|[56]\d{3}\|token revoked$/)
    } else {
      expect(client.takeAll()).toBe('')
    }
  })

  test('cannot return with its token: -WRONGPASS, then 4403', async () => {
    const server = await open.server()
    const admin = await open.tcp(server)
    const token = await server.mint('42', {}, { jti: 't1' })
    await assertReply(admin, ['TOKEN', 'REVOKE', 'JTI', 't1'], ':0\r\n')
    const inBand = await open.webSocket(server)
    await assertReply(inBand, ['AUTH', 'jwt', token], '-WRONGPASS token revoked\r\n')
    expect(await inBand.closed).toEqual({ code: 4403, reason: 'revoked||token revoked' })
    const atUpgrade = await open.webSocket(server, { token })
    expect(await atUpgrade.closed).toEqual({ code: 4403, reason: 'revoked||token revoked' })
    admin.command('ACL', 'LOG')
    const log = await admin.takeUntil('\r\n')
    for (const object of ['AUTH', 'upgrade'])
      expect(log).toContain(`\r\nobject\r\n$${object.length}\r\n${object}\r\n`)
    expect(log).not.toContain(token)
  })

  test('stays revoked after a restart with the same dir, and the audit log says who did it', async () => {
    const server = await open.server()
    const admin = await open.tcp(server)
    const words = ['TOKEN', 'REVOKE', 'GROUP', 'acme', 'REASON', 'left the company']
    await assertReply(admin, words, ':0\r\n')
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
    const copy = await startServer({
      directives: { 'token-log-file': join(server.dir, 'token.log') },
    })
    open.onEnd(() => copy.stop())
    const client = await open.tcp(copy)
    await assertReply(client, ['AUTH', 'jwt', token], '-WRONGPASS token revoked\r\n')
  })
})

describe('A disk that fails', () => {
  test('answers MISCONF, enforces all the same, is told by /readyz, and heals', async () => {
    const server = await open.server()
    const admin = await open.tcp(server)
    expect(await ready(server)).toEqual({ status: 200, problems: [] })
    rmSync(server.dir, { recursive: true })
    const client = await open.session(server, '42', {})
    await assertReply(
      admin,
      ['TOKEN', 'REVOKE', 'SUB', '42'],
      '-MISCONF revocation is in force but not durable\r\n',
    )
    expect((await client.closed).code).toBe(4403)
    expect(await ready(server)).toEqual({
      status: 503,
      problems: ['revocations are in force but not durable: token-log-file cannot be written'],
    })
    mkdirSync(server.dir)
    await assertReply(admin, ['TOKEN', 'REVOKE', 'SUB', '43'], ':0\r\n')
    expect((await ready(server)).status).toBe(200)
    expect(readFileSync(join(server.dir, 'token.log'), 'latin1')).toMatch(
      /"target":"42".*\n.*"target":"43"/,
    )
  })

  test('keeps a server with an issuer from starting, and one without from nothing', async () => {
    const directives = { 'token-log-file': '/nonexistent/token.log' }
    await expect(startServer({ directives })).rejects.toMatchObject({ code: 'ERR_DATA_DIR' })
    const server = await startServer({ directives, issuer: false })
    open.onEnd(() => server.stop())
    const admin = await open.tcp(server)
    await assertReply(
      admin,
      ['TOKEN', 'REVOKE', 'ALL'],
      '-ERR No issuer of tokens is configured\r\n',
    )
    expect(existsSync('/nonexistent')).toBe(false)
  })
})
