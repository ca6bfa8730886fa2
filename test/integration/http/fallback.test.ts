import { describe, expect, test } from 'vitest'
import { RespcastClient } from '../../../web/client/client.ts'
import type { OpenSocket } from '../../../web/client/environment.ts'
import { fallBack } from '../../../web/client/fallback/fallback.ts'
import { settingsOf, type ConnectOptions } from '../../../web/client/options.ts'
import { ENVIRONMENT } from '../../support/browser-client.ts'
import { eventually, opener } from '../../support/opened.ts'
import type { TestGateway } from '../../support/server.ts'

const open = opener()

/** A client in a network that lets no WebSocket through, and how many it has tried. */
function clientOf(
  server: TestGateway,
  options: ConnectOptions,
): { client: RespcastClient<Record<string, string>>; tried: () => number } {
  let tried = 0
  const broken: OpenSocket = (_url, _protocols, listener) => {
    tried++
    setTimeout(() => listener.closed(1006, ''), 5)
    return { send: () => {}, close: () => {} }
  }
  const settings = settingsOf({
    transports: ['websocket', 'sse'],
    codec: 'text',
    reconnect: { baseMs: 10, maxMs: 20 },
    ...options,
  })
  const client = new RespcastClient<Record<string, string>>(server.wsUrl, settings, {
    ...ENVIRONMENT,
    openSocket: broken,
    fallBack: async (url, environment) => fallBack(url, environment),
  })
  open.onEnd(() => client.close())
  return { client, tried: () => tried }
}

function transports(server: TestGateway): string[] {
  return [...server.core.clients.all()].map(({ origin }) => origin.transport)
}

describe('A client whose WebSockets fail twice without ever having been open', () => {
  test('subscribes by server-sent events, publishes by requests, and hears itself', async () => {
    const server = await open.server()
    const token = await server.mint('42', { channels: ['a*'] })
    const { client, tried } = clientOf(server, { token })
    const heard: string[] = []
    await client.subscribe('a', (message) => heard.push(`${message.channel} ${message.text()}`))
      .ready
    await client.psubscribe('a*', (message) =>
      heard.push(`a* ${message.channel} ${message.text()}`),
    ).ready
    expect(tried()).toBe(2)
    expect(client.identity?.user).toBe('jwt:42')
    expect(transports(server)).toEqual(['sse'])
    expect(await client.publish('a', 'grüße\n')).toBe(2)
    expect(await client.publish('ab', '\u0000')).toBe(1)
    await eventually('three messages', () => heard.length === 3)
    expect(heard).toEqual(['a grüße\n', 'a* a grüße\n', 'a* ab \u0000'])
  })

  test('is denied a subscription that its token does not allow, and keeps the others', async () => {
    const server = await open.server()
    const token = await server.mint('42', { channels: ['a'] })
    const { client } = clientOf(server, { token })
    const heard: string[] = []
    const good = client.subscribe('a', (message) => heard.push(message.text()))
    const bad = client.subscribe('b', () => {})
    await good.ready
    await expect(bad.ready).rejects.toMatchObject({ prefix: 'NOPERM' })
    await expect(client.publish('b', 'x')).rejects.toMatchObject({ prefix: 'NOPERM' })
    expect(await client.publish('a', 'x')).toBe(1)
    await eventually('it is heard', () => heard.length === 1)
  })

  test('hears nothing of what it has given up', async () => {
    const server = await open.server()
    const { client } = clientOf(server, { token: await server.mint('42', { channels: ['*'] }) })
    const heard: string[] = []
    const first = client.subscribe('a', (message) => heard.push(`a ${message.text()}`))
    await first.ready
    await client.subscribe('b', (message) => heard.push(`b ${message.text()}`)).ready
    void first.unsubscribe()
    await client.call('PING')
    await client.publish('a', '1')
    await client.publish('b', '2')
    await eventually('it is heard', () => heard.length > 0)
    expect(heard).toEqual(['b 2'])
  })

  test('reports a gap where a further subscription needed another stream', async () => {
    const server = await open.server()
    const { client } = clientOf(server, { token: await server.mint('42', { channels: ['*'] }) })
    let gaps = 0
    client.on('gap', () => gaps++)
    await client.subscribe('a', () => {}).ready
    expect(gaps).toBe(0)
    await client.subscribe('b', () => {}).ready
    await eventually('a gap', () => gaps === 1)
  })

  test('gets another token once its own is revoked', async () => {
    const server = await open.server()
    const reasons: string[] = []
    const { client } = clientOf(server, {
      token: async ({ reason }) => {
        reasons.push(reason)
        return server.mint(reason === 'revoked' ? '43' : '42', { channels: ['a'] })
      },
    })
    await client.subscribe('a', () => {}).ready
    const admin = await open.tcp(server)
    admin.command('TOKEN', 'REVOKE', 'SUB', '42')
    await admin.takeLine()
    await eventually('it is back', () => client.identity?.user === 'jwt:43')
    expect(reasons).toEqual(['initial', 'revoked'])
  })

  test('swaps its token before that expires, on a stream of its own', async () => {
    const server = await open.server()
    let count = 0
    const { client } = clientOf(server, {
      token: () =>
        server.mint('42', { channels: ['a'] }, { lifetimeSeconds: ++count === 1 ? 3 : 600 }),
    })
    const heard: string[] = []
    await client.subscribe('a', (message) => heard.push(message.text())).ready
    await eventually('another token', () => count === 2)
    await client.call('PING')
    expect(await client.publish('a', 'x')).toBe(1)
    await eventually('it is heard', () => heard.length === 1)
  })

  test('is denied where its token is bad and there is no other', async () => {
    const server = await open.server()
    const { client } = clientOf(server, { token: 'bad' })
    await eventually('it is denied', () => client.state.status === 'denied')
    expect(client.state).toMatchObject({ cause: { code: 4401, name: 'unauthorized' } })
  })
})

test('a WebSocket that was open once is not left', async () => {
  const server = await open.server()
  const url = `${server.wsUrl}?once`
  const opened: string[] = []
  const ends: ((code: number, reason: string) => void)[] = []
  const openWebSocket: OpenSocket = (_url, _protocols, listener) => {
    opened.push('websocket')
    ends.push((code, reason) => listener.closed(code, reason))
    if (opened.length === 1) listener.opened()
    return { send: () => {}, close: () => {} }
  }
  for (let i = 0; i < 4; i++) {
    fallBack(url, { ...ENVIRONMENT, openSocket: openWebSocket })(url, ['resp3'], {
      opened: () => {},
      received: () => {},
      closed: () => {},
    })
    ends[i]?.(1006, '')
  }
  expect(opened).toHaveLength(4)
})
