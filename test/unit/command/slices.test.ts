import { describe, expect, test } from 'vitest'
import { CLOSES } from '../../../server/client/close.ts'
import { NAMES_PER_SLICE } from '../../../server/command/slices.ts'
import { command, TestCore, type TestClient } from '../../support/test-core.ts'
import { tokenFor } from '../../support/tokens.ts'

const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `c${i}`)

/** Confirmations of a RESP3 client, numbered from `first`. */
function acks(word: string, from: number, to: number, count: (i: number) => number): string {
  let text = ''
  for (let i = from; i < to; i++) {
    const name = `c${i}`
    text += `>3\r\n$${word.length}\r\n${word}\r\n$${name.length}\r\n${name}\r\n:${count(i)}\r\n`
  }
  return text
}

/** Lets the next slice be handled. */
async function nextSlice(server: TestCore, client: TestClient): Promise<string> {
  server.clock.advance(0)
  // The promise that the clock settled goes through several hands until the slice is handled.
  for (let i = 0; i < 8; i++) await Promise.resolve()
  return client.read()
}

const ALL = NAMES_PER_SLICE * 2 + 10

describe('A command with very many names', () => {
  test('is handled in slices, its confirmations in order, what comes after it waiting', async () => {
    const server = new TestCore()
    const client = server.connect({ protocol: 3 })
    client.write(Buffer.concat([command('SUBSCRIBE', ...names(ALL)), command('PING')]))
    const plusOne = (i: number): number => i + 1
    expect(client.read()).toBe(acks('subscribe', 0, NAMES_PER_SLICE, plusOne))
    expect(server.registry.channelCount('channel')).toBe(NAMES_PER_SLICE)
    expect(await nextSlice(server, client)).toBe(
      acks('subscribe', NAMES_PER_SLICE, NAMES_PER_SLICE * 2, plusOne),
    )
    server.clock.advance(0)
    await client.settled()
    expect(client.read()).toBe(`${acks('subscribe', NAMES_PER_SLICE * 2, ALL, plusOne)}+PONG\r\n`)
  })

  test('lets messages through between its slices', async () => {
    const server = new TestCore()
    const [client, other] = [server.connect({ protocol: 3 }), server.connect()]
    client.write(command('SUBSCRIBE', ...names(ALL)))
    client.read()
    other.send('PUBLISH', 'c0', 'x')
    other.send('PUBLISH', `c${ALL - 1}`, 'x')
    expect(client.read()).toBe('>3\r\n$7\r\nmessage\r\n$2\r\nc0\r\n$1\r\nx\r\n')
  })

  test('unsubscribes in slices too, by name and from all', async () => {
    const server = new TestCore()
    const client = server.connect({ protocol: 3 })
    const subscribe = async (): Promise<void> => {
      client.write(command('SUBSCRIBE', ...names(ALL)))
      for (let i = 0; i < 3; i++) await nextSlice(server, client)
    }
    for (const args of [[], names(ALL)]) {
      await subscribe()
      client.write(command('UNSUBSCRIBE', ...args))
      let text = client.read()
      expect(server.registry.channelCount('channel')).toBe(ALL - NAMES_PER_SLICE)
      for (let i = 0; i < 2; i++) text += await nextSlice(server, client)
      expect(text).toBe(acks('unsubscribe', 0, ALL, (i) => ALL - 1 - i))
      expect(client.send('PING')).toBe('+PONG\r\n')
    }
  })

  test('is forgotten in slices by RESET, its reply after the last message', async () => {
    const server = new TestCore()
    const [client, other] = [server.connect({ protocol: 3 }), server.connect()]
    client.write(command('SUBSCRIBE', ...names(ALL)))
    for (let i = 0; i < 3; i++) await nextSlice(server, client)
    client.write(Buffer.concat([command('RESET'), command('PUBLISH', 'c0', 'behind')]))
    expect(server.registry.channelCount('channel')).toBe(ALL - NAMES_PER_SLICE)
    const [first, last] = ['c0', `c${ALL - 1}`]
    expect(other.send('PUBLISH', first, 'x')).toBe(':0\r\n')
    expect(other.send('PUBLISH', last, 'x')).toBe(':1\r\n')
    expect(client.read()).toBe(`>3\r\n$7\r\nmessage\r\n$5\r\n${last}\r\n$1\r\nx\r\n`)
    for (let i = 0; i < 2; i++) await nextSlice(server, client)
    expect(other.send('PUBLISH', last, 'x')).toBe(':0\r\n')
    expect(server.registry.subscriberCount).toBe(0)
    expect(client.client.protocol).toBe(2)
  })

  test('is one piece in a transaction', () => {
    const server = new TestCore()
    const client = server.connect({ protocol: 3 })
    client.send('MULTI')
    client.send('SUBSCRIBE', ...names(ALL))
    expect(client.send('EXEC')).toBe(`*1\r\n${acks('subscribe', 0, ALL, (i) => i + 1)}`)
  })

  test('stops where the client is closed meanwhile', async () => {
    const server = new TestCore()
    const client = server.connect({ protocol: 3 })
    client.write(command('SUBSCRIBE', ...names(ALL)))
    client.client.close(CLOSES.killed)
    await nextSlice(server, client)
    expect(server.registry.channelCount('channel')).toBe(0)
  })

  test('is judged again where permissions change between its slices', async () => {
    const server = new TestCore()
    server.setUser('u', 'on nopass +@all &c*')
    const client = server.connect({ protocol: 3 })
    client.send('AUTH', 'u', 'x')
    client.write(command('SUBSCRIBE', ...names(ALL)))
    client.read()
    server.setUser('u', '+ping')
    expect(await nextSlice(server, client)).toContain('subscribe')
    const held = names(NAMES_PER_SLICE * 2).map((name) => `&${name}`)
    server.setUser('u', `resetchannels ${held.join(' ')}`)
    server.clock.advance(0)
    await client.settled()
    expect(client.read()).toBe('-NOPERM No permissions to access a channel\r\n')
    expect(server.registry.channelCount('channel')).toBe(NAMES_PER_SLICE * 2)
  })

  test.each([
    ['', undefined],
    [' after an edit of its role', '&more'],
  ] as const)('subscribes to no channel that is revoked meanwhile%s', async (_name, edit) => {
    const server = new TestCore()
    server.setUser('role:r', 'off resetchannels +subscribe &c*')
    const [client, admin] = [server.connect({ protocol: 3 }), server.connect()]
    await client.sendAndWait('AUTH', 'jwt', tokenFor({ roles: ['r'] }))
    client.write(command('SUBSCRIBE', ...names(ALL)))
    client.read()
    if (edit !== undefined) server.setUser('role:r', edit)
    const last = `c${ALL - 1}`
    expect(await admin.sendAndWait('TOKEN', 'REVOKE', 'CHANNEL', last, 'TTL', '60')).not.toMatch(
      /^-/,
    )
    let text = ''
    for (let i = 0; i < 3; i++) text += await nextSlice(server, client)
    expect(text).toMatch(/(^|\r\n)-NOPERM No permissions to access a channel\r\n$/)
    // The slice that holds the name is refused as a whole.
    const held = ALL - 1 - ((ALL - 1) % NAMES_PER_SLICE)
    expect(server.registry.channelCount('channel')).toBe(held)
    expect(admin.send('PUBLISH', last, 'secret')).toBe(':0\r\n')
    expect(admin.send('PUBLISH', 'c0', 'x')).toBe(':1\r\n')
    expect(client.read()).toBe('>3\r\n$7\r\nmessage\r\n$2\r\nc0\r\n$1\r\nx\r\n')
  })

  test('closes a client that does not read at its output limit, and handles no more of it', async () => {
    const server = new TestCore({ 'client-output-buffer-limit': 'pubsub 30000 0 0' })
    const client = server.connect({ protocol: 3 })
    client.sink.blocks = true
    client.write(command('SUBSCRIBE', ...names(20 * NAMES_PER_SLICE)))
    client.read()
    for (let i = 0; i < 3; i++) await nextSlice(server, client)
    expect(client.client.closed).toBe(true)
    expect(server.counters.outputLimitDisconnections).toBe(1)
    expect(server.registry.channelCount('channel')).toBe(0)
  })
})
