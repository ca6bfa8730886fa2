import { describe, expect, test } from 'vitest'
import { coreWithControl, nodeRecord } from '../../../support/fake-control.ts'
import { TestCore } from '../../../support/test-core.ts'

const ask = (...args: string[]): string =>
  new TestCore().connect({ protocol: 3 }).send('RESPCAST', ...args)

test('RESPCAST PATTERNS answers each pattern with the number of its subscribers', () => {
  const core = new TestCore()
  const client = core.connect({ protocol: 3 })
  client.send('PSUBSCRIBE', 'a*')
  core.connect().send('PSUBSCRIBE', 'a*')
  expect(client.send('RESPCAST', 'PATTERNS')).toBe('%1\r\n$2\r\na*\r\n:2\r\n')
})

describe('RESPCAST SUBSCRIPTIONS', () => {
  test('answers the names of a client, each with the user who subscribed', () => {
    const core = new TestCore()
    const client = core.connect({ protocol: 3 })
    const id = String(client.client.id)
    client.send('SUBSCRIBE', 'a')
    client.send('SSUBSCRIBE', 's')
    expect(client.send('RESPCAST', 'SUBSCRIPTIONS', id)).toBe(
      '%3\r\n$8\r\nchannels\r\n%1\r\n$1\r\na\r\n$7\r\ndefault\r\n' +
        '$8\r\npatterns\r\n%0\r\n$13\r\nshardchannels\r\n%1\r\n$1\r\ns\r\n$7\r\ndefault\r\n',
    )
  })

  test('needs a client', () => {
    expect(ask('SUBSCRIPTIONS', 'x')).toBe('-ERR Invalid client ID\r\n')
    expect(ask('SUBSCRIPTIONS', '99')).toBe('-ERR No such client ID\r\n')
  })
})

describe('RESPCAST NODES', () => {
  test('lists the gateways with their leases, this one first', () => {
    const { server, control } = coreWithControl()
    const nowMs = server.clock.monotonicMs()
    control.nodes = [
      {
        ...nodeRecord({ id: 'c', number: 3, isDraining: true }),
        digests: { issuers: 'other', acl: 'a' },
        leaseEndsMs: nowMs,
      },
      { ...nodeRecord({ id: 'b', number: 2, name: 'zwei\u00e9' }), leaseEndsMs: nowMs + 7_500 },
    ]
    const reply = server.connect().send('RESPCAST', 'NODES')
    const words = reply.split('\r\n')
    expect(words[0]).toBe('*3')
    const values = (name: string): (string | undefined)[] =>
      words.flatMap((word, at) => {
        if (word !== name) return []
        const value = words[at + 1]
        return value?.startsWith('$') ? words[at + 2] : value
      })
    expect(values('id')).toEqual(['0000000000000001', 'b', 'c'])
    expect(values('number')).toEqual([':1', ':2', ':3'])
    expect(values('name')).toEqual(['one', 'zwei\u00c3\u00a9', 'one'])
    expect(values('addresses')).toEqual(['*6', '*6', '*6'])
    expect(values('resp')[0]).toBe('10.0.0.1:6379')
    expect(values('started')[0]).toBe(':1000')
    expect(values('clients')[0]).toBe(':3')
    expect(values('sessions')[0]).toBe(':2')
    expect(values('subscriptions')[0]).toBe(':5')
    expect(values('applied')[0]).toBe('7-1')
    expect(values('draining')).toEqual([':0', ':0', ':1'])
    expect(values('fenced')).toEqual([':0', ':0', ':1'])
    expect(values('lease')).toEqual([':9500', ':7500', ':0'])
    expect(values('self')).toEqual([':1', ':0', ':0'])
    expect(values('issuers')).toEqual(['i', 'i', 'other'])
    expect(values('acl')).toEqual(['a', 'a', 'a'])
  })

  test('is this gateway alone where nothing is shared, without a lease', () => {
    const reply = ask('NODES')
    expect(reply.startsWith('*1\r\n%15\r\n$2\r\nid\r\n$0\r\n\r\n')).toBe(true)
    expect(reply).toContain('$5\r\nlease\r\n_\r\n')
  })
})

describe('RESPCAST DRAIN', () => {
  test('begins to drain, and answers how long that takes at most', () => {
    const core = new TestCore({ 'drain-grace-seconds': '4', 'drain-seconds': '20' })
    const client = core.connect()
    expect(client.send('RESPCAST', 'DRAIN')).toBe(':24000\r\n')
    expect(core.drain.isDraining).toBe(true)
    core.clock.advance(1_000)
    expect(client.send('RESPCAST', 'DRAIN')).toBe(':23000\r\n')
    expect([client.client.closed, core.shutdowns]).toEqual([false, 0])
  })

  test('is answered though the server ends at once', () => {
    const core = new TestCore({ 'drain-grace-seconds': '0', 'drain-seconds': '0' })
    expect(core.connect().send('RESPCAST', 'DRAIN')).toBe(':0\r\n')
    expect(core.shutdowns).toBe(1)
  })

  test('with NOW ends the server without an answer, as SHUTDOWN does', () => {
    const core = new TestCore()
    const client = core.connect()
    expect(client.send('RESPCAST', 'DRAIN', 'now')).toBe('')
    expect([client.client.closeCause?.name, core.shutdowns]).toEqual(['shutdown', 1])
  })

  test.each([
    [['LATER'], '-ERR syntax error\r\n'],
    [['NOW', 'NOW'], '-ERR syntax error\r\n'],
  ])('refuses %j', (args, error) => {
    expect(ask('DRAIN', ...args)).toBe(error)
  })

  test('is no command of a transaction', () => {
    const client = new TestCore().connect()
    client.send('MULTI')
    expect(client.send('RESPCAST', 'DRAIN')).toBe(
      '-ERR Command not allowed inside a transaction\r\n',
    )
  })
})

describe('RESPCAST CHECK', () => {
  test('answers the rules in their canonical form, with warnings', () => {
    expect(ask('CHECK', '+publish', '&a')).toContain('$5\r\nrules\r\n')
    expect(ask('CHECK', '+publish', '&a')).toContain('$8\r\nwarnings\r\n*')
  })

  test('answers the error of a rule', () => {
    expect(ask('CHECK', '+nonsense')).toMatch(/^-ERR /)
  })
})

describe('RESPCAST AUDIT', () => {
  test('is empty as long as nothing was revoked', () => {
    expect(ask('AUDIT', 'COUNT', '5', 'SINCE', '0')).toBe('*0\r\n')
  })

  test.each([
    [['COUNT'], 'syntax error'],
    [['NONSENSE', '1'], 'syntax error'],
    [['COUNT', '0'], 'value is not an integer or out of range'],
    [['SINCE', '-1'], 'value is not an integer or out of range'],
  ])('refuses %j', (args, error) => {
    expect(ask('AUDIT', ...args)).toBe(`-ERR ${error}\r\n`)
  })
})
