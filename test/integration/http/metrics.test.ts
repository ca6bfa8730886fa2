import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { request as httpRequest } from 'node:http'
import { describe, expect, test } from 'vitest'
import { folderWith } from '../../support/folder.ts'
import type { TestGateway } from '../../support/server.ts'
import { push } from '../../support/resp-client.ts'
import { eventually, opener } from '../../support/opened.ts'

const open = opener()

async function scrape(server: TestGateway): Promise<string[]> {
  const response = await fetch(`http://127.0.0.1:${server.adminPort}/metrics`)
  expect(response.status).toBe(200)
  return (await response.text()).split('\n')
}

/** Status of a GET with a Host header of one's own, which fetch does not allow. */
function statusFor(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    httpRequest({ host: '127.0.0.1', port, path: '/metrics', headers: { host } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })
}

describe('/metrics', () => {
  test('is answered on the admin listener, in the text format and not to be cached', async () => {
    const server = await open.server()
    const response = await fetch(`http://127.0.0.1:${server.adminPort}/metrics`)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(response.headers.get('cache-control')).toBe('no-store')
    const text = await response.text()
    expect(text).toContain('# TYPE respcast_connected_clients gauge\n')
    expect(text).toMatch(/^process_resident_memory_bytes \d+/m)
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds \d/m)
  })

  test.each([
    '/metrics',
    '/metrics/',
    '//metrics',
    '/ws/metrics',
    '/%6detrics',
    '/client/../metrics',
  ])('is not on the public listener: %s is 404', async (path) => {
    const server = await open.server()
    const response = await fetch(`${server.url}${path}`)
    expect(response.status).toBe(404)
    expect(await response.text()).not.toContain('respcast_')
  })

  test('is refused under a Host that is not the listener’s own, and answered under one of admin-hosts', async () => {
    const server = await open.server({ directives: { 'admin-hosts': 'metrics.internal' } })
    expect(await statusFor(server.adminPort, 'evil.example')).toBe(403)
    expect(await statusFor(server.adminPort, 'metrics.internal:8081')).toBe(200)
  })

  test('wants the token that is set, the new one after CONFIG SET', async () => {
    const [first, second] = ['first-token-0123456789', 'second-token-0123456789']
    const folder = folderWith({ first, second })
    const server = await open.server({
      directives: { 'metrics-token-file': join(folder, 'first') },
    })
    const ask = async (authorization?: string) => {
      const headers = authorization === undefined ? {} : { authorization }
      return fetch(`http://127.0.0.1:${server.adminPort}/metrics`, { headers })
    }
    const refused = await ask()
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      'Bearer, Basic realm="metrics"',
    ])
    expect(await refused.text()).not.toContain('respcast_')
    expect((await ask(`Bearer ${first}`)).status).toBe(200)
    const set = (path: string) => server.core.config.set([['metrics-token-file', path]])
    expect(set(join(folder, 'nowhere'))).toMatch(/cannot be read \(ENOENT\)/)
    expect((await ask(`Bearer ${first}`)).status).toBe(200)
    expect(set(join(folder, 'second'))).toBeUndefined()
    expect((await ask(`Bearer ${first}`)).status).toBe(401)
    expect((await ask(`Bearer ${second}`)).status).toBe(200)
  })

  test('is no WebSocket: an upgrade there is 404', async () => {
    const server = await open.server()
    const { status } = await open.upgrade(server.adminPort, { path: '/metrics' })
    expect(status).toBe(404)
  })
})

describe('what a session does', () => {
  test('shows in the figures of clients, messages, commands and logins', async () => {
    const [server, subscriber] = await open.withSession({ subscribe: ['news'] })
    const publisher = await open.tcp(server)
    await subscriber.subscribe('news')
    await publisher.assertReply(['PUBLISH', 'news', 'hello'], ':1\r\n')
    await subscriber.takeExactly(push(3, 'message', 'news', 'hello'))
    const lines = await scrape(server)
    for (const line of [
      'respcast_connected_clients{transport="websocket",listener="public"} 1',
      'respcast_connected_clients{transport="tcp",listener="resp"} 1',
      'respcast_connections_received_total 2',
      'respcast_pubsub_clients 1',
      'respcast_channels 1',
      'respcast_subscriptions{space="channel"} 1',
      'respcast_messages_published_total 1',
      'respcast_messages_delivered_total 1',
      'respcast_token_logins_total{result="accepted"} 1',
      'respcast_token_sessions 1',
      'respcast_clients_not_logged_in 0',
      'respcast_durable_log_problem{log="revocations"} 0',
      'respcast_durable_log_problem{log="audit"} 0',
    ]) {
      expect(lines).toContain(line)
    }
  })

  test('that is closed shows under its cause, and its bytes stay counted', async () => {
    const [server, client] = await open.withTcp()
    await client.assertReply(['PING'], '+PONG\r\n')
    client.destroy()
    await eventually('the client is gone', () => server.core.clients.size === 0)
    const lines = await scrape(server)
    expect(lines).toContain('respcast_clients_closed_total{cause="peer-closed"} 1')
    expect(lines).toContain('respcast_sent_bytes_total 7')
    expect(lines).toContain('respcast_received_bytes_total 14')
    expect(lines).toContain('respcast_commands_processed_total 1')
  })

  test('with a bad token shows as a refused login and a close', async () => {
    const server = await open.server()
    const client = await open.webSocket(server)
    client.command('AUTH', `${(await server.mint('42')).slice(0, -4)}AAAA`)
    await eventually('the client is gone', () => server.core.clients.size === 0)
    const lines = await scrape(server)
    expect(lines).toContain('respcast_token_logins_total{result="refused"} 1')
    expect(lines).toContain('respcast_clients_closed_total{cause="unauthorized"} 1')
    expect(lines).toContain('respcast_acl_denials_total{reason="auth"} 1')
    expect(lines).toContain('respcast_error_replies_total{code="WRONGPASS"} 1')
  })

  test('shows as rejected where there is no room', async () => {
    const server = await open.server({ directives: { maxclients: '1' } })
    await open.tcp(server)
    const refused = await open.tcp(server)
    await refused.takeExactly('-ERR max number of clients reached\r\n')
    const lines = await scrape(server)
    expect(lines).toContain('respcast_max_clients 1')
    expect(lines).toContain('respcast_connections_rejected_total{reason="maxclients"} 1')
  })

  test('from a page that may not connect shows as a refused origin', async () => {
    const server = await open.server()
    const headers = { origin: 'https://evil.example' }
    const { status } = await open.upgrade(server.httpPort, { headers })
    expect(status).toBe(403)
    expect(await scrape(server)).toContain('respcast_origins_refused_total 1')
  })
})

test('a revocation is counted while it is in force', async () => {
  const [server, admin] = await open.withTcp()
  admin.command('TOKEN', 'REVOKE', 'SUB', '42')
  await admin.takeLine()
  expect(await scrape(server)).toContain('respcast_revocations 1')
})

test('a message over ws-max-message-out is not delivered to WebSockets, counted for each of them, and logged once', async () => {
  const logFile = join((await open.server()).dir, 'log')
  const [server, onTcp] = await open.withTcp(
    { directives: { 'ws-max-message-out': '1024' }, logFile },
    3,
  )
  const browsers = [
    await open.session(server, '1', { subscribe: ['news'] }),
    await open.session(server, '2', { subscribe: ['news'] }),
  ]
  for (const client of [onTcp, ...browsers]) {
    await client.subscribe('news')
  }
  const publisher = await open.tcp(server)
  const large = Buffer.alloc(1025, 'x')
  for (let i = 0; i < 2; i++) {
    publisher.command('PUBLISH', 'news', large)
    await publisher.takeExactly(':1\r\n')
    await onTcp.takeExactly(push(3, 'message', 'news', large))
  }
  await publisher.assertReply(['PUBLISH', 'news', 'small'], ':3\r\n')
  for (const browser of browsers) await browser.takeExactly(push(3, 'message', 'news', 'small'))
  expect(await scrape(server)).toContain('respcast_messages_too_large_total 4')
  const isLogged = (): number =>
    existsSync(logFile)
      ? readFileSync(logFile, 'utf8').split('larger than ws-max-message-out').length - 1
      : 0
  await eventually('the log is written', () => isLogged() > 0)
  expect(isLogged()).toBe(1)
})
