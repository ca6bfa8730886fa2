import { describe, expect, test } from 'vitest'
import { command, TestCore } from '../../support/test-core.ts'

describe('A transaction', () => {
  test('runs its commands one after the other and nothing between them', () => {
    const server = new TestCore()
    const [one, other] = [server.connect(), server.connect()]
    one.send('MULTI')
    one.send('PUBLISH', 'a', '1')
    one.send('ECHO', 'x')
    other.send('SUBSCRIBE', 'a')
    expect(one.send('EXEC')).toBe('*2\r\n:1\r\n$1\r\nx\r\n')
    expect(other.read()).toBe('*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\n1\r\n')
  })

  test('keeps the bytes of its commands, whatever became of what they came in', () => {
    const server = new TestCore()
    const client = server.connect()
    client.send('MULTI')
    const bytes = command('ECHO', 'kept')
    client.write(bytes)
    bytes.fill(0x78)
    expect(client.send('EXEC')).toBe('+QUEUED\r\n*1\r\n$4\r\nkept\r\n')
  })

  test('asks the user again for each command', () => {
    const server = new TestCore()
    server.setUser('u', 'on nopass +@all resetchannels &a &b')
    const client = server.connect()
    client.send('AUTH', 'u', 'x')
    for (const args of [
      ['MULTI'],
      ['PUBLISH', 'a', '1'],
      ['PUBLISH', 'b', '1'],
      ['ECHO', 'x'],
      ['PING'],
    ]) {
      client.send(...args)
    }
    server.setUser('u', '-echo resetchannels &b')
    const user = server.users.get('u')
    if (!user) throw new Error('no user')
    server.clients.setIdentity(client.client, { user, ceilings: [], token: undefined })
    const changed =
      '-NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command ' +
      'is no longer allowed for the following reason:'
    expect(client.send('EXEC')).toBe(
      `*4\r\n${changed} no permission to access one of the channels used as arguments\r\n:0\r\n` +
        `${changed} no permission to execute the command or subcommand\r\n+PONG\r\n`,
    )
    expect(server.aclLog.denied).toMatchObject({ channel: 1, command: 1 })
  })

  test('answers QUEUED once it is bound to fail, and keeps nothing', () => {
    const client = new TestCore().connect()
    client.send('MULTI')
    client.send('NONSENSE')
    expect(client.send('PING')).toBe('+QUEUED\r\n')
    expect(client.client.transaction?.queue).toEqual([])
    expect(client.send('EXEC')).toMatch(/^-EXECABORT/)
  })

  test.each([
    ['a denied channel', ['PUBLISH', 'no', 'x']],
    ['a denied command', ['CLIENT', 'LIST']],
    ['a wrong number of arguments', ['PUBLISH', 'a']],
    ['an unknown command', ['NONSENSE']],
  ])('fails by %s', (_name, args) => {
    const server = new TestCore()
    server.setUser('u', 'on nopass +@all -client|list resetchannels &a')
    const client = server.connect()
    client.send('AUTH', 'u', 'x')
    client.send('MULTI')
    expect(client.send(...args)).toMatch(/^-/)
    expect(client.send('EXEC')).toBe(
      '-EXECABORT Transaction discarded because of previous errors.\r\n',
    )
  })

  test('is discarded by DISCARD, by RESET and by EXEC with arguments', () => {
    const client = new TestCore().connect()
    for (const args of [['DISCARD'], ['RESET'], ['EXEC', 'x']]) {
      client.send('MULTI')
      client.send('NONSENSE')
      client.send(...args)
      expect(client.send('EXEC')).toBe('-ERR EXEC without MULTI\r\n')
    }
  })

  test('is left by QUIT at once', () => {
    const client = new TestCore().connect()
    client.send('MULTI')
    expect(client.send('QUIT')).toBe('+OK\r\n')
    expect(client.sink.ends).toEqual([undefined])
  })

  test('may log in by password, for what follows in it', () => {
    const server = new TestCore()
    server.setUser('u', 'on >pw +acl|whoami')
    const client = server.connect()
    client.send('MULTI')
    client.send('AUTH', 'u', 'pw')
    client.send('ACL', 'WHOAMI')
    client.send('PING')
    expect(client.send('EXEC')).toMatch(/^\*3\r\n\+OK\r\n\$1\r\nu\r\n-NOPERM ACLs rules changed/)
  })

  test('takes UNWATCH as a command and WATCH not at all', () => {
    const client = new TestCore().connect()
    expect(client.send('WATCH', 'k')).toBe('+OK\r\n')
    client.send('MULTI')
    expect(client.send('UNWATCH')).toBe('+QUEUED\r\n')
    expect(client.send('WATCH', 'k')).toBe('-ERR WATCH inside MULTI is not allowed\r\n')
    expect(client.send('EXEC')).toBe('*1\r\n+OK\r\n')
  })
})
