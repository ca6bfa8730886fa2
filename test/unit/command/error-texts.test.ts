import { describe, expect, test } from 'vitest'
import { TestCore } from '../../support/test-core.ts'

function send(...args: string[]): string {
  return new TestCore().connect().send(...args)
}

describe('An unknown command', () => {
  test.each([
    [['foo'], "-ERR unknown command 'foo', with args beginning with: \r\n"],
    [
      ['FOO', 'a b', 'c"d'],
      "-ERR unknown command 'FOO', with args beginning with: 'a b' 'c\"d' \r\n",
    ],
    [[''], "-ERR unknown command '', with args beginning with: \r\n"],
    [['get', 'k'], "-ERR unknown command 'get', with args beginning with: 'k' \r\n"],
  ])('%j is named as it was typed', (args, reply) => {
    expect(send(...args)).toBe(reply)
  })

  test('is cut to 128 bytes, and so are its arguments all together', () => {
    expect(send('f'.repeat(200), 'a'.repeat(200))).toBe(
      `-ERR unknown command '${'f'.repeat(128)}', with args beginning with: '${'a'.repeat(128)}' \r\n`,
    )
    expect(send('foo', 'x'.repeat(100), 'y'.repeat(100), 'z')).toBe(
      `-ERR unknown command 'foo', with args beginning with: '${'x'.repeat(100)}' '${'y'.repeat(25)}' \r\n`,
    )
  })

  test('cannot break out of the line', () => {
    expect(send('a\r\n+OK\r\n', '\n:1\r')).toBe(
      "-ERR unknown command 'a  +OK  ', with args beginning with: ' :1 ' \r\n",
    )
  })

  test('is shown up to a NUL, and so is each argument', () => {
    expect(send('foo\0bar', 'a\0b', 'c')).toBe(
      "-ERR unknown command 'foo', with args beginning with: 'a' 'c' \r\n",
    )
  })

  test('may be the full name of a subcommand', () => {
    expect(send('CLIENT|ID')).toBe(
      "-ERR unknown command 'CLIENT|ID', with args beginning with: \r\n",
    )
    expect(send('client|id', 'x')).toBe(
      "-ERR unknown command 'client|id', with args beginning with: 'x' \r\n",
    )
    expect(send('publish|x', 'a')).toBe(
      "-ERR unknown command 'publish|x', with args beginning with: 'a' \r\n",
    )
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('may be %s', (name) => {
    expect(send(name)).toBe(`-ERR unknown command '${name}', with args beginning with: \r\n`)
    expect(send('CLIENT', name)).toBe(`-ERR unknown subcommand '${name}'. Try CLIENT HELP.\r\n`)
  })
})

describe('An unknown subcommand', () => {
  test('is named as it was typed, its container in capitals', () => {
    expect(send('pubSub', 'foo')).toBe("-ERR unknown subcommand 'foo'. Try PUBSUB HELP.\r\n")
    expect(send('ACL', 'x'.repeat(200))).toBe(
      `-ERR unknown subcommand '${'x'.repeat(128)}'. Try ACL HELP.\r\n`,
    )
    expect(send('CLIENT', 'a\r\n')).toBe("-ERR unknown subcommand 'a  '. Try CLIENT HELP.\r\n")
  })
})

describe('A wrong number of arguments', () => {
  test.each([
    [['PUBLISH', 'a'], 'publish'],
    [['subscribe'], 'subscribe'],
    [['PUBSUB'], 'pubsub'],
    [['CLIENT'], 'client'],
    [['PUBSUB', 'NUMPAT', 'x'], 'pubsub|numpat'],
    [['Config', 'Get'], 'config|get'],
    [['CLIENT', 'REPLY'], 'client|reply'],
    [['PING', 'a', 'b'], 'ping'],
    [['HELLO', '3', 'AUTH', 'x', 'y', 'z'], undefined],
  ])('%j names the command in full', (args, name) => {
    if (name === undefined) expect(send(...args)).not.toMatch(/wrong number/)
    else expect(send(...args)).toBe(`-ERR wrong number of arguments for '${name}' command\r\n`)
  })

  test.each([
    [['PUBSUB', 'CHANNELS', 'a', 'b'], 'CHANNELS', 'PUBSUB'],
    [['pubsub', 'shardchannels', 'a', 'b'], 'shardchannels', 'PUBSUB'],
    [['ACL', 'CAT', 'a', 'b'], 'CAT', 'ACL'],
  ])('%j that only the command finds names the subcommand', (args, subcommand, container) => {
    expect(send(...args)).toBe(
      `-ERR unknown subcommand or wrong number of arguments for '${subcommand}'. Try ${container} HELP.\r\n`,
    )
  })
})

describe('Every error', () => {
  test('is exactly one line, whatever the peer sent', () => {
    const server = new TestCore()
    const client = server.connect()
    const nasty = ['\r\n', '\0', 'a\r\n$3\r\nfoo', '\n-ERR x\r', '\xff\xfe', "'", 'x'.repeat(300)]
    const words = ['', 'CLIENT', 'PUBSUB', 'CONFIG', 'ACL', 'HELLO', 'SELECT', 'AUTH', 'nonsense']
    for (const word of words) {
      for (const one of nasty) {
        for (const args of [
          [word, one],
          [word, one, one],
          [word, 'KILL', one, one],
          [one, word],
        ]) {
          const reply = client.send(...args)
          expect(reply).toMatch(/^-[A-Z]+ [^\r\n\0]*\r\n$/)
          expect(reply.length).toBeLessThan(600)
        }
      }
    }
    expect(client.send('PING')).toBe('+PONG\r\n')
  })
})
