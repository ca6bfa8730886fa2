import { describe, expect, test } from 'vitest'
import { CLOSES } from '../../../server/client/close.ts'
import { clientMemory } from '../../../server/client/describe.ts'
import { MemoryLedger } from '../../../server/client/eviction.ts'
import { command, TestCore } from '../../support/test-core.ts'

describe('The memory of a client', () => {
  test('is what its connection costs, its output, input, transaction and subscriptions', () => {
    const server = new TestCore()
    const client = server.connect()
    expect(clientMemory(client.client)).toBe(4_096)
    client.client.queryBytes = 100
    expect(clientMemory(client.client)).toBe(4_196)
    client.send('MULTI')
    client.send('ECHO', 'abc')
    expect(clientMemory(client.client)).toBe(4_913)
    client.send('DISCARD')
    client.send('SUBSCRIBE', 'a', 'b')
    client.send('PSUBSCRIBE', 'a*')
    client.send('SSUBSCRIBE', 'a')
    expect(clientMemory(client.client)).toBe(4_096 + 4 * 128)
    client.sink.blocks = true
    client.send('PING')
    client.write(command('PING'))
    expect(clientMemory(client.client)).toBe(
      4_096 + 4 * 128 + 2 * '*2\r\n$4\r\npong\r\n$0\r\n\r\n'.length,
    )
  })
})

describe('The ledger of clients', () => {
  test('adds up what they held when it last looked', () => {
    const server = new TestCore()
    const ledger = new MemoryLedger()
    const [a, b] = [server.connect().client, server.connect().client]
    ledger.note(a)
    ledger.note(b)
    ledger.note(a)
    expect(ledger.total).toBe(8_192)
    a.queryBytes = 1_000
    expect(ledger.total).toBe(8_192)
    ledger.note(a)
    expect(ledger.total).toBe(9_192)
    ledger.forget(a)
    ledger.forget(a)
    expect(ledger.total).toBe(4_096)
    ledger.clear()
    expect(ledger.total).toBe(0)
    expect(ledger.biggest()).toBeUndefined()
  })

  test('finds the biggest by powers of two, and leaves out who may not be evicted', () => {
    const server = new TestCore()
    const ledger = new MemoryLedger()
    const [a, b, c] = [server.connect().client, server.connect().client, server.connect().client]
    a.queryBytes = 30_000
    b.queryBytes = 200_000
    c.queryBytes = 100_000
    for (const client of [a, b, c]) ledger.note(client)
    expect(ledger.biggest()).toBe(b)
    b.noEvict = true
    ledger.note(b)
    expect(ledger.biggest()).toBe(c)
    a.queryBytes = 2_000_000_000
    ledger.note(a)
    expect(ledger.biggest()).toBe(a)
    ledger.forget(a)
    ledger.forget(c)
    expect(ledger.biggest()).toBeUndefined()
    expect(ledger.total).toBe(204_096)
  })

  test('does not take a closed client up again', () => {
    const server = new TestCore()
    const ledger = new MemoryLedger()
    const { client } = server.connect()
    client.close(CLOSES.killed)
    ledger.note(client)
    expect(ledger.total).toBe(0)
  })
})
