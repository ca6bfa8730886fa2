import { describe, expect, test } from 'vitest'
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
