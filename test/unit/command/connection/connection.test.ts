import { describe, expect, test } from 'vitest'
import { command, TestCore } from '../../../support/test-core.ts'
import { helloReply } from '../../../support/hello-reply.ts'

const WRONGPASS = '-WRONGPASS invalid username-password pair or user is disabled.\r\n'

describe('HELLO', () => {
  test('answers in the protocol that it chooses', () => {
    const client = new TestCore().connect()
    expect(client.send('HELLO')).toBe(helloReply(2, 1))
    expect(client.send('HELLO', '3')).toBe(helloReply(3, 1))
    expect(client.send('HELLO')).toBe(helloReply(3, 1))
    expect(client.send('HELLO', '2')).toBe(helloReply(2, 1))
  })

  test.each([
    [['x'], '-ERR Protocol version is not an integer or out of range'],
    [['99999999999999999999'], '-ERR Protocol version is not an integer or out of range'],
    [['1'], '-NOPROTO unsupported protocol version'],
    [['4'], '-NOPROTO unsupported protocol version'],
    [['3', 'AUTH', 'x'], "-ERR Syntax error in HELLO option 'AUTH'"],
    [['3', 'SetName'], "-ERR Syntax error in HELLO option 'SetName'"],
    [['3', 'foo', 'bar'], "-ERR Syntax error in HELLO option 'foo'"],
    [
      ['3', 'SETNAME', 'a b'],
      '-ERR Client names cannot contain spaces, newlines or special characters.',
    ],
    [['3', 'AUTH', 'nobody', 'x'], WRONGPASS.trimEnd()],
  ])('refuses %j and changes nothing', (args, error) => {
    const client = new TestCore().connect()
    expect(client.send('HELLO', ...args)).toBe(`${error}\r\n`)
    expect([client.client.protocol, client.client.name]).toEqual([2, ''])
  })

  test('reads all options before it does anything', () => {
    const server = new TestCore()
    server.setUser('default', 'resetpass >pw')
    const client = server.connect()
    expect(client.send('HELLO', '3', 'AUTH', 'default', 'pw', 'SETNAME', 'x', 'foo')).toMatch(
      /^-ERR Syn/,
    )
    expect([client.client.authenticated, client.client.name]).toEqual([false, ''])
    expect(client.send('HELLO', '3', 'setname', 'x', 'auth', 'default', 'pw')).toBe(
      helloReply(3, 1),
    )
    expect([client.client.authenticated, client.client.name]).toEqual([true, 'x'])
  })

  test('needs a login', () => {
    const server = new TestCore()
    server.setUser('default', 'resetpass >pw')
    const client = server.connect()
    expect(client.send('HELLO', '3')).toBe(
      '-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> ' +
        '<pass> option can be used to authenticate the client and select the RESP protocol version at the same time\r\n',
    )
    expect(client.client.protocol).toBe(2)
  })

  test('logs in any password of a user that needs none', () => {
    expect(new TestCore().connect().send('HELLO', '3', 'AUTH', 'default', 'x')).toBe(
      helloReply(3, 1),
    )
  })

  test('keeps a WebSocket in RESP3', () => {
    const client = new TestCore().connect({ transport: 'websocket' })
    expect(client.send('HELLO', '2')).toBe('-NOPROTO unsupported protocol version\r\n')
    expect(client.client.protocol).toBe(3)
  })

  test('changes the protocol for the rest of a transaction', () => {
    const client = new TestCore().connect()
    client.send('MULTI')
    for (const args of [
      ['CLIENT', 'GETNAME'],
      ['HELLO', '3'],
      ['CLIENT', 'GETNAME'],
    ])
      client.send(...args)
    expect(client.send('EXEC')).toBe(`*3\r\n$-1\r\n${helloReply(3, 1)}_\r\n`)
  })

  test('changes the form of the messages that follow', () => {
    const server = new TestCore()
    const client = server.connect({ protocol: 3 })
    client.send('SUBSCRIBE', 'a')
    const publisher = server.connect()
    publisher.write(command('PUBLISH', 'a', '1'))
    client.write(command('HELLO', '2'))
    publisher.write(command('PUBLISH', 'a', '2'))
    const body = (text: string): string => `3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\n${text}\r\n`
    expect(client.read()).toBe(`>${body('1')}${helloReply(2, 1)}*${body('2')}`)
    expect(client.send('HELLO', '3')).toMatch(/^-ERR Can't execute 'hello'/)
  })
})

describe('AUTH', () => {
  test('with a password alone is the default user', () => {
    const server = new TestCore()
    const client = server.connect()
    expect(client.send('AUTH', 'x')).toBe(
      '-ERR AUTH <password> called without any password configured for the default user. Are you sure your ' +
        'configuration is correct?\r\n',
    )
    server.setUser('default', 'resetpass >pw')
    expect(client.send('AUTH', 'x')).toBe(WRONGPASS)
    expect(client.send('AUTH', 'pw')).toBe('+OK\r\n')
  })

  test('with more than a user and a password is a syntax error', () => {
    expect(new TestCore().connect().send('AUTH', 'a', 'b', 'c')).toBe('-ERR syntax error\r\n')
  })

  test('tells a user that is unknown, off or has another password alike', () => {
    const server = new TestCore()
    server.setUser('off', 'off >pw')
    server.setUser('on', 'on >other')
    server.setUser('empty', 'on')
    const client = server.connect()
    for (const user of ['nobody', 'off', 'on', 'empty']) {
      expect(client.send('AUTH', user, 'pw')).toBe(WRONGPASS)
    }
    expect(client.send('PING')).toBe('+PONG\r\n')
    expect(server.aclLog.denied.auth).toBe(4)
    expect(server.aclLog.list()[0]).toMatchObject({
      reason: 'auth',
      object: 'AUTH',
      username: 'empty',
    })
  })

  test('that fails leaves who was logged in before', () => {
    const server = new TestCore()
    server.setUser('u', 'on >pw +acl|whoami')
    const client = server.connect()
    expect(client.send('AUTH', 'u', 'pw')).toBe('+OK\r\n')
    expect(client.send('AUTH', 'u', 'wrong')).toBe(WRONGPASS)
    expect(client.send('ACL', 'WHOAMI')).toBe('$1\r\nu\r\n')
  })

  test('is answered wherever it stands in a pipeline', () => {
    const server = new TestCore()
    const client = server.connect()
    client.write(Buffer.concat([command('PING'), command('AUTH', 'x', 'y'), command('PING')]))
    expect(client.read()).toBe(`+PONG\r\n${WRONGPASS}+PONG\r\n`)
  })

  test('never logs in a role, or the user of a token', () => {
    const server = new TestCore()
    server.setUser('role:r', 'resetchannels +subscribe')
    server.setUser('jwt:42', 'resetchannels')
    const client = server.connect()
    expect(client.send('AUTH', 'role:r', 'x')).toBe(WRONGPASS)
    expect(client.send('AUTH', 'jwt:42', 'x')).toBe(WRONGPASS)
  })

  test('over a public WebSocket takes no password', () => {
    const server = new TestCore()
    server.setUser('u', 'on >pw +@all')
    server.setUser('open', 'on nopass +@all')
    const client = server.connect({ transport: 'websocket' })
    expect(client.send('AUTH', 'u', 'pw')).toBe(WRONGPASS)
    expect(client.send('AUTH', 'open', 'x')).toBe(WRONGPASS)
    expect(client.send('AUTH', 'default', 'x')).toBe(WRONGPASS)
    expect(client.client.authenticated).toBe(false)
  })

  test('as another user keeps subscriptions, as Redis does', () => {
    const server = new TestCore()
    server.setUser('u', 'on nopass +@all')
    const client = server.connect({ protocol: 3 })
    client.send('SUBSCRIBE', 'a')
    expect(client.send('AUTH', 'u', 'x')).toBe('+OK\r\n')
    expect([...client.client.subscriptions.names('channel')]).toEqual([['a', 'default']])
  })
})

describe('RESET', () => {
  test('makes the connection as it was when it was new', () => {
    const server = new TestCore()
    server.setUser('u', 'on nopass +@all allchannels')
    const client = server.connect()
    for (const args of [
      ['HELLO', '3', 'AUTH', 'u', 'x', 'SETNAME', 'n'],
      ['SELECT', '3'],
      ['CLIENT', 'SETINFO', 'lib-name', 'kept'],
      ['CLIENT', 'NO-EVICT', 'on'],
      ['CLIENT', 'NO-TOUCH', 'on'],
      ['SUBSCRIBE', 'a'],
      ['PSUBSCRIBE', 'b*'],
      ['SSUBSCRIBE', 'c'],
      ['MULTI'],
    ]) {
      client.send(...args)
    }
    expect(client.send('RESET')).toBe('+RESET\r\n')
    const { database, identity, libraryName, name, noEvict, noTouch, protocol, subscriptions } =
      client.client
    expect({ database, libraryName, name, noEvict, noTouch, protocol }).toEqual({
      database: 0,
      libraryName: 'kept',
      name: '',
      noEvict: false,
      noTouch: false,
      protocol: 2,
    })
    expect([identity.user.name, subscriptions.any, server.registry.subscriberCount]).toEqual([
      'default',
      false,
      0,
    ])
    expect(client.send('EXEC')).toBe('-ERR EXEC without MULTI\r\n')
  })

  test('needs a login again where the default user has a password', () => {
    const server = new TestCore()
    server.setUser('default', 'resetpass >pw')
    const client = server.connect()
    client.send('AUTH', 'pw')
    expect(client.send('RESET')).toBe('+RESET\r\n')
    expect(client.send('PING')).toMatch(/^-NOAUTH/)
  })
})

describe('PING', () => {
  test.each([2, 3] as const)('depends in RESP2 on subscriptions: RESP%d', (protocol) => {
    const client = new TestCore().connect({ protocol })
    const sign = protocol === 2 ? '*' : '>'
    const pong = (text: string): string => `*2\r\n$4\r\npong\r\n$${text.length}\r\n${text}\r\n`
    client.write(
      Buffer.concat([
        command('SUBSCRIBE', 'a'),
        command('PING'),
        command('PING', 'hi'),
        command('UNSUBSCRIBE', 'a'),
        command('PING'),
        command('PING', 'hi'),
      ]),
    )
    const during = protocol === 2 ? pong('') + pong('hi') : '+PONG\r\n$2\r\nhi\r\n'
    expect(client.read()).toBe(
      `${sign}3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n${during}` +
        `${sign}3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n+PONG\r\n$2\r\nhi\r\n`,
    )
  })
})

describe('SELECT', () => {
  test.each([
    ['0', '+OK'],
    ['15', '+OK'],
    ['16', '-ERR DB index is out of range'],
    ['-1', '-ERR DB index is out of range'],
    ['x', '-ERR value is not an integer or out of range'],
    ['1.5', '-ERR value is not an integer or out of range'],
  ])('%s answers %s', (database, reply) => {
    expect(new TestCore().connect().send('SELECT', database)).toBe(`${reply}\r\n`)
  })
})

describe('ECHO and QUIT', () => {
  test('answer any bytes, and OK with any arguments', () => {
    const client = new TestCore().connect()
    expect(client.send('ECHO', '\0\r\n\xff')).toBe('$4\r\n\0\r\n\xff\r\n')
    expect(client.send('QUIT', 'a', 'b')).toBe('+OK\r\n')
    expect(client.sink.ends).toEqual([undefined])
  })
})
