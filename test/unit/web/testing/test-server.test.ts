import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { RespcastClient } from '../../../../web/client/client.ts'
import type { ConnectOptions, Login } from '../../../../web/client/options.ts'
import { TestServer } from '../../../../web/testing/index.ts'
import { memoryClient } from '../../../support/memory-client.ts'
import { record, settle } from '../client/support/fake-server.ts'

let server: TestServer
let clients: RespcastClient[] = []

beforeEach(() => {
  server = new TestServer()
})

afterEach(() => {
  for (const each of clients) each.close()
  clients = []
})

function client(options?: ConnectOptions): RespcastClient {
  const made = memoryClient(server.WebSocket, options)
  clients.push(made)
  return made
}

const online = (made: RespcastClient): Promise<void> =>
  expect.poll(() => made.state.status).toBe('online')

describe('A message', () => {
  test('reaches channels, patterns and shard channels, each as the subscription is made', async () => {
    const seen: string[] = []
    const made = client()
    await made.subscribe('news', (message) => void seen.push(`channel ${message.text()}`)).ready
    await made.psubscribe('n?ws', (message) => void seen.push(`pattern ${message.pattern}`)).ready
    await made.ssubscribe('news', (message) => void seen.push(`shard ${message.text()}`)).ready
    expect(server.subscribers('news')).toBe(3)
    expect(server.publish('news', 'hello')).toBe(2)
    expect(server.spublish('news', 'there')).toBe(1)
    await settle()
    expect(seen).toEqual(['channel hello', 'pattern n?ws', 'shard there'])
  })

  test('of a client is kept, delivered to the others, and answered with their number', async () => {
    const seen: string[] = []
    await client().subscribe('news', (message) => void seen.push(message.text())).ready
    const publisher = client()
    await online(publisher)
    expect(await publisher.publish('news', 'hello')).toBe(1)
    expect(seen).toEqual(['hello'])
    const [first] = server.published
    expect([first?.channel, first?.text(), server.published.length]).toEqual(['news', 'hello', 1])
  })

  test('does not reach what was unsubscribed', async () => {
    const subscription = client().subscribe('news', () => undefined)
    await subscription.ready
    await subscription.unsubscribe()
    expect([server.subscribers('news'), server.publish('news', 'late')]).toEqual([0, 0])
  })

  test('keeps its bytes', async () => {
    const payload = Uint8Array.of(0, 0x0d, 0x0a, 0xff)
    const seen: Uint8Array[] = []
    await client().subscribe('bytes', (message) => void seen.push(message.payload)).ready
    server.publish('bytes', payload)
    await settle()
    expect(seen).toEqual([payload])
  })
})

describe('A login', () => {
  test.each([
    [{ token: 'mine' }, 'mine/undefined'],
    [{ token: 'mine', tokenInBand: true }, 'mine/undefined'],
    [{ login: { user: 'ann', password: 'pw' } }, 'pw/ann'],
    [{}, 'undefined/undefined'],
  ] satisfies [ConnectOptions, string][])('with %j is judged', async (options, expected) => {
    const judged: string[] = []
    server = new TestServer({
      login: (secret, user) => {
        judged.push(`${secret}/${user}`)
        return user ?? 'jwt:42'
      },
    })
    await online(client(options))
    const login: Login | undefined = 'login' in options ? options.login : undefined
    expect(judged).toEqual([expected])
    expect(server.users).toEqual([login?.user ?? 'jwt:42'])
  })

  test('that is refused makes the client ask for another token', async () => {
    const tokens = ['bad', 'good']
    server = new TestServer({ login: (token) => (token === 'good' ? 'jwt:42' : undefined) })
    await online(client({ token: () => tokens.shift() ?? 'good' }))
    expect(server.users).toEqual(['jwt:42'])
  })

  test('is asked for again after a revocation', async () => {
    let asked = 0
    const made = client({ token: () => `t${asked++}` })
    await online(made)
    server.revoke()
    await expect.poll(() => asked).toBe(2)
    await online(made)
  })
})

describe('Permissions', () => {
  test('that are missing refuse a subscription and a message, with the error of Redis', async () => {
    server.deny('secret:*')
    const made = client()
    await expect(made.subscribe('secret:1', () => undefined).ready).rejects.toMatchObject({
      code: 'ERR_DENIED',
      prefix: 'NOPERM',
    })
    await expect(made.publish('secret:1', 'm')).rejects.toMatchObject({ prefix: 'NOPERM' })
    expect(await made.why('secret:1')).toBe('channel')
    expect(await made.why('open')).toBe('ok')
  })

  test('that are taken away close the client, which comes back without that channel; given back, it has it again', async () => {
    const made = client()
    const [kept, lost] = [made.subscribe('a'), made.subscribe('b')]
    await Promise.all([kept.ready, lost.ready])
    server.deny('b')
    await expect.poll(() => [kept.status, lost.status]).toEqual(['live', 'denied'])
    server.allow('b')
    await expect.poll(() => lost.status).toBe('live')
  })
})

describe('What goes wrong', () => {
  test('is told as a gap: a connection that broke, and messages that the server missed', async () => {
    const made = client()
    const gaps = record(made, 'gap')
    await made.subscribe('news', () => undefined).ready
    server.closeAll()
    await expect.poll(() => gaps.length).toBe(1)
    server.gap(250)
    await settle()
    expect(gaps[1]).toEqual({ spanMs: 250 })
  })

  test('a server that is down takes no connection until it is up', async () => {
    server.stop()
    const made = client()
    await expect.poll(() => made.state.status).toBe('waiting')
    expect(server.users).toEqual([])
    server.start()
    await online(made)
  })
})
