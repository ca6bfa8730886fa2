import { describe, expect, test } from 'vitest'
import { encodeCommand, push } from '../../support/resp-client.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { unframe } from '../../support/recording-sink.ts'
import { eventually, NO_AUTH, opener } from '../../support/opened.ts'
import { clientFrame } from '../../support/raw-upgrade.ts'

const open = opener()

describe('commands over WebSocket', () => {
  test('a new connection speaks RESP3 without a HELLO', async () => {
    const [, client] = await open.withSession({ channels: ['a'] })
    await client.assertReply(['SUBSCRIBE', 'a'], '>3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n')
    await client.assertReply(['CLIENT', 'GETNAME'], '_\r\n')
  })

  test('HELLO 2 is refused with NOPROTO and changes nothing', async () => {
    const [, client] = await open.withSession({ channels: ['a'] })
    await client.assertReply(['HELLO', '2'], '-NOPROTO unsupported protocol version\r\n')
    await client.assertReply(['CLIENT', 'GETNAME'], '_\r\n')
  })

  test('HELLO 2 with a token is refused before the token is looked at', async () => {
    const server = await open.server()
    const client = await open.webSocket(server)
    const token = await server.mint('42')
    client.command('HELLO', '2', 'AUTH', 'jwt', token)
    await client.takeExactly('-NOPROTO unsupported protocol version\r\n')
    await client.assertReply(['PING'], NO_AUTH)
  })

  test('a text message is taken as its UTF-8 bytes, and answered in binary', async () => {
    const [, client] = await open.withSession({ channels: ['*'] })
    client.sendText('SUBSCRIBE news\r\n')
    await client.takeExactly(push(3, 'subscribe', 'news', 1))
    client.sendText('PUBLISH news "grüße"\r\n')
    await client.takeExactly(':1\r\n')
    await client.takeExactly(push(3, 'message', 'news', Buffer.from('grüße')))
    client.sendText('*2\r\n$4\r\nECHO\r\n$2\r\né\r\n')
    await client.takeExactly('$2\r\n\xc3\xa9\r\n')
  })

  test('a text message without a line end is a whole command', async () => {
    const [, client] = await open.withSession({ channels: ['*'] })
    client.sendText('PING')
    client.sendText('ECHO "a b"')
    await client.takeExactly('+PONG\r\n$3\r\na b\r\n')
  })

  test('a length in UTF-16 units instead of bytes is a protocol error, not a hang', async () => {
    const [, client] = await open.withSession({})
    client.sendText('*2\r\n$4\r\nECHO\r\n$1\r\né\r\n')
    await client.takeExactly('-ERR Protocol error: invalid CRLF in request\r\n')
    expect((await client.closed).code).toBe(4400)
  })

  test('a command may be cut over messages anywhere, also between text and binary', async () => {
    const [, client] = await open.withSession({})
    const bytes = encodeCommand('ECHO', 'hello')
    for (let at = 1; at < bytes.length; at++) {
      client.send(bytes.subarray(0, at))
      client.send(Buffer.alloc(0))
      client.sendText(bytes.toString('latin1', at))
      await client.takeExactly('$5\r\nhello\r\n')
    }
  })

  test('many commands in one message are answered in order', async () => {
    const [, client] = await open.withSession({})
    const numbers = [...Array(1000).keys()].map(String)
    client.send(Buffer.concat(numbers.map((number) => encodeCommand('ECHO', number))))
    await client.takeExactly(numbers.map((number) => `$${number.length}\r\n${number}\r\n`).join(''))
    await client.assertPong()
  })

  test('a message cut into fragments is one message', async () => {
    const server = await open.server()
    const token = await server.mint('42')
    const upgrade = await open.upgrade(server.httpPort, {
      headers: { 'Sec-WebSocket-Protocol': `resp3, bearer.${token}` },
    })
    const bytes = encodeCommand('ECHO', 'hello')
    upgrade.write(clientFrame(bytes.subarray(0, 5), { final: false }))
    upgrade.write(clientFrame('', { opcode: 9 }))
    upgrade.write(clientFrame(bytes.subarray(5, 9), { opcode: 0, final: false }))
    upgrade.write(clientFrame(bytes.subarray(9), { opcode: 0 }))
    await eventually('the reply', () => upgrade.received().includes('hello'))
    expect(upgrade.received().includes(Buffer.from([0x8a, 0x00]))).toBe(true)
    expect(upgrade.received().toString('latin1')).toMatch(/\$5\r\nhello\r\n$/)
  })

  test('what leaves in the same segment as the upgrade request is executed once, in order', async () => {
    const server = await open.server()
    const token = await server.mint('42', { channels: ['a'] })
    const early = Buffer.concat([
      clientFrame(encodeCommand('HELLO', '3', 'AUTH', 'jwt', token)),
      clientFrame(encodeCommand('SUBSCRIBE', 'a')),
      clientFrame(encodeCommand('PUBLISH', 'a', 'm')),
    ])
    const upgrade = await open.upgrade(server.httpPort, { early })
    const last = push(3, 'message', 'a', 'm')
    await eventually('the message', () => upgrade.received().includes(last))
    const text = Buffer.concat(unframe(upgrade.received())).toString('latin1')
    expect(text).toMatch(/^%7\r\n\$6\r\nserver\r\n/)
    expect(text).toMatch(/:1\r\n>3\r\n\$7\r\nmessage\r\n\$1\r\na\r\n\$1\r\nm\r\n$/)
    expect(text.split('$9\r\nsubscribe\r\n').length).toBe(2)
  })

  test('commands sent with the upgrade wait for the token that came with it', async () => {
    const server = await open.server()
    const token = await server.mint('42', { channels: ['a'] })
    const upgrade = await open.upgrade(server.httpPort, {
      headers: { 'Sec-WebSocket-Protocol': `resp3, bearer.${token}` },
      early: clientFrame(encodeCommand('ACL', 'WHOAMI')),
    })
    await eventually('the reply', () =>
      upgrade.received().toString('latin1').endsWith('$6\r\njwt:42\r\n'),
    )
    const text = Buffer.concat(unframe(upgrade.received())).toString('latin1')
    expect(text).toMatch(
      /^>4\r\n\$5\r\ntoken\r\n\$6\r\nlimits\r\n:\d+\r\n:\d+\r\n>4\r\n\$5\r\ntoken\r\n\$8\r\naccepted\r\n/,
    )
  })
})

describe('how the server closes a WebSocket', () => {
  test('4400 after the error line, where bytes are not RESP', async () => {
    const [, client] = await open.withSession({})
    client.send('*1\r\n$4\r\nPING\r\n*x\r\n*1\r\n$4\r\nPING\r\n')
    await client.takeExactly('+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n')
    expect(await client.closed).toEqual({
      code: 4400,
      reason: 'protocol-error||invalid multibulk length',
    })
    expect(client.takeAll()).toBe('')
  })

  test('4401 after the error line, where the token of AUTH is refused', async () => {
    const server = await open.server()
    const client = await open.webSocket(server)
    await client.assertReply(['AUTH', 'jwt', 'x.y.z'], '-WRONGPASS invalid token\r\n')
    expect(await client.closed).toEqual({ code: 4401, reason: 'unauthorized||invalid token' })
  })

  test('4403 forbidden, where the ceiling of the subject is off', async () => {
    const server = await open.server()
    await (await open.tcp(server)).assertReply(['ACL', 'SETUSER', 'jwt:42', 'off'], '+OK\r\n')
    const client = await open.webSocket(server, { token: await server.mint('42') })
    expect(await client.closed).toEqual({ code: 4403, reason: 'forbidden||invalid token' })
  })

  test('4408, where nobody logs in within auth-timeout', async () => {
    const clock = new FakeClock()
    const server = await open.server({ clock, directives: { 'auth-timeout': '1' } })
    const silent = await open.webSocket(server)
    const talking = await open.webSocket(server)
    const prompt = await open.webSocket(server)
    await prompt.assertReply(['AUTH', 'jwt', await server.mint('42')], '+OK\r\n')
    await prompt.takeAccepted('jwt:42')
    clock.advance(999)
    await talking.assertReply(['PING'], NO_AUTH)
    expect(silent.isClosed).toBe(false)
    clock.advance(1)
    for (const client of [silent, talking]) {
      expect(await client.closed).toEqual({
        code: 4408,
        reason: 'auth-timeout||no login within 1 s',
      })
    }
    await prompt.assertPong()
  })

  test.each([
    [
      'a command that announces more than ws-max-payload',
      '*3\r\n$7\r\nPUBLISH\r\n$1\r\na\r\n$65536\r\n',
    ],
    ['a command with more than ws-max-arguments', '*129\r\n'],
    ['an inline command with more than ws-max-arguments', `${'a '.repeat(129)}\r\n`],
  ])('4413 after the error line: %s', async (_name, bytes) => {
    const [, client] = await open.withSession({ channels: ['*'] })
    client.send(bytes)
    const { code, reason } = await client.closed
    expect(code).toBe(4413)
    expect(reason).toMatch(/^too-large\|\|/)
    expect(client.takeAll()).toMatch(/^-ERR Protocol error: .+\r\n$/)
  })

  test('1000 after the reply of QUIT', async () => {
    const [, client] = await open.withSession({})
    client.send(Buffer.concat([encodeCommand('QUIT'), encodeCommand('PING')]))
    await client.takeExactly('+OK\r\n')
    expect(await client.closed).toEqual({ code: 1000, reason: '' })
    expect(client.takeAll()).toBe('')
  })
})
