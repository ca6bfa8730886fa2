import { describe, expect, test } from 'vitest'
import { readKillOrder } from '../../../../server/client/kill.ts'
import { IDS_PER_NODE } from '../../../../server/control/node.ts'
import { coreWithControl } from '../../../support/fake-control.ts'
import { command, TestCore, type TestClient } from '../../../support/test-core.ts'
import { tokenFor } from '../../../support/tokens.ts'

/** An administrator and four others: a subscriber, one on a Unix socket, one who is `ann`, a browser. */
async function crowd() {
  const server = new TestCore()
  server.setUser('ann', 'on nopass +@all')
  const admin = server.connect()
  const subscriber = server.connect({ address: '10.0.0.2:2' })
  subscriber.send('SUBSCRIBE', 'a')
  const unix = server.connect({ transport: 'unix', address: '/run/x:0' })
  server.clock.advance(5_000)
  const ann = server.connect()
  ann.send('AUTH', 'ann', 'x')
  const browser = server.connect({ transport: 'websocket' })
  await browser.sendAndWait('AUTH', 'jwt', tokenFor({ channels: ['a'] }, { jti: 'j1' }))
  const all = { admin, subscriber, unix, ann, browser }
  const dead = (): string[] =>
    Object.entries(all).flatMap(([name, { client }]) => (client.closed ? [name] : []))
  return { server, ...all, dead }
}

function ids(reply: string): number[] {
  return [...reply.matchAll(/^id=(\d+) /gm)].map((match) => Number(match[1]))
}

function list(client: TestClient, ...args: string[]): number[] {
  const reply = client.send('CLIENT', 'LIST', ...args)
  return ids(reply.slice(reply.indexOf('\r\n') + 2))
}

describe('CLIENT LIST', () => {
  test('has a line for each client, in the order in which they connected', async () => {
    const { admin } = await crowd()
    expect(list(admin)).toEqual([1, 2, 3, 4, 5])
  })

  test('by TYPE, or by ID in the order given', async () => {
    const { admin } = await crowd()
    expect(list(admin, 'TYPE', 'pubsub')).toEqual([2])
    expect(list(admin, 'type', 'Normal')).toEqual([1, 3, 4, 5])
    expect(list(admin, 'TYPE', 'replica')).toEqual([])
    expect(list(admin, 'ID', '4', '99', '2')).toEqual([4, 2])
  })

  test.each([
    [['TYPE', 'foo'], "-ERR Unknown client type 'foo'"],
    [['TYPE'], '-ERR syntax error'],
    [['ID'], '-ERR syntax error'],
    [['ID', 'x'], '-ERR Invalid client ID'],
    [['FOO', 'x'], '-ERR syntax error'],
    [['TYPE', 'normal', 'x'], '-ERR syntax error'],
  ])('refuses %j', async (args, error) => {
    const { admin } = await crowd()
    expect(admin.send('CLIENT', 'LIST', ...args)).toBe(`${error}\r\n`)
  })

  test('is a bulk string in RESP2 and verbatim text in RESP3', () => {
    const server = new TestCore()
    const client = server.connect()
    expect(client.send('CLIENT', 'INFO')).toMatch(/^\$\d+\r\nid=1 .* resp=2 .*\n\r\n$/)
    client.send('HELLO', '3')
    expect(client.send('CLIENT', 'INFO')).toMatch(/^=\d+\r\ntxt:id=1 .* resp=3 .*\n\r\n$/)
    expect(client.send('CLIENT', 'LIST', 'ID', '9')).toBe('=4\r\ntxt:\r\n')
  })

  test('shows names as the bytes they are', () => {
    const server = new TestCore()
    server.setUser('jos\xc3\xa9', 'on nopass +@all')
    const client = server.connect()
    client.send('AUTH', 'jos\xc3\xa9', 'x')
    expect(client.send('CLIENT', 'LIST')).toContain(' user=jos\xc3\xa9 ')
    expect(client.send('CLIENT', 'INFO')).toContain(' user=jos\xc3\xa9 ')
  })
})

describe('CLIENT KILL by an address', () => {
  test('kills who comes from there', async () => {
    const { admin, dead } = await crowd()
    expect(admin.send('CLIENT', 'KILL', '10.0.0.2:2')).toBe('+OK\r\n')
    expect(admin.send('CLIENT', 'KILL', '10.0.0.2:2')).toBe('-ERR No such client\r\n')
    expect(dead()).toEqual(['subscriber'])
  })

  test('answers who kills itself', async () => {
    const { admin } = await crowd()
    expect(admin.send('CLIENT', 'KILL', admin.client.origin.address)).toBe('+OK\r\n')
    expect([admin.sink.ends, admin.sink.terminated]).toEqual([[undefined], false])
  })
})

describe('CLIENT KILL by filters', () => {
  test.each([
    [['ID', '2'], ['subscriber']],
    [['ADDR', '/run/x:0'], ['unix']],
    [
      ['LADDR', '127.0.0.1:6380'],
      ['subscriber', 'unix', 'ann', 'browser'],
    ],
    [['USER', 'ann'], ['ann']],
    [['USER', 'jwt:42'], ['browser']],
    [['TYPE', 'pubsub'], ['subscriber']],
    [['TYPE', 'slave'], []],
    [
      ['MAXAGE', '5'],
      ['subscriber', 'unix'],
    ],
    [['MAXAGE', '6'], []],
    [['JWT-SUB', '42'], ['browser']],
    [['JWT-JTI', 'j1'], ['browser']],
    [['JWT-ISS', 'https://auth.example'], ['browser']],
    [['TRANSPORT', 'WebSocket'], ['browser']],
    [['transport', 'unix', 'type', 'normal'], ['unix']],
    [['ID', '2', 'TYPE', 'normal'], []],
    [
      ['SKIPME', 'yes'],
      ['subscriber', 'unix', 'ann', 'browser'],
    ],
    [
      ['SKIPME', 'no', 'USER', 'default'],
      ['admin', 'subscriber', 'unix'],
    ],
  ])('%j', async (args, victims) => {
    const { admin, dead } = await crowd()
    expect(admin.send('CLIENT', 'KILL', ...args)).toBe(`:${victims.length}\r\n`)
    expect(dead()).toEqual(victims)
  })

  test.each([
    [['ID', 'x', 'TYPE', 'normal'], '-ERR client-id should be greater than 0'],
    [['ID', '0'], '-ERR client-id should be greater than 0'],
    [['ID', '-1'], '-ERR client-id should be greater than 0'],
    [['TYPE', 'foo'], "-ERR Unknown client type 'foo'"],
    [['USER', 'nobody'], "-ERR No such user 'nobody'"],
    [['MAXAGE', 'x'], '-ERR maxage is not an integer or out of range'],
    [['MAXAGE', '0'], '-ERR maxage should be greater than 0'],
    [['SKIPME', 'maybe'], '-ERR syntax error'],
    [['FOO', 'x'], '-ERR syntax error'],
    [['ID', '2', 'TYPE'], '-ERR syntax error'],
  ])('refuses %j and kills nobody', async (args, error) => {
    const { admin, dead } = await crowd()
    expect(admin.send('CLIENT', 'KILL', ...args)).toBe(`${error}\r\n`)
    expect(dead()).toEqual([])
  })

  test('sends a killed subscriber nothing more, and a WebSocket an ordinary close', async () => {
    const { server, admin, subscriber, browser } = await crowd()
    expect(admin.send('CLIENT', 'KILL', 'SKIPME', 'yes')).toBe(':4\r\n')
    expect([subscriber.sink.terminated, browser.sink.terminated]).toEqual([true, false])
    expect(browser.sink.ends).toEqual([undefined])
    expect(server.registry.subscriberCount).toBe(0)
    expect(server.tokens.size).toBe(0)
  })
})

describe('CLIENT LIST of many clients with long names', () => {
  test('is written in pieces, and shortens what a client of TCP can make very long', () => {
    const server = new TestCore()
    const [operator, named] = [server.connect(), server.connect()]
    named.send('CLIENT', 'SETNAME', 'n'.repeat(70_000))
    const text = operator.send('CLIENT', 'LIST')
    const [header = ''] = text.split('\r\n', 1)
    expect(Number(header.slice(1))).toBe(text.length - header.length - 4)
    expect(text).toContain(` name=${'n'.repeat(65_536)}... age=`)
    expect(named.send('CLIENT', 'GETNAME')).toBe(`$70000\r\n${'n'.repeat(70_000)}\r\n`)
  })
})

describe('CLIENT KILL with an option that is given again', () => {
  test.each([
    [['ID', '2', 'ID', '4'], ['ann']],
    [['TYPE', 'pubsub', 'TYPE', 'normal', 'USER', 'default', 'USER', 'ann'], ['ann']],
    [['ADDR', '10.0.0.2:2', 'addr', '/run/x:0'], ['unix']],
    [['TRANSPORT', 'unix', 'TRANSPORT', 'websocket'], ['browser']],
  ])('takes the last value: %j', async (args, killed) => {
    const { admin, dead } = await crowd()
    expect(admin.send('CLIENT', 'KILL', ...args)).toBe(`:${killed.length}\r\n`)
    expect(dead()).toEqual(killed)
  })

  test.each([
    [['TYPE', 'foo', 'ID'], "-ERR Unknown client type 'foo'"],
    [['ID', '0', 'SKIPME'], '-ERR client-id should be greater than 0'],
    [['ID', '1', 'FOO'], '-ERR syntax error'],
  ])('reads option by option, and refuses the first that is wrong: %j', async (args, error) => {
    const { admin, dead } = await crowd()
    expect(admin.send('CLIENT', 'KILL', ...args)).toBe(`${error}\r\n`)
    expect(dead()).toEqual([])
  })

  test('by the address of a Unix socket closes all of its clients', async () => {
    const { server, admin, unix } = await crowd()
    const second = server.connect({ transport: 'unix', address: '/run/x:0' })
    expect(admin.send('CLIENT', 'KILL', '/run/x:0')).toBe('+OK\r\n')
    expect([unix.client.closed, second.client.closed]).toEqual([true, true])
  })
})

describe('CLIENT KILL at one of several gateways', () => {
  const MISSING = [{ name: 'b', fencedInMs: 8_123 }]

  function gateway() {
    const { server, control } = coreWithControl()
    const admin = server.connect()
    const victim = server.connect({ address: '10.0.0.2:2' })
    const ask = async (words: readonly string[], answer: () => void): Promise<string> => {
      admin.write(command('CLIENT', 'KILL', ...words))
      answer()
      await admin.settled()
      return admin.read()
    }
    return { server, control, admin, victim, ask }
  }

  test('closes clients here at once, has the others close theirs, and answers their sum', async () => {
    const { admin, control, victim, ask } = gateway()
    const reply = await ask(['TYPE', 'normal', 'ADDR', '10.0.0.2:2'], () => {
      expect(victim.client.closed).toBe(true)
      control.commitNext({ sessions: 3 })
    })
    expect(reply).toBe(':3\r\n')
    const [request] = control.requests
    expect(request?.changes).toEqual([])
    expect(request?.order?.part).toBe('k')
    expect(readKillOrder(request?.order?.value ?? '')).toEqual({
      type: 'normal',
      addr: '10.0.0.2:2',
      skip: admin.client.id,
    })
    expect(await request?.enforced).toBe(1)
  })

  test('by an id of its own asks nobody else', () => {
    const { admin, control, victim } = gateway()
    expect(admin.send('CLIENT', 'KILL', 'ID', String(victim.client.id))).toBe(':1\r\n')
    expect(control.requests).toEqual([])
  })

  test('by the id of another gateway answers what that one has closed', async () => {
    const { control, ask } = gateway()
    const id = 2 * IDS_PER_NODE + 7
    expect(await ask(['ID', String(id)], () => control.commitNext({ sessions: 1 }))).toBe(':1\r\n')
    expect(readKillOrder(control.requests[0]?.order?.value ?? '')?.id).toBe(id)
  })

  test('in its old form finds nobody only if no gateway has', async () => {
    const { control, ask } = gateway()
    expect(await ask(['10.0.0.9:9'], () => control.commitNext({ sessions: 1 }))).toBe('+OK\r\n')
    expect(await ask(['10.0.0.9:9'], () => control.commitNext())).toBe('-ERR No such client\r\n')
  })

  test('finds the sessions of a token that nobody has here', async () => {
    const { control, ask } = gateway()
    const words = ['USER', 'jwt:7']
    expect(await ask(words, () => control.commitNext({ sessions: 2 }))).toBe(':2\r\n')
    expect(await ask(words, () => control.commitNext())).toBe("-ERR No such user 'jwt:7'\r\n")
  })

  test('says how many were closed where not all gateways have answered', async () => {
    const { control, ask } = gateway()
    const words = ['ADDR', '10.0.0.2:2']
    expect(await ask(words, () => control.commitNext({ sessions: 1, missing: MISSING }))).toBe(
      '-NOREPLICAS closed 1, not confirmed by b, fenced within 8123 ms\r\n',
    )
    const lost = { state: 'unreachable', isDurable: true, isSent: true } as const
    expect(await ask(words, () => control.answer(lost))).toBe(
      '-NOREPLICAS closed 0 here alone: the upstream does not answer\r\n',
    )
    const refused = { state: 'refused', problem: 'no' } as const
    expect(await ask(words, () => control.answer(refused))).toBe(
      '-NOREPLICAS closed 0 here alone: no\r\n',
    )
  })

  test('inside MULTI, and for whoever closes itself, counts the clients of this gateway', () => {
    const { server, control, admin } = gateway()
    admin.send('MULTI')
    admin.send('CLIENT', 'KILL', 'ADDR', '10.0.0.2:2')
    expect(admin.send('EXEC')).toBe('*1\r\n:1\r\n')
    const self = server.connect()
    expect(self.send('CLIENT', 'KILL', 'ADDR', self.client.origin.address, 'SKIPME', 'no')).toBe(
      ':1\r\n',
    )
    expect(control.requests).toHaveLength(2)
  })
})
