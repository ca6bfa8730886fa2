import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { connectRaw, encodeCommand, type RawClient, push } from '../../support/resp-client.ts'
import { assertAlive, eventually, nextTurn, opener, TRANSPORTS } from '../../support/opened.ts'
import { seededRandom } from '../../support/random.ts'

const open = opener()

describe('bytes that are not RESP', () => {
  // unit/resp/protocol-errors has every fault.
  const cases: [string, string, string][] = [
    ['a count that is no number', '*a\r\n', 'invalid multibulk length'],
    ['a bulk string that goes on', '*1\r\n$4\r\nPINGxx', 'invalid CRLF in request'],
    ['64 KiB without a line end', 'x'.repeat(65_537), 'too big inline request'],
  ]

  test.each(cases)('%s is answered once and ends the connection', async (_name, bytes, error) => {
    const [server, other] = await open.withTcp()
    const client = await open.tcp(server)
    client.send(bytes)
    await client.closed
    expect(client.takeAll()).toBe(`-ERR Protocol error: ${error}\r\n`)
    await other.assertPong()
  })

  test('commands before the fault are answered, those after it are not executed', async () => {
    const [server, subscriber] = await open.withTcp({}, 3)
    await subscriber.subscribe('a')
    const client = await open.tcp(server)
    const publish = encodeCommand('PUBLISH', 'a', 'm').toString('latin1')
    client.send(`${publish}*x\r\n${publish}`)
    await client.closed
    expect(client.takeAll()).toBe(':1\r\n-ERR Protocol error: invalid multibulk length\r\n')
    await subscriber.takeExactly(push(3, 'message', 'a', 'm'))
    await subscriber.assertPong()
  })

  test.each(TRANSPORTS)('random bytes never harm anybody else, %s', async (transport) => {
    const server = await open.server()
    const other = await open.client(server, transport)
    const random = seededRandom(20)
    const alphabet = '*$:+-_#,(!=%~>|\r\n\0 "\'0123456789aPINGSUBSCRIBE\xff\x16\x03'
    for (let round = 0; round < 60; round++) {
      const client = await open.client(server, transport)
      let bytes = ''
      const length = 1 + Math.floor(random() * 300)
      for (let i = 0; i < length; i++) bytes += alphabet[Math.floor(random() * alphabet.length)]
      client.send(bytes)
      await nextTurn()
      await other.assertPong()
      client.destroy()
    }
    await eventually('only one is left', () => server.core.clients.size === 1)
  })

  test('announced lengths hold no memory: only bytes that came do', async () => {
    const server = await open.server()
    const clients: RawClient[] = []
    const before = process.memoryUsage()
    for (let i = 0; i < 100; i++) {
      const client = await open.tcp(server)
      client.send('*1048576\r\n$536870912\r\nx')
      clients.push(client)
    }
    await eventually('all bytes are in', () =>
      [...server.core.clients.all()].every((client) => client.bytesIn === 23),
    )
    const after = process.memoryUsage()
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(16 * 1_048_576)
    for (const client of server.core.clients.all()) {
      expect(client.queryBytes).toBeLessThan(65_536)
    }
    await assertAlive(open, server)
  })

  test('empty commands and blank lines between commands change nothing', async () => {
    const [, client] = await open.withTcp()
    const nothing = '*0\r\n*-1\r\n\r\n\n   \r\n'
    client.send(`${nothing.repeat(1000)}PING\r\n${nothing}*1\r\n$4\r\nPING\r\n${nothing}`)
    await client.takeExactly('+PONG\r\n+PONG\r\n')
    await client.assertPong()
  })
})

describe('other protocols on the RESP port', () => {
  const publish = encodeCommand('PUBLISH', 'a', 'smuggled').toString('latin1')

  test.each([
    ['GET', 'GET / HTTP/1.1\r\nHost: localhost:6380\r\n\r\n'],
    ['POST', 'POST / HTTP/1.1\r\nHost: localhost:6380\r\n\r\n'],
    ['POST in lower case', 'post /\r\n'],
    ['HTTP/1.0', 'PUT /x HTTP/1.0\r\n\r\n'],
    ['OPTIONS', 'OPTIONS * HTTP/1.1\r\n\r\n'],
    ['CONNECT', 'CONNECT localhost:1 HTTP/1.1\r\n\r\n'],
    ['a Host header alone', 'Host: localhost\r\n'],
    ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n'],
    ['a TLS handshake without a line end', '\x16\x03\x01\x02\x00\x01'],
  ])('%s closes the connection without a byte, and nothing after it runs', async (_name, head) => {
    const [server, subscriber] = await open.withTcp({}, 3)
    await subscriber.subscribe('a')
    const client = await open.tcp(server)
    client.send(head + publish)
    await client.closed
    expect(client.takeAll()).toBe('')
    await subscriber.assertPong()
  })

  test('a RESP array with such a name is an unknown command', async () => {
    const [, client] = await open.withTcp()
    for (const name of ['POST', 'GET', 'Host:']) {
      client.command(name)
      await client.takeExactly(`-ERR unknown command '${name}', with args beginning with: \r\n`)
    }
    await client.assertPong()
  })

  test('RESP on the HTTP port is answered 400', async () => {
    const server = await open.server()
    const client = await connectRaw(server.httpPort)
    open.onEnd(() => client.destroy())
    client.send('*1\r\n$4\r\nPING\r\n')
    await client.closed
    expect(client.takeAll()).toMatch(/^HTTP\/1\.1 400 /)
    await assertAlive(open, server)
  })
})

describe("peers' words in errors", () => {
  const NASTY = 'a\r\nb\n+OK\r\0c'

  test.each(TRANSPORTS)('an error is one line whatever names it repeats, %s', async (transport) => {
    const server = await open.server()
    const client = await open.client(server, transport)
    const commands: (readonly string[])[] = [
      [NASTY, NASTY],
      [NASTY.repeat(1000), NASTY.repeat(1000), NASTY],
      ['CLIENT', NASTY],
      ['CLIENT', 'SETINFO', NASTY, 'x'],
      ['CLIENT', 'SETNAME', NASTY],
      ['HELLO', '3', NASTY],
      ['HELLO', NASTY],
      ['ACL', NASTY],
      ['SELECT', NASTY],
    ]
    if (transport !== 'RESP3 over WebSocket') {
      commands.push(
        ['CLIENT', 'KILL', 'TYPE', NASTY],
        ['CLIENT', 'KILL', 'USER', NASTY],
        ['CLIENT', 'REPLY', NASTY],
        ['CONFIG', 'SET', NASTY, NASTY],
        ['CONFIG', 'SET', 'loglevel', NASTY],
        ['ACL', 'SETUSER', 'x', NASTY],
        ['ACL', 'SETUSER', 'x', `+${NASTY}`],
        ['ACL', 'SETUSER', 'role:x', `&{${NASTY}}`],
        ['ACL', 'CAT', NASTY],
        ['ACL', 'DRYRUN', NASTY, 'PING'],
        ['ACL', 'DRYRUN', 'default', NASTY],
        ['ACL', 'LOG', NASTY],
        ['PUBSUB', NASTY],
        ['COMMAND', NASTY],
      )
    }
    for (const command of commands) {
      client.command(...command)
      const line = await client.takeLine()
      expect(line, JSON.stringify(command[0]?.slice(0, 20))).toMatch(/^-[A-Z]+ [^\r\n\0]*$/)
      expect(line.length).toBeLessThan(512)
      await client.assertPong()
    }
  })

  test('a denial names the channel in no way that ends the line', async () => {
    const [, client] = await open.withSession({ channels: ['ok'] })
    client.command('SUBSCRIBE', NASTY)
    expect(await client.takeLine()).toMatch(/^-NOPERM [^\r\n\0]*$/)
    await client.assertPong()
  })

  test.each(TRANSPORTS)('names travel as they are where they are data, %s', async (transport) => {
    const server = await open.server()
    const client = await open.client(server, transport)
    const protocol = transport === 'RESP2 over TCP' ? 2 : 3
    for (const [index, name] of [NASTY, '__proto__', 'constructor', '\xff\xfe', ''].entries()) {
      client.command('SUBSCRIBE', name)
      await client.takeExactly(push(protocol, 'subscribe', name, index + 1))
    }
    const publisher = await open.tcp(server)
    await publisher.assertReply(['PUBLISH', '__proto__', NASTY], ':1\r\n')
    await client.takeExactly(push(protocol, 'message', '__proto__', NASTY))
    await publisher.assertReply(['PUBLISH', 'toString', NASTY], ':0\r\n')
  })
})

describe('peers that vanish', () => {
  test('connections reset at any point of a session leave nothing behind', async () => {
    const server = await open.server()
    const random = seededRandom(57)
    const session = Buffer.concat([
      encodeCommand('HELLO', '3'),
      encodeCommand('SUBSCRIBE', 'a', 'b'),
      encodeCommand('PSUBSCRIBE', '*'),
      encodeCommand('PUBLISH', 'a', 'm'),
      encodeCommand('MULTI'),
      encodeCommand('PUBLISH', 'b', 'm'),
      encodeCommand('EXEC'),
    ])
    for (let i = 0; i < 100; i++) {
      const socket = connect(server.port, '127.0.0.1')
      socket.on('error', () => {})
      await new Promise<void>((resolve) => socket.once('connect', resolve))
      socket.write(session.subarray(0, Math.floor(random() * (session.length + 1))))
      if (random() < 0.5) await nextTurn()
      socket.resetAndDestroy()
    }
    await eventually('nobody is left', () => server.core.clients.size === 0)
    const admin = await open.tcp(server)
    await admin.assertReply(['PUBSUB', 'CHANNELS'], '*0\r\n')
    await admin.assertReply(['PUBSUB', 'NUMPAT'], ':0\r\n')
  })
})
