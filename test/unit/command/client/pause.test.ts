import { describe, expect, test } from 'vitest'
import { command, TestCore, type TestClient } from '../../../support/test-core.ts'

/** Lets promises that are settled go on. */
async function settle(client: TestClient): Promise<string> {
  await client.settled()
  return client.read()
}

describe('CLIENT PAUSE', () => {
  test('holds every command of every client, unanswered and in order, until its end', async () => {
    const server = new TestCore()
    const [a, b] = [server.connect(), server.connect()]
    expect(a.send('CLIENT', 'PAUSE', '1000')).toBe('+OK\r\n')
    a.write(command('PING'))
    a.write(command('ECHO', 'x'))
    b.write(command('CLIENT', 'UNPAUSE'))
    expect(a.read() + b.read()).toBe('')
    server.clock.advance(999)
    expect(a.read()).toBe('')
    server.clock.advance(1)
    expect(await settle(a)).toBe('+PONG\r\n$1\r\nx\r\n')
    expect(await settle(b)).toBe('+OK\r\n')
  })

  test('WRITE holds what publishes or changes something, and nothing else', async () => {
    const server = new TestCore()
    const [a, b] = [server.connect(), server.connect({ protocol: 3 })]
    a.send('CLIENT', 'PAUSE', '1000', 'write')
    expect(b.send('SUBSCRIBE', 'c')).toBe('>3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n')
    expect(a.send('PING')).toBe('+PONG\r\n')
    expect(a.send('PUBLISH', 'c', 'x')).toBe('')
    expect(server.connect().send('SPUBLISH', 'c', 'x')).toBe('')
    expect(server.connect().send('FLUSHALL')).toBe('')
    expect(b.read()).toBe('')
    server.clock.advance(1000)
    expect(await settle(a)).toBe(':1\r\n')
    expect(b.read()).toBe('>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n')
  })

  test('WRITE holds the EXEC of a transaction that publishes', async () => {
    const server = new TestCore()
    const [a, b] = [server.connect(), server.connect()]
    a.send('MULTI')
    a.send('PUBLISH', 'c', 'x')
    b.send('MULTI')
    b.send('PING')
    server.connect().send('CLIENT', 'PAUSE', '1000', 'WRITE')
    expect(a.send('EXEC')).toBe('')
    expect(b.send('EXEC')).toBe('*1\r\n+PONG\r\n')
    server.clock.advance(1000)
    expect(await settle(a)).toBe('*1\r\n:0\r\n')
  })

  test('lets UNPAUSE end a pause of writes', async () => {
    const server = new TestCore()
    const [a, b] = [server.connect(), server.connect()]
    a.send('CLIENT', 'PAUSE', '1000', 'WRITE')
    expect(a.send('PUBLISH', 'c', 'x')).toBe('')
    expect(b.send('CLIENT', 'UNPAUSE')).toBe('+OK\r\n')
    expect(await settle(a)).toBe(':0\r\n')
  })

  test('keeps the later end and the stricter mode of two', async () => {
    const server = new TestCore()
    const [a, b] = [server.connect(), server.connect()]
    a.write(
      Buffer.concat([
        command('MULTI'),
        command('CLIENT', 'PAUSE', '1000', 'ALL'),
        command('CLIENT', 'PAUSE', '10', 'WRITE'),
        command('EXEC'),
      ]),
    )
    a.read()
    server.clock.advance(500)
    expect(b.send('PING')).toBe('')
    server.clock.advance(500)
    expect(await settle(b)).toBe('+PONG\r\n')
  })

  test('shows who waits: flag b, and blocked_clients', async () => {
    const server = new TestCore()
    const [a, b] = [server.connect(), server.connect()]
    a.send('CLIENT', 'PAUSE', '1000', 'WRITE')
    b.send('PUBLISH', 'c', 'x')
    expect(a.send('CLIENT', 'LIST', 'ID', String(b.client.id))).toContain(' flags=b ')
    expect(a.send('INFO', 'clients')).toContain('\r\nblocked_clients:1\r\n')
    server.clock.advance(1000)
    await settle(b)
    expect(a.send('CLIENT', 'LIST', 'ID', String(b.client.id))).toContain(' flags=N ')
    expect(a.send('INFO', 'clients')).toContain('\r\nblocked_clients:0\r\n')
  })

  test('does not hold clients in MONITOR, as it does not hold replicas', () => {
    const server = new TestCore()
    const monitor = server.connect()
    monitor.send('MONITOR')
    server.connect().send('CLIENT', 'PAUSE', '1000')
    expect(monitor.send('PING')).toContain('+PONG\r\n')
  })

  test.each([
    [['x'], 'timeout is not an integer or out of range'],
    [['-1'], 'timeout is negative'],
    [['99999999999999999999'], 'timeout is not an integer or out of range'],
    [['1', 'foo'], 'CLIENT PAUSE mode must be WRITE or ALL'],
    [['x', 'foo'], 'CLIENT PAUSE mode must be WRITE or ALL'],
    [
      ['1', 'all', 'x'],
      "unknown subcommand or wrong number of arguments for 'PAUSE'. Try CLIENT HELP.",
    ],
  ])('refuses %j', (args, error) => {
    expect(new TestCore().connect().send('CLIENT', 'PAUSE', ...args)).toBe(`-ERR ${error}\r\n`)
  })
})

describe('CLIENT UNBLOCK', () => {
  test('answers 0: no command of this server blocks', () => {
    const client = new TestCore().connect()
    for (const args of [['1'], ['99'], ['1', 'TIMEOUT'], ['1', 'error']]) {
      expect(client.send('CLIENT', 'UNBLOCK', ...args)).toBe(':0\r\n')
    }
  })

  test.each([
    [['x'], 'value is not an integer or out of range'],
    [['1', 'foo'], 'CLIENT UNBLOCK reason should be TIMEOUT or ERROR'],
    [
      ['1', 'error', 'x'],
      "unknown subcommand or wrong number of arguments for 'UNBLOCK'. Try CLIENT HELP.",
    ],
  ])('refuses %j', (args, error) => {
    expect(new TestCore().connect().send('CLIENT', 'UNBLOCK', ...args)).toBe(`-ERR ${error}\r\n`)
  })
})
