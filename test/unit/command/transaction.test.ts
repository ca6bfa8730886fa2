import { describe, expect, test } from 'vitest'
import { clientMemory } from '../../../server/client/describe.ts'
import { command, TestCore, type TestClient } from '../../support/test-core.ts'

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

describe('The queue of a transaction', () => {
  const REFUSED = '-ERR at most 128 commands in one transaction are allowed on this connection\r\n'
  const ABORTED = '-EXECABORT Transaction discarded because of previous errors.\r\n'

  function webSocket(server = new TestCore()) {
    const client = server.connect({ transport: 'websocket' })
    client.becomeDefault()
    return client
  }

  test('takes 128 commands of a WebSocket; one more is refused, and EXEC fails', () => {
    const client = webSocket()
    client.send('MULTI')
    for (let i = 0; i < 128; i++) expect(client.send('PING')).toBe('+QUEUED\r\n')
    expect(client.send('PING')).toBe(REFUSED)
    expect(client.send('PING')).toBe('+QUEUED\r\n')
    expect(client.client.transaction?.queue).toHaveLength(128)
    expect(client.send('EXEC')).toBe(ABORTED)
    expect(client.send('EXEC')).toBe('-ERR EXEC without MULTI\r\n')
  })

  test('with 128 commands is executed', () => {
    const client = webSocket()
    client.send('MULTI')
    for (let i = 0; i < 128; i++) client.send('PING')
    expect(client.send('EXEC')).toBe(`*128\r\n${'+PONG\r\n'.repeat(128)}`)
  })

  test.each([
    ['tcp', 'tcp-max-queued-commands'],
    ['websocket', 'ws-max-queued-commands'],
  ] as const)('is limited for %s by %s, where 0 is no limit', (transport, directive) => {
    const server = new TestCore({ [directive]: '2' })
    const client = server.connect({ transport })
    client.becomeDefault()
    client.send('MULTI')
    for (let i = 0; i < 2; i++) expect(client.send('PING')).toBe('+QUEUED\r\n')
    server.set(directive, '0')
    expect(client.send('PING')).toBe('+QUEUED\r\n')
    server.set(directive, '3')
    expect(client.send('PING')).toBe(
      '-ERR at most 3 commands in one transaction are allowed on this connection\r\n',
    )
  })

  test('counts with the memory that its commands take, not only with the bytes of their arguments', () => {
    const client = new TestCore().connect()
    client.send('MULTI')
    client.send('PING')
    expect(client.client.transaction?.bytes).toBe(704)
    client.send('PUBLISH', 'ab', 'cde')
    expect(client.client.transaction?.bytes).toBe(704 + 700 + 2 * 110 + 12)
  })

  test('counts against maxmemory-clients', () => {
    const server = new TestCore({ 'maxmemory-clients': '1mb' })
    const client = server.connect()
    const pings = Buffer.concat(Array<Buffer>(1_000).fill(command('PING')))
    server.set('maxmemory-clients', '1000000')
    client.send('MULTI')
    client.write(pings)
    expect(client.client.closed).toBe(false)
    client.write(pings)
    client.read()
    expect(client.client.closeCause?.name).toBe('slow-consumer')
    expect(server.counters.evictedClients).toBe(1)
  })

  test('counts against client-query-buffer-limit, also when it grows after a turn', () => {
    const server = new TestCore({ 'client-query-buffer-limit': '1mb', 'tcp-turn-budget': '10' })
    const client = server.connect()
    client.send('MULTI')
    client.write(Buffer.concat(Array<Buffer>(3_000).fill(command('PING'))))
    expect(client.client.closed).toBe(false)
    server.turn.end()
    expect(client.client.closeCause?.name).toBe('query-buffer')
    expect(client.client.commands).toBeLessThan(1_600)
  })
})

describe('During EXEC', () => {
  test('the client is in its transaction, as CLIENT INFO and ACL LOG say', () => {
    const server = new TestCore()
    server.setUser('u', 'on nopass +@all')
    const client = server.connect()
    client.send('AUTH', 'u', 'x')
    client.send('MULTI')
    client.send('CLIENT', 'INFO')
    client.send('ECHO', 'x')
    server.setUser('u', '-echo')
    const user = server.users.get('u')
    if (!user) throw new Error('no user')
    server.clients.setIdentity(client.client, { user, ceilings: [], token: undefined })
    const info = client.send('EXEC')
    expect(info).toMatch(/ flags=x .* multi=2 .* multi-mem=1\d{3} .* cmd=exec /)
    expect(server.aclLog.list().map(({ context }) => context)).toEqual(['multi'])
    expect(client.send('CLIENT', 'INFO')).toMatch(/ flags=N .* multi=-1 .* multi-mem=0 /)
  })

  test('an error is charged to the command that failed, not to EXEC', () => {
    const server = new TestCore()
    const client = server.connect()
    client.send('MULTI')
    client.send('CLIENT', 'NO-TOUCH', 'x')
    client.send('PING')
    client.send('EXEC')
    const failed = (name: string) => server.table.named(name)?.failedCalls
    expect([failed('client|no-touch'), failed('ping'), failed('exec')]).toEqual([1, 0, 0])
  })

  test.each([
    ['another command follows', ['ECHO', 'PING'], 0],
    ['it is the last', ['PING', 'ECHO'], 1],
  ])('a denial is charged to EXEC only where %s, as in Redis', (_name, names, failedCalls) => {
    const server = new TestCore()
    server.setUser('u', 'on nopass +@all')
    const client = server.connect()
    client.send('AUTH', 'u', 'x')
    client.send('MULTI')
    for (const name of names) client.send(name, 'x')
    server.connect().send('ACL', 'SETUSER', 'u', '-echo')
    expect(client.send('EXEC')).toMatch(/-NOPERM ACLs rules changed/)
    expect(server.table.named('exec')?.failedCalls).toBe(failedCalls)
    expect(server.table.named('echo')?.rejectedCalls).toBe(0)
  })
})

describe('A reply of EXEC beyond the output limit', () => {
  test.each([
    ['tcp', 'normal 2kb 0 0', 16_384 + 2_047],
    ['websocket', 'websocket 2kb 0 0', 2_047],
  ] as const)(
    'closes the client, of which every command is executed and no reply sent (%s)',
    (transport, limit, most) => {
      const run = (bytes: number) => {
        const server = new TestCore({ 'client-output-buffer-limit': limit })
        const witness = server.connect({ protocol: 3 })
        witness.send('SUBSCRIBE', 'a')
        const client = server.connect({ transport })
        client.becomeDefault()
        client.send('MULTI')
        client.send('ECHO', 'x'.repeat(bytes))
        client.send('PUBLISH', 'a', 'later')
        return { reply: client.send('EXEC'), seen: witness.read(), client: client.client, server }
      }
      const headers = '*2\r\n$2000\r\n\r\n:1\r\n'.length + (most > 9_999 ? 1 : 0)
      const fits = run(most - headers)
      expect([fits.reply.length, fits.client.closed]).toEqual([most, false])
      const over = run(most - headers + 1)
      expect([over.reply, over.client.closeCause?.name]).toEqual(['', 'slow-consumer'])
      expect(over.seen).toContain('later')
      expect(over.server.counters.outputLimitDisconnections).toBe(1)
    },
  )
})

describe('A pipeline with large replies', () => {
  test('is not executed further once the client is over its output limit', () => {
    const server = new TestCore({ 'client-output-buffer-limit': 'websocket 1mb 256kb 10' })
    const client = server.connect({ transport: 'websocket' })
    client.becomeDefault()
    client.sink.blocks = true
    client.write(Buffer.concat(Array<Buffer>(500).fill(command('COMMAND', 'DOCS'))))
    server.turn.end()
    expect(client.client.closeCause?.name).toBe('slow-consumer')
    expect(client.client.commands).toBeLessThan(100)
  })

  test('is answered in whole to a client that reads', () => {
    const server = new TestCore({ 'client-output-buffer-limit': 'websocket 1mb 256kb 10' })
    const client = server.connect({ transport: 'websocket' })
    client.becomeDefault()
    const one = client.send('COMMAND', 'DOCS')
    client.write(Buffer.concat(Array<Buffer>(50).fill(command('COMMAND', 'DOCS'))))
    expect(client.read() === one.repeat(50)).toBe(true)
  })
})

test('EXEC stays the last command of its client, also when it holds a login', () => {
  const client = new TestCore().connect()
  for (const words of [['MULTI'], ['AUTH', 'default', 'x'], ['CLIENT', 'INFO']]) {
    client.send(...words)
  }
  expect(client.send('EXEC')).toMatch(/ cmd=exec user=default /)
})

describe('WATCH', () => {
  const watchOf = (client: TestClient): string =>
    /watch=(\d+)/.exec(client.send('CLIENT', 'INFO'))?.[1] ?? ''

  test('counts the keys of each database until the transaction ends', () => {
    const server = new TestCore()
    const [client, other] = [server.connect(), server.connect()]
    client.send('WATCH', 'a', 'b', 'a')
    client.send('SELECT', '1')
    client.send('WATCH', 'a')
    other.send('WATCH', 'c')
    other.send('SELECT', '1')
    other.send('WATCH', 'a')
    expect([watchOf(client), watchOf(other)]).toEqual(['3', '2'])
    const info = client.send('INFO', 'clients')
    expect(info).toMatch(/watching_clients:2\r/)
    expect(info).toMatch(/total_watched_keys:4\r/)
  })

  test.each([
    [['UNWATCH']],
    [['MULTI'], ['EXEC']],
    [['MULTI'], ['DISCARD']],
    [['MULTI'], ['NOTHING'], ['EXEC']],
    [['MULTI'], ['EXEC', 'x']],
    [['RESET']],
  ])('is over after %j', (...commands) => {
    const client = new TestCore().connect()
    client.send('WATCH', 'k')
    expect(watchOf(client)).toBe('1')
    for (const words of commands) client.send(...words)
    expect([watchOf(client), client.client.watched]).toEqual(['0', undefined])
  })

  test('is over before the commands of EXEC, and not after an EXEC without MULTI', () => {
    const client = new TestCore().connect()
    client.send('WATCH', 'k')
    expect(client.send('EXEC')).toBe('-ERR EXEC without MULTI\r\n')
    expect(watchOf(client)).toBe('1')
    client.send('MULTI')
    client.send('CLIENT', 'INFO')
    expect(client.send('EXEC')).toMatch(/ watch=0 /)
  })

  test('holds no more keys for a WebSocket than one command may name, and counts them as memory', () => {
    const server = new TestCore({ 'ws-max-arguments': '200' })
    const client = server.connect({ transport: 'websocket' })
    client.becomeDefault()
    const before = clientMemory(client.client)
    const keys = Array.from({ length: 65 }, (_, i) => `k${i}`)
    expect(client.send('WATCH', ...keys)).toBe(
      '-ERR at most 64 watched keys are allowed on this connection\r\n',
    )
    expect(watchOf(client)).toBe('64')
    expect(clientMemory(client.client) - before).toBeGreaterThan(64 * 128)
  })
})
