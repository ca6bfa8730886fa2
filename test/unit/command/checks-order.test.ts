import { describe, expect, test } from 'vitest'
import { TestCore } from '../../support/test-core.ts'

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

describe('Commands are counted', () => {
  test('by calls, refusals and failures', () => {
    const { server, client } = as('+ping +echo +select +multi +exec')
    client.send('PING')
    client.send('PING', 'a', 'b')
    client.send('PUBLISH', 'a', 'b')
    client.send('ECHO')
    client.send('SELECT', 'x')
    const counts = (name: string): number[] => {
      const command = server.table.named(name)
      return [command?.calls ?? -1, command?.rejectedCalls ?? -1, command?.failedCalls ?? -1]
    }
    expect(counts('ping')).toEqual([2, 0, 1])
    expect(counts('publish')).toEqual([0, 1, 0])
    expect(counts('echo')).toEqual([0, 1, 0])
    expect(counts('select')).toEqual([1, 0, 1])
    expect(server.counters.commandsProcessed).toBe(6)
    expect(Object.fromEntries(server.counters.errors)).toEqual({ ERR: 3, NOPERM: 1 })
  })
})
