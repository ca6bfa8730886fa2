import { describe, expect, test } from 'vitest'
import { CLOSES } from '../../../server/client/close.ts'
import { TestCore, type TestClient } from '../../support/test-core.ts'

/** The limits of WebSockets that a server has when nothing is configured. */
const DEFAULTS = {
  'client-output-buffer-limit': 'websocket 1mb 256kb 10',
  'ws-max-subscriptions': '256',
  'ws-max-patterns': '16',
  'ws-max-pattern-length': '512',
}

/** Frame headers and the names of commands in what a client is sent. */
const OVERHEAD_BYTES = 128

function browser(): { core: TestCore; client: TestClient } {
  const core = new TestCore(DEFAULTS)
  const client = core.connect({ transport: 'websocket' })
  client.becomeDefault()
  return { core, client }
}

/** Bytes that a client was given to read. */
function bytesOf(client: TestClient): number {
  return Buffer.byteLength(client.read(), 'latin1')
}

describe('One publish to a WebSocket', () => {
  test('comes once for its channel and once for each of at most 16 patterns', () => {
    const { core, client } = browser()
    client.send('SUBSCRIBE', 'a')
    for (let stars = 1; stars <= 20; stars++) client.send('PSUBSCRIBE', '*'.repeat(stars))
    expect(core.connect().send('PUBLISH', 'a', 'x'.repeat(1_000))).toBe(':17\r\n')
    expect(bytesOf(client)).toBeLessThan(17 * (1_000 + OVERHEAD_BYTES))
  })

  test('that it does not read ends it at the output limit', () => {
    const { core, client } = browser()
    client.sink.blocks = true
    for (let stars = 1; stars <= 16; stars++) client.send('PSUBSCRIBE', '*'.repeat(stars))
    const publisher = core.connect()
    for (let sent = 0; sent < 100 && !client.client.closed; sent++) {
      publisher.send('PUBLISH', 'a', 'x'.repeat(60_000))
    }
    expect(client.client.closeCause?.name).toBe('slow-consumer')
    expect(client.sink.pendingBytes).toBeLessThan(1.5 * 1_048_576 + 17 * 60_000)
  })
})

describe('Confirmations', () => {
  test('of the same name over and over are as many as the command has names, at most 64', () => {
    const { client } = browser()
    const name = 'n'.repeat(200)
    const answer = client.send('SUBSCRIBE', ...Array<string>(64).fill(name))
    expect(answer.match(/\$9\r\nsubscribe\r\n/g)).toHaveLength(64)
    expect(answer.length).toBeLessThan(64 * (200 + OVERHEAD_BYTES))
    expect(client.send('SUBSCRIBE', ...Array<string>(65).fill(name))).toMatch(/^-ERR /)
  })

  test('that nobody reads end the client while they are made', () => {
    const { client } = browser()
    client.sink.blocks = true
    const names = Array<string>(64).fill('n'.repeat(200))
    for (let sent = 0; sent < 1_000 && !client.client.closed; sent++) {
      client.send('SUBSCRIBE', ...names)
    }
    expect(client.client.closeCause?.name).toBe(CLOSES.outputLimit.name)
    expect(client.sink.pendingBytes).toBeLessThan(1.5 * 1_048_576)
  })
})
