import { describe, expect, test } from 'vitest'
import { command, TestCore, type TestClient } from '../../../support/test-core.ts'

const MESSAGE = '>3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$2\r\nhi\r\n'

function resp3(): { server: TestCore; client: TestClient } {
  const server = new TestCore()
  return { server, client: server.connect({ protocol: 3 }) }
}

describe('CLIENT REPLY OFF', () => {
  test('silences replies and errors, but no push', () => {
    const { server, client } = resp3()
    client.send('SUBSCRIBE', 'ch')
    expect(client.send('CLIENT', 'REPLY', 'OFF')).toBe('')
    server.connect().send('PUBLISH', 'ch', 'hi')
    expect(client.read()).toBe(MESSAGE)
    expect(client.send('SUBSCRIBE', 'ch2')).toBe('>3\r\n$9\r\nsubscribe\r\n$3\r\nch2\r\n:2\r\n')
    expect(client.send('PING')).toBe('')
    expect(client.send('NONSENSE')).toBe('')
    expect(client.send('CLIENT', 'REPLY', 'ON')).toBe('+OK\r\n')
    expect(client.send('PING')).toBe('+PONG\r\n')
  })

  test('silences the reply to a message of its own, not the message', () => {
    const { client } = resp3()
    client.send('SUBSCRIBE', 'ch')
    client.send('CLIENT', 'REPLY', 'OFF')
    expect(client.send('PUBLISH', 'ch', 'hi')).toBe(MESSAGE)
  })

  test('is ended by RESET, whose reply is sent', () => {
    const { client } = resp3()
    client.send('CLIENT', 'REPLY', 'OFF')
    expect(client.send('RESET')).toBe('+RESET\r\n')
    expect(client.send('PING')).toBe('+PONG\r\n')
  })

  test('keeps the pushes of a silent transaction, without its header', () => {
    const { client } = resp3()
    client.send('CLIENT', 'REPLY', 'OFF')
    for (const args of [['MULTI'], ['PING'], ['SUBSCRIBE', 'ch'], ['PUBLISH', 'ch', 'hi']]) {
      expect(client.send(...args)).toBe('')
    }
    expect(client.send('EXEC')).toBe(`>3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n${MESSAGE}`)
  })

  test('does not keep QUIT from closing the connection', () => {
    const { client } = resp3()
    client.send('CLIENT', 'REPLY', 'OFF')
    expect(client.send('QUIT')).toBe('')
    expect(client.sink.ends).toEqual([undefined])
  })

  test('silences the answer to a protocol error', () => {
    const { server, client } = resp3()
    client.send('CLIENT', 'REPLY', 'OFF')
    server.dispatcher.fail(client.client, 'ERR Protocol error: invalid bulk length')
    expect(client.read()).toBe('')
  })
})

describe('CLIENT REPLY SKIP', () => {
  test('silences itself and the next command, pipelined or not', () => {
    const { client } = resp3()
    client.write(
      Buffer.concat([
        command('CLIENT', 'REPLY', 'SKIP'),
        command('PING', 'a'),
        command('PING', 'b'),
        command('CLIENT', 'REPLY', 'SKIP'),
        command('NONSENSE'),
        command('PING', 'c'),
      ]),
    )
    expect(client.read()).toBe('$1\r\nb\r\n$1\r\nc\r\n')
  })

  test('is used up by a subscription, whose push is sent', () => {
    const { client } = resp3()
    client.send('CLIENT', 'REPLY', 'SKIP')
    expect(client.send('SUBSCRIBE', 'z')).toBe('>3\r\n$9\r\nsubscribe\r\n$1\r\nz\r\n:1\r\n')
    expect(client.send('PING')).toBe('+PONG\r\n')
  })

  test('twice skips one command', () => {
    const { client } = resp3()
    client.send('CLIENT', 'REPLY', 'SKIP')
    client.send('CLIENT', 'REPLY', 'SKIP')
    expect(client.send('PING')).toBe('')
    expect(client.send('PING')).toBe('+PONG\r\n')
  })

  test('means nothing while replies are off', () => {
    const { client } = resp3()
    client.send('CLIENT', 'REPLY', 'OFF')
    client.send('CLIENT', 'REPLY', 'SKIP')
    expect(client.send('CLIENT', 'REPLY', 'ON')).toBe('+OK\r\n')
    expect(client.send('PING')).toBe('+PONG\r\n')
  })

  test('silences a RESET that follows', () => {
    const { client } = resp3()
    client.send('CLIENT', 'REPLY', 'SKIP')
    expect(client.send('RESET')).toBe('')
    expect(client.send('PING')).toBe('+PONG\r\n')
  })

  test('silences a whole transaction where EXEC is the next command', () => {
    const { client } = resp3()
    client.send('MULTI')
    client.send('PING')
    client.client.replyMode = 'skip-next'
    expect(client.send('EXEC')).toBe('')
    expect(client.send('PING')).toBe('+PONG\r\n')
  })
})

describe('CLIENT REPLY', () => {
  test.each(['ON', 'OFF', 'SKIP'])('%s is refused in a transaction, which fails by it', (word) => {
    const { client } = resp3()
    client.send('MULTI')
    expect(client.send('CLIENT', 'REPLY', word)).toBe(
      '-ERR Command not allowed inside a transaction\r\n',
    )
    expect(client.send('PING')).toBe('+QUEUED\r\n')
    expect(client.send('EXEC')).toBe(
      '-EXECABORT Transaction discarded because of previous errors.\r\n',
    )
    expect(client.send('PING')).toBe('+PONG\r\n')
  })

  test('with another word is a syntax error', () => {
    const { client } = resp3()
    expect(client.send('CLIENT', 'REPLY', 'BAD')).toBe('-ERR syntax error\r\n')
    expect(client.send('client', 'reply', 'on')).toBe('+OK\r\n')
  })
})

describe('CLIENT', () => {
  test('SETNAME takes printable names and shows them', () => {
    const client = new TestCore().connect()
    expect(client.send('CLIENT', 'GETNAME')).toBe('$-1\r\n')
    expect(client.send('CLIENT', 'SETNAME', 'a!~')).toBe('+OK\r\n')
    expect(client.send('CLIENT', 'GETNAME')).toBe('$3\r\na!~\r\n')
    for (const name of ['a b', 'a\n', '\x7f', '\xe9']) {
      expect(client.send('CLIENT', 'SETNAME', name)).toMatch(/^-ERR Client names cannot contain/)
    }
    expect(client.send('CLIENT', 'SETNAME', '')).toBe('+OK\r\n')
    expect(client.send('CLIENT', 'GETNAME')).toBe('$-1\r\n')
  })

  test('names, library names and tracked prefixes of a WebSocket have at most 256 bytes', () => {
    const server = new TestCore()
    const [client, tcp] = [server.connect({ transport: 'websocket' }), server.connect()]
    client.becomeDefault()
    const [fits, long] = ['n'.repeat(256), 'n'.repeat(257)]
    const error = '-ERR a name of more than 256 bytes is not allowed on this connection\r\n'
    for (const args of [
      ['CLIENT', 'SETNAME'],
      ['HELLO', '3', 'SETNAME'],
      ['CLIENT', 'SETINFO', 'LIB-NAME'],
      ['CLIENT', 'SETINFO', 'LIB-VER'],
      ['CLIENT', 'TRACKING', 'ON', 'BCAST', 'PREFIX'],
    ]) {
      expect(client.send(...args, long)).toBe(error)
      expect(client.send(...args, fits)).not.toContain('-ERR')
      expect(tcp.send(...args, long)).not.toContain('-ERR')
    }
    expect(client.client.name).toBe(fits)
  })

  test('a WebSocket tracks at most 64 prefixes', () => {
    const client = new TestCore().connect({ transport: 'websocket' })
    client.becomeDefault()
    const words = Array.from({ length: 60 }, (_, i) => ['PREFIX', `p${i + 10}:`]).flat()
    const tracking = ['CLIENT', 'TRACKING', 'ON', 'BCAST'] as const
    expect(client.send(...tracking, ...words.slice(0, 100))).toBe('+OK\r\n')
    expect(
      client.send(
        ...tracking,
        ...words.slice(100),
        ...words.slice(80).map((word) => (word === 'PREFIX' ? word : `q${word}`)),
      ),
    ).toBe('-ERR at most 64 prefixes are allowed on this connection\r\n')
  })

  test('SETINFO names the attribute as it was typed', () => {
    const client = new TestCore().connect()
    expect(client.send('CLIENT', 'SETINFO', 'Lib-Name', 'a b')).toBe(
      '-ERR Lib-Name cannot contain spaces, newlines or special characters.\r\n',
    )
    expect(client.send('CLIENT', 'SETINFO', 'foo', 'x')).toBe("-ERR Unrecognized option 'foo'\r\n")
  })
})
