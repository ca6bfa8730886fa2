import { describe, expect, test } from 'vitest'
import { TestCore, type TestClient } from '../../../support/test-core.ts'

const cluster = (): TestCore => new TestCore({ 'cluster-enabled': 'yes' })

const connect = (): TestClient => cluster().connect({ protocol: 3 })

describe('A cluster', () => {
  const CROSS_SLOT = "-CROSSSLOT Keys in request don't hash to the same slot\r\n"

  test('takes shard channels of one slot in one command', () => {
    const client = connect()
    expect(client.send('SSUBSCRIBE', 'a', 'b')).toBe(CROSS_SLOT)
    expect(client.send('PUBSUB', 'SHARDNUMSUB', 'a', 'b')).toBe(
      '*4\r\n$1\r\na\r\n:0\r\n$1\r\nb\r\n:0\r\n',
    )
    expect(client.send('SSUBSCRIBE', '{x}a', '{x}b')).toBe(
      '>3\r\n$10\r\nssubscribe\r\n$4\r\n{x}a\r\n:1\r\n>3\r\n$10\r\nssubscribe\r\n$4\r\n{x}b\r\n:2\r\n',
    )
    expect(client.send('SUNSUBSCRIBE', 'a', 'b')).toBe(CROSS_SLOT)
    expect(client.send('WATCH', 'a', 'b')).toBe(CROSS_SLOT)
    expect(client.send('SUNSUBSCRIBE')).toMatch(/^(>3\r\n\$12\r\nsunsubscribe\r\n.*){2}$/s)
  })

  test('does not ask for slots of channels and patterns', () => {
    const client = connect()
    expect(client.send('SUBSCRIBE', 'a', 'b')).toContain(':2\r\n')
    expect(client.send('PSUBSCRIBE', 'a*', 'b*')).toContain(':4\r\n')
  })

  test('checks slots while a transaction is queued, and over all of it', () => {
    const client = connect()
    client.send('MULTI')
    expect(client.send('SUNSUBSCRIBE', 'a', 'b')).toBe(CROSS_SLOT)
    expect(client.send('EXEC')).toBe(
      '-EXECABORT Transaction discarded because of previous errors.\r\n',
    )
    client.send('MULTI')
    client.send('SPUBLISH', 'a', '1')
    client.send('SPUBLISH', 'b', '1')
    expect(client.send('EXEC')).toBe(CROSS_SLOT)
    expect(client.send('EXEC')).toBe('-ERR EXEC without MULTI\r\n')
    client.send('MULTI')
    client.send('SPUBLISH', 'a', '1')
    client.send('SPUBLISH', '{a}b', '1')
    expect(client.send('EXEC')).toBe('*2\r\n:0\r\n:0\r\n')
  })

  test('asks for the slots behind permissions', () => {
    const server = cluster()
    server.setUser('u', 'on nopass +ssubscribe resetchannels &a')
    const client = server.connect({ protocol: 3 })
    client.send('AUTH', 'u', 'x')
    expect(client.send('SSUBSCRIBE', 'a', 'b')).toBe(
      '-NOPERM No permissions to access a channel\r\n',
    )
  })
})
