import { describe, expect, test } from 'vitest'
import { command, TestCore, type TestClient } from '../../support/test-core.ts'

const SIZES = [0, 1, 16_383, 16_384, 16_385, 70_000, 1_048_576]
const SHARE_BYTES = [1, 16_384]

function message(payload: string, protocol: 2 | 3 = 3): string {
  const sign = protocol === 2 ? '*' : '>'
  return `${sign}3\r\n$7\r\nmessage\r\n$2\r\nwt\r\n$${payload.length}\r\n${payload}\r\n`
}

/** A server with one client that is subscribed to `wt` in RESP3 and one more listener. */
function subscribed(shareBytes: number, transport: 'tcp' | 'websocket') {
  const server = new TestCore({
    'min-string-size-avoid-copy-reply': String(shareBytes),
    'ws-max-payload': '4mb',
  })
  const self = server.connect({ transport, protocol: 3 })
  self.becomeDefault()
  const other = server.connect({ protocol: 3 })
  for (const client of [self, other]) client.send('SUBSCRIBE', 'wt')
  return { server, self, other }
}

/** Compares without printing a megabyte. */
function expectBytes(client: TestClient, expected: string): void {
  const received = client.read()
  if (received === expected) return
  let at = 0
  while (received[at] === expected[at]) at++
  expect(`at ${at}: ${received.slice(at, at + 80)}`).toBe(
    `at ${at}: ${expected.slice(at, at + 80)}`,
  )
}

const cases = SHARE_BYTES.flatMap((shareBytes) =>
  (['tcp', 'websocket'] as const).flatMap((transport) =>
    SIZES.map((size) => ({ shareBytes, transport, size })),
  ),
)

describe.each(cases)(
  'A client that publishes $size bytes to itself over $transport, payloads shared from $shareBytes on,',
  ({ shareBytes, transport, size }) => {
    const payload = 'x'.repeat(size)

    test('gets the reply, then the message', () => {
      const { self, other } = subscribed(shareBytes, transport)
      self.write(command('PUBLISH', 'wt', payload))
      expectBytes(self, `:2\r\n${message(payload)}`)
      expectBytes(other, message(payload))
    })

    test('gets each message behind the reply to its own command in a pipeline', () => {
      const { self, other } = subscribed(shareBytes, transport)
      const second = `${payload.slice(1)}y`
      self.write(
        Buffer.concat([
          command('PUBLISH', 'wt', payload),
          command('PING'),
          command('PUBLISH', 'wt', second),
          command('ECHO', 'a'),
        ]),
      )
      expectBytes(self, `:2\r\n${message(payload)}+PONG\r\n:2\r\n${message(second)}$1\r\na\r\n`)
      expectBytes(other, message(payload) + message(second))
    })

    test('gets all messages behind the reply of EXEC', () => {
      const { self, other } = subscribed(shareBytes, transport)
      self.write(
        Buffer.concat([
          command('MULTI'),
          command('PUBLISH', 'wt', payload),
          command('PING'),
          command('PUBLISH', 'wt', 'z'),
          command('EXEC'),
        ]),
      )
      const replies = '+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n:2\r\n+PONG\r\n:2\r\n'
      expectBytes(self, replies + message(payload) + message('z'))
      expectBytes(other, message(payload) + message('z'))
    })

    test('gets the messages of others in front of its own reply', () => {
      const { self, other } = subscribed(shareBytes, transport)
      other.write(command('PUBLISH', 'wt', payload))
      self.write(command('PUBLISH', 'wt', 'own'))
      other.write(command('PUBLISH', 'wt', payload))
      expectBytes(self, `${message(payload)}:2\r\n${message('own')}${message(payload)}`)
      expectBytes(other, `:2\r\n${message(payload)}${message('own')}:2\r\n${message(payload)}`)
    })
  },
)

describe.each(SHARE_BYTES)('In RESP2, payloads shared from %d bytes on,', (shareBytes) => {
  test.each(SIZES)('a transaction that subscribes and publishes %d bytes', (size) => {
    const server = new TestCore({ 'min-string-size-avoid-copy-reply': String(shareBytes) })
    const self = server.connect()
    const payload = 'x'.repeat(size)
    self.write(
      Buffer.concat([
        command('MULTI'),
        command('SUBSCRIBE', 'wt'),
        command('PUBLISH', 'wt', payload),
        command('PING'),
        command('EXEC'),
      ]),
    )
    const replies = '+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n'
    const confirmed = '*3\r\n$9\r\nsubscribe\r\n$2\r\nwt\r\n:1\r\n'
    const exec = `*3\r\n${confirmed}:1\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n`
    expectBytes(self, replies + exec + message(payload, 2))
  })
})

describe('A WebSocket message', () => {
  test('holds whole values only', () => {
    const { server, self } = subscribed(1, 'websocket')
    const payload = 'x'.repeat(200_000)
    for (let i = 0; i < 4; i++) self.write(command('PUBLISH', 'wt', payload))
    server.turn.end()
    const messages = self.sink.takeMessages()
    expect(messages.length).toBeGreaterThan(1)
    expect(messages.every((text) => text.startsWith(':2\r\n') || text.startsWith('>3\r\n'))).toBe(
      true,
    )
    expect(messages.every((text) => text.endsWith('\r\n'))).toBe(true)
    expect(messages.join('') === `:2\r\n${message(payload)}`.repeat(4)).toBe(true)
  })
})
