import { describe, expect, test } from 'vitest'
import { command, TestCore, type TestClient } from '../../support/test-core.ts'
import { tokenFor } from '../../support/tokens.ts'

const NOAUTH = '-NOAUTH Authentication required.\r\n'

/** A server whose default user needs a password, and a client that has not given it. */
function locked() {
  const server = new TestCore()
  server.setUser('default', 'resetpass >secret')
  return { server, client: server.connect() }
}

/** A client of the user `u`. */
function as(rules: string, protocol: 2 | 3 = 2) {
  const server = new TestCore()
  server.setUser('u', `on nopass ${rules}`)
  const client = server.connect({ protocol })
  expect(client.send('AUTH', 'u', 'x')).toBe('+OK\r\n')
  return { server, client }
}

describe('A command that throws', () => {
  /** A server on which GETNAME throws after half of its reply, and a client in RESP3. */
  function broken() {
    const server = new TestCore()
    const client = server.connect({ protocol: 3 })
    Object.defineProperty(client.client, 'libraryName', {
      get: () => {
        throw new Error('broken')
      },
    })
    return { server, client }
  }

  test('is answered with an error and counted; the connection stays', () => {
    const { server, client } = broken()
    client.write(Buffer.concat([command('CLIENT', 'INFO'), command('PING')]))
    expect(client.read()).toBe('-ERR internal error\r\n+PONG\r\n')
    expect([server.counters.internalErrors, client.client.closed]).toEqual([1, false])
    expect(client.send('INFO', 'stats')).toContain('\r\nunexpected_error_replies:1\r\n')
  })

  test('takes back what it had written, and nothing of the others in its transaction', () => {
    const { server, client } = broken()
    const table = server.registry
    table.countOf = (_space, name) => {
      if (name === 'b') throw new Error('broken')
      return 1
    }
    for (const words of [['MULTI'], ['PING'], ['PUBSUB', 'NUMSUB', 'a', 'b'], ['ECHO', 'x']]) {
      client.send(...words)
    }
    expect(client.send('EXEC')).toBe('*3\r\n+PONG\r\n-ERR internal error\r\n$1\r\nx\r\n')
    expect(client.send('PUBSUB', 'NUMSUB', 'a')).toBe('*2\r\n$1\r\na\r\n:1\r\n')
  })

  test('in a later slice is answered, and the connection goes on', async () => {
    const server = new TestCore()
    const client = server.connect({ protocol: 3 })
    const subscribe = server.registry.subscribe.bind(server.registry)
    server.registry.subscribe = (space, subscriber, name, owner) => {
      if (name === 'c600') throw new Error('broken')
      return subscribe(space, subscriber, name, owner)
    }
    client.send('SUBSCRIBE', ...Array.from({ length: 700 }, (_, i) => `c${i}`))
    server.clock.advance(0)
    await client.settled()
    expect(client.read()).toBe('-ERR internal error\r\n')
    expect(client.send('PING')).toBe('+PONG\r\n')
  })
})

describe('Without a login', () => {
  test.each([
    ['a command', ['PING']],
    ['an unknown command', ['NONSENSE']],
    ['an unknown subcommand', ['CLIENT', 'NONSENSE']],
    ['a wrong number of arguments', ['SUBSCRIBE']],
    ['a command of a transaction', ['MULTI']],
  ])('%s is refused before anything else is looked at', (_name, args) => {
    expect(locked().client.send(...args)).toBe(NOAUTH)
  })

  test('EXEC is refused as an aborted transaction', () => {
    expect(locked().client.send('EXEC')).toBe(
      '-EXECABORT Transaction discarded because of: NOAUTH Authentication required.\r\n',
    )
  })

  test('AUTH, HELLO, QUIT and RESET are looked at as ever', () => {
    const { client } = locked()
    expect(client.send('AUTH')).toBe("-ERR wrong number of arguments for 'auth' command\r\n")
    expect(client.send('RESET', 'x')).toBe("-ERR wrong number of arguments for 'reset' command\r\n")
    expect(client.send('RESET')).toBe('+RESET\r\n')
    expect(client.send('AUTH', 'wrong')).toMatch(/^-WRONGPASS /)
    expect(client.send('AUTH', 'secret')).toBe('+OK\r\n')
    expect(client.send('PING')).toBe('+PONG\r\n')
  })

  test('a connection that was open before goes on', () => {
    const server = new TestCore()
    const client = server.connect()
    server.setUser('default', 'resetpass >secret')
    expect(client.send('PING')).toBe('+PONG\r\n')
    expect(server.connect().send('PING')).toBe(NOAUTH)
  })

  test('a connection becomes usable when the default user needs no password any more', () => {
    const { server, client } = locked()
    server.setUser('default', 'nopass')
    expect(client.send('PING')).toBe('+PONG\r\n')
  })

  test('a default user that is off is nobody', () => {
    const server = new TestCore()
    server.setUser('default', 'off')
    expect(server.connect().send('PING')).toBe(NOAUTH)
  })

  test('a WebSocket is nobody, whatever the default user may do', () => {
    const client = new TestCore().connect({ transport: 'websocket' })
    expect(client.send('PING')).toBe(NOAUTH)
    expect(client.send('NONSENSE')).toBe(NOAUTH)
  })
})

describe('Where several rules refuse a command of a token session, the first in precedence is answered and logged:', () => {
  const NO_CHANNEL = '-NOPERM No permissions to access a channel\r\n'
  const noCommand = (name: string): string =>
    `-NOPERM User jwt:42 has no permissions to run the '${name}' command\r\n`

  /** Sends a command of a session. @returns The answer, and the reason and object of ACL LOG. */
  async function refused(claims: object, ceiling: string | undefined, line: string) {
    const server = new TestCore()
    if (ceiling !== undefined) server.setUser('jwt:42', ceiling)
    const client = server.connect({ protocol: 3 })
    expect(await client.sendAndWait('AUTH', 'jwt', tokenFor(claims))).toBe('+OK\r\n')
    const answer = client.send(...line.split(' '))
    const [entry] = server.aclLog.list()
    return [answer, entry?.reason, entry?.object]
  }

  test.each([
    ['deny before the user', { subscribe: ['a'], deny: ['b'] }, undefined, 'PUBLISH b x'],
    ['deny before a ceiling', { channels: ['*'], deny: ['b'] }, '-publish', 'PUBLISH b x'],
    ['a ceiling before the user', { publish: ['a'] }, 'resetchannels &a', 'SUBSCRIBE b'],
  ])('%s, where the one refuses the channel and the other the command', async (...given) => {
    const [, claims, ceiling, line] = given
    expect(await refused(claims, ceiling, line)).toEqual([NO_CHANNEL, 'channel', 'b'])
  })

  test('a ceiling before the user, where the one refuses the command and the other the channel', async () => {
    const answer = await refused({ channels: ['a'] }, '-subscribe', 'SUBSCRIBE b')
    expect(answer).toEqual([noCommand('subscribe'), 'command', 'subscribe'])
  })

  test('deny, then a ceiling, where each refuses another channel', async () => {
    const claims = { subscribe: ['a', 'b'], deny: ['a'] }
    expect(await refused(claims, undefined, 'SUBSCRIBE c a')).toEqual([NO_CHANNEL, 'channel', 'a'])
    const answer = await refused({ subscribe: ['a'] }, 'resetchannels &b', 'SUBSCRIBE a b')
    expect(answer).toEqual([NO_CHANNEL, 'channel', 'a'])
  })
})

describe('EXEC names the reason of the first rule in precedence that refuses a queued command now:', () => {
  /** Queues a command of a session, then changes what it may do. @returns The slot of EXEC, and the reason and object of ACL LOG. */
  async function refused(line: string, now: { deny?: string; ceiling?: string; role?: string }) {
    const server = new TestCore()
    server.setUser('role:r', 'off resetchannels +publish +subscribe &a &b')
    const [client, admin] = [server.connect({ protocol: 3 }), server.connect()]
    await client.sendAndWait('AUTH', 'jwt', tokenFor({ roles: ['r'] }))
    client.send('MULTI')
    expect(client.send(...line.split(' '))).toBe('+QUEUED\r\n')
    if (now.deny !== undefined) {
      await admin.sendAndWait('TOKEN', 'REVOKE', 'CHANNEL', now.deny, 'TTL', '60')
    }
    if (now.ceiling !== undefined) server.setUser('jwt:42', now.ceiling)
    if (now.role !== undefined) server.setUser('role:r', now.role)
    const [, slot] =
      /^\*1\r\n-NOPERM ACLs rules changed.*: ([^:]*)\r\n$/.exec(client.send('EXEC')) ?? []
    const [entry] = server.aclLog.list()
    return [slot, entry?.reason, entry?.object]
  }
  const CHANNEL = 'no permission to access one of the channels used as arguments'
  const COMMAND = 'no permission to execute the command or subcommand'

  test.each([
    ['deny before the user', { deny: 'b', role: '-publish' }, [CHANNEL, 'channel', 'b']],
    ['deny before a ceiling', { deny: 'b', ceiling: '-publish' }, [CHANNEL, 'channel', 'b']],
    [
      'a ceiling before the user, by the channel',
      { ceiling: 'resetchannels &a', role: '-publish' },
      [CHANNEL, 'channel', 'b'],
    ],
    [
      'a ceiling before the user, by the command',
      { ceiling: '-publish', role: 'resetchannels &a' },
      [COMMAND, 'command', 'publish'],
    ],
  ])('%s', async (_name, now, expected) => {
    expect(await refused('PUBLISH b x', now)).toEqual(expected)
  })

  test('deny, then a ceiling, where each refuses another channel', async () => {
    const now = { deny: 'b', ceiling: 'resetchannels &b' }
    expect(await refused('SUBSCRIBE a b', now)).toEqual([CHANNEL, 'channel', 'b'])
  })
})

describe('The checks of a command come in this order:', () => {
  test('its name, its arity, then the user', () => {
    const { client } = as('-@all')
    expect(client.send('nonsense')).toMatch(/^-ERR unknown command 'nonsense'/)
    expect(client.send('CLIENT', 'nonsense')).toBe(
      "-ERR unknown subcommand 'nonsense'. Try CLIENT HELP.\r\n",
    )
    expect(client.send('PUBLISH', 'a')).toBe(
      "-ERR wrong number of arguments for 'publish' command\r\n",
    )
    expect(client.send('PUBLISH', 'a', 'b')).toBe(
      "-NOPERM User u has no permissions to run the 'publish' command\r\n",
    )
  })

  test('the user, then what RESP2 allows while there are subscriptions', () => {
    const { client } = as('+subscribe +echo allchannels')
    client.send('SUBSCRIBE', 'a')
    expect(client.send('CLIENT', 'ID')).toBe(
      "-NOPERM User u has no permissions to run the 'client|id' command\r\n",
    )
    expect(client.send('ECHO', 'x')).toMatch(/^-ERR Can't execute 'echo'/)
  })

  test('whether a transaction may hold it, then the user', () => {
    const { client } = as('+multi')
    client.send('MULTI')
    expect(client.send('SHUTDOWN')).toBe('-ERR Command not allowed inside a transaction\r\n')
  })

  test('the command, then its channels', () => {
    const { client } = as('+publish +subscribe resetchannels &ok*')
    expect(client.send('SPUBLISH', 'no', 'x')).toBe(
      "-NOPERM User u has no permissions to run the 'spublish' command\r\n",
    )
    expect(client.send('PUBLISH', 'no', 'x')).toBe('-NOPERM No permissions to access a channel\r\n')
    expect(client.send('PUBLISH', 'ok1', 'no')).toBe(':0\r\n')
  })
})

describe('A channel that is denied', () => {
  test('refuses the whole SUBSCRIBE with one error', () => {
    const { server, client } = as('+@all resetchannels &ok*')
    expect(client.send('SUBSCRIBE', 'ok1', 'no', 'ok2')).toBe(
      '-NOPERM No permissions to access a channel\r\n',
    )
    expect(server.registry.channelCount('channel')).toBe(0)
    expect(client.send('PING')).toBe('+PONG\r\n')
  })

  test('is not asked for by unsubscribing', () => {
    const { client } = as('+@all resetchannels')
    expect(client.send('UNSUBSCRIBE', 'no')).toBe('*3\r\n$11\r\nunsubscribe\r\n$2\r\nno\r\n:0\r\n')
  })

  test('is compared literally for a pattern', () => {
    const { client } = as('+@all resetchannels &room:*', 3)
    expect(client.send('PSUBSCRIBE', 'room:1*')).toMatch(/^-NOPERM/)
    expect(client.send('PSUBSCRIBE', 'room:1')).toMatch(/^-NOPERM/)
    expect(client.send('PSUBSCRIBE', 'room:*')).toBe(
      '>3\r\n$10\r\npsubscribe\r\n$6\r\nroom:*\r\n:1\r\n',
    )
  })

  test('is logged with who, what and from where', () => {
    const { server, client } = as('+@all resetchannels')
    client.send('PUBLISH', 'no', 'x')
    client.send('MULTI')
    client.send('SUBSCRIBE', 'no')
    expect(server.aclLog.list()).toMatchObject([
      { reason: 'channel', context: 'multi', object: 'no', username: 'u' },
      { reason: 'channel', context: 'toplevel', object: 'no', username: 'u' },
    ])
    expect(server.aclLog.list()[0]?.clientInfo).toMatch(/^id=1 .* user=u /)
  })
})

describe('A user', () => {
  test('may always run AUTH, HELLO, QUIT and RESET', () => {
    const { client } = as('-@all')
    expect(client.send('AUTH', 'u', 'y')).toBe('+OK\r\n')
    expect(client.send('HELLO')).toMatch(/^\*14\r\n/)
    expect(client.send('RESET')).toBe('+RESET\r\n')
  })

  test('is bounded by each of its ceilings', () => {
    const { server, client } = as('+@all allchannels', 3)
    const { identity } = client.client
    server.setUser('ceiling', 'on +publish +psubscribe resetchannels &a*')
    const ceiling = server.users.get('ceiling')
    if (!ceiling) throw new Error('no ceiling')
    server.clients.setIdentity(client.client, { ...identity, ceilings: [ceiling] })
    expect(client.send('PUBLISH', 'a1', 'x')).toBe(':0\r\n')
    expect(client.send('PUBLISH', 'b', 'x')).toBe('-NOPERM No permissions to access a channel\r\n')
    expect(client.send('PSUBSCRIBE', 'a:*')).toBe('>3\r\n$10\r\npsubscribe\r\n$3\r\na:*\r\n:1\r\n')
    expect(client.send('PING')).toBe(
      "-NOPERM User u has no permissions to run the 'ping' command\r\n",
    )
  })
})

describe('A command that nobody may use', () => {
  test.each([
    ['DEBUG', 'x'],
    ['MODULE', 'LOAD', 'x'],
  ])('is refused as that, whatever else speaks against it: %s', (...args) => {
    const { client } = as('+subscribe +multi +exec &*')
    client.send('SUBSCRIBE', 'a')
    const refused = /^-ERR (DEBUG|MODULE) command not allowed\. /
    expect(client.send(...args)).toMatch(refused)
    client.send('RESET')
    client.send('AUTH', 'u', 'x')
    client.send('MULTI')
    expect(client.send(...args)).toMatch(refused)
    expect(client.send('EXEC')).toMatch(/^-EXECABORT /)
    expect(client.send(args[0] ?? '')).toMatch(/^-ERR wrong number of arguments/)
  })
})

describe('Commands are counted', () => {
  test('when they end: CONFIG RESETSTAT counts itself, and INFO does not yet', () => {
    const { server, client } = as('+@all')
    client.send('PING')
    client.send('CONFIG', 'RESETSTAT')
    const stats = client.send('INFO', 'stats', 'commandstats')
    expect(stats).toMatch(/total_commands_processed:1\r/)
    expect(stats.match(/cmdstat_[^:]+:calls=\d+/g)).toEqual(['cmdstat_config|resetstat:calls=1'])
    client.send('MULTI')
    client.send('PING')
    client.send('SELECT', 'x')
    expect(server.counters.commandsProcessed).toBe(3)
    client.send('EXEC')
    expect(server.counters.commandsProcessed).toBe(6)
  })

  test('also those that wait for their answer', async () => {
    const { server, client } = as('+@all')
    const auth = server.table.named('auth')
    await client.sendAndWait('AUTH', 'jwt', tokenFor({ channels: ['a'] }))
    await client.sendAndWait('AUTH', 'jwt', 'a.b.c')
    expect([auth?.calls, auth?.failedCalls]).toEqual([3, 1])
  })

  test('by calls, refusals and failures', () => {
    const { server, client } = as('+ping +echo +select +multi +exec')
    client.send('PING')
    client.send('PING', 'a', 'b')
    client.send('PUBLISH', 'a', 'b')
    client.send('ECHO')
    client.send('SELECT', 'x')
    const counts = (name: string): number[] => {
      const found = server.table.named(name)
      return [found?.calls ?? -1, found?.rejectedCalls ?? -1, found?.failedCalls ?? -1]
    }
    expect(counts('ping')).toEqual([2, 0, 1])
    expect(counts('publish')).toEqual([0, 1, 0])
    expect(counts('echo')).toEqual([0, 1, 0])
    expect(counts('select')).toEqual([1, 0, 1])
    // AUTH and the three that were executed.
    expect(server.counters.commandsProcessed).toBe(4)
    expect(Object.fromEntries(server.counters.errors)).toEqual({ ERR: 3, NOPERM: 1 })
  })
})

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

    test('gets each message after the reply to its own command in a pipeline', () => {
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

    test('gets all messages after the reply of EXEC', () => {
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

    test('gets the messages of others before its own reply', () => {
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
