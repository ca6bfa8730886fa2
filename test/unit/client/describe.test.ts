import { describe, expect, test } from 'vitest'
import { describeClient } from '../../../server/client/describe.ts'
import { command, TestCore, type TestClient } from '../../support/test-core.ts'

/** The fields of a client's line. */
function fields({ client }: TestClient, nowMs = 0): Map<string, string> {
  const pairs = describeClient(client, nowMs)
    .split(' ')
    .map((field): [string, string] => {
      const [name = '', ...rest] = field.split('=')
      return [name, rest.join('=')]
    })
  return new Map(pairs)
}

describe('The line of a client', () => {
  test('has the fields of Redis 8.0 in its order', () => {
    const server = new TestCore()
    const { client } = server.connect({ address: '10.0.0.1:5' })
    server.clock.advance(2_900)
    expect(describeClient(client, server.clock.monotonicMs())).toBe(
      'id=1 addr=10.0.0.1:5 laddr=127.0.0.1:6380 fd=-1 name= age=2 idle=2 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 ' +
        'watch=0 qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=4096 events=r cmd=NULL ' +
        'user=default redir=-1 resp=2 lib-name= lib-ver= io-thread=0',
    )
  })

  test('escapes addresses, so that the path of a Unix socket adds no field', () => {
    const server = new TestCore()
    const client = server.connect({ transport: 'unix', address: '/run/a user=b:0' })
    expect(describeClient(client.client, 0)).toContain('id=1 addr=/run/a\\x20user=b:0 laddr=')
  })

  test('counts subscriptions by their space', () => {
    const server = new TestCore()
    const client = server.connect()
    client.send('SUBSCRIBE', 'a', 'b')
    client.send('PSUBSCRIBE', 'a*')
    client.send('SSUBSCRIBE', 's', 't', 'u')
    const line = fields(client)
    expect(['sub', 'psub', 'ssub', 'flags'].map((name) => line.get(name))).toEqual([
      '2',
      '1',
      '3',
      'P',
    ])
  })

  test('shows the transaction, the name, the database and the library', () => {
    const server = new TestCore()
    const client = server.connect({ protocol: 3, transport: 'unix', address: '/run/x:0' })
    client.send('CLIENT', 'SETNAME', 'worker')
    client.send('CLIENT', 'SETINFO', 'LIB-NAME', 'lib')
    client.send('CLIENT', 'SETINFO', 'lib-ver', '1.2')
    client.send('CLIENT', 'NO-EVICT', 'on')
    client.send('CLIENT', 'NO-TOUCH', 'on')
    client.send('SELECT', '3')
    client.send('MULTI')
    client.send('ECHO', 'abc')
    const line = fields(client)
    const names = [
      'name',
      'lib-name',
      'lib-ver',
      'db',
      'multi',
      'multi-mem',
      'flags',
      'resp',
      'addr',
    ]
    expect(names.map((name) => line.get(name))).toEqual([
      'worker',
      'lib',
      '1.2',
      '3',
      '1',
      '817',
      'xUeT',
      '3',
      '/run/x:0',
    ])
  })

  test('shows what waits to be sent, and a full socket', () => {
    const server = new TestCore()
    const client = server.connect()
    client.sink.blocks = true
    client.send('PING')
    client.write(command('PING'))
    const line = fields(client)
    expect(['oll', 'omem', 'events'].map((name) => line.get(name))).toEqual(['1', '14', 'rw'])
  })

  test('names the last command in full, and none where it was unknown', () => {
    const server = new TestCore()
    const client = server.connect()
    client.send('client', 'id')
    expect(fields(client).get('cmd')).toBe('client|id')
    client.send('MULTI')
    client.send('PING')
    client.send('EXEC')
    expect(fields(client).get('cmd')).toBe('exec')
    client.send('nonsense')
    expect(fields(client).get('cmd')).toBe('NULL')
  })

  test('of a token session tells of its token, blanks and controls escaped', () => {
    const server = new TestCore()
    const client = server.connect({ transport: 'websocket' })
    const { user } = client.client.identity
    const token = {
      sub: 'a b\\',
      iss: 'https://auth.example',
      jti: undefined,
      kid: undefined,
      key: { kid: 'k 1', thumbprint: 'abc' },
      expiresAtMs: 5_999,
    }
    server.clients.setIdentity(client.client, {
      user: { ...user, name: 'jwt:a\tb' },
      ceilings: [],
      token,
    })
    const line = describeClient(client.client, 0)
    expect(line.slice(line.indexOf('io-thread'))).toBe(
      'io-thread=0 jwt-sub=a\\x20b\\x5c jwt-iss=https://auth.example jwt-jti= jwt-exp=5 jwt-kid=k\\x201 jwt-key=abc ' +
        'origin=https://app.example transport=websocket',
    )
    expect(line).toContain(' user=jwt:a\\x09b ')
  })

  test('escapes the bytes of characters that do not show, and leaves others as they are', () => {
    const server = new TestCore()
    const { client } = server.connect()
    const shownAs = (text: string): string => {
      const name = Buffer.from(text, 'utf8').toString('latin1')
      server.clients.setIdentity(client, {
        ...client.identity,
        user: { ...client.identity.user, name },
      })
      const value = / user=(\S*) /.exec(describeClient(client, 0))?.[1] ?? ''
      return Buffer.from(value, 'latin1').toString('utf8')
    }
    expect(shownAs('Zo\u00eb\u202e42')).toBe('Zo\u00eb\\xe2\\x80\\xae42')
    expect(shownAs('\u200b')).toBe('\\xe2\\x80\\x8b')
    expect(shownAs('\u05e9\u05dc')).toBe('\u05e9\u05dc')
  })
})
