import { describe, expect, test } from 'vitest'
import { TestCore } from '../../../support/test-core.ts'

describe('SLOWLOG', () => {
  test('GET answers id, time, microseconds, words, address and name, newest first', () => {
    const server = new TestCore()
    const client = server.connect()
    client.send('CLIENT', 'SETNAME', 'me')
    client.sendTaking(10, 'ECHO', 'a')
    client.sendTaking(12, 'PING')
    client.sendTaking(9, 'PING', 'x')
    expect(client.send('SLOWLOG', 'LEN')).toBe(':2\r\n')
    expect(client.send('SLOWLOG', 'GET')).toBe(
      '*2\r\n' +
        '*6\r\n:1\r\n:1700000000\r\n:12000\r\n*1\r\n$4\r\nPING\r\n$15\r\n127.0.0.1:40001\r\n$2\r\nme\r\n' +
        '*6\r\n:0\r\n:1700000000\r\n:10000\r\n*2\r\n$4\r\nECHO\r\n$1\r\na\r\n$15\r\n127.0.0.1:40001\r\n$2\r\nme\r\n',
    )
  })

  test('GET answers ten, or as many as it is asked for; -1 is all', () => {
    const server = new TestCore()
    const client = server.connect()
    for (let i = 0; i < 12; i++) client.sendTaking(10, 'PING')
    const count = (...args: string[]): string => client.send('SLOWLOG', 'GET', ...args).slice(0, 5)
    expect([count(), count('3'), count('-1'), count('0')]).toEqual([
      '*10\r\n',
      '*3\r\n*',
      '*12\r\n',
      '*0\r\n',
    ])
  })

  test('cuts long words and long commands, and says by how much', () => {
    const server = new TestCore()
    const client = server.connect()
    client.sendTaking(10, 'ECHO', 'x'.repeat(200))
    client.sendTaking(10, 'SUBSCRIBE', ...Array.from({ length: 40 }, (_, i) => `c${i}`))
    client.send('RESET')
    const text = client.send('SLOWLOG', 'GET')
    expect(text).toContain(`\r\n${'x'.repeat(128)}... (72 more bytes)\r\n`)
    expect(text).toContain('*32\r\n$9\r\nSUBSCRIBE\r\n')
    expect(text).toContain('$3\r\nc29\r\n$23\r\n... (10 more arguments)\r\n')
  })

  test('RESET forgets the entries; their numbers go on', () => {
    const server = new TestCore()
    const client = server.connect()
    client.sendTaking(10, 'PING')
    expect(client.send('SLOWLOG', 'RESET')).toBe('+OK\r\n')
    expect(client.send('SLOWLOG', 'LEN')).toBe(':0\r\n')
    client.sendTaking(10, 'PING')
    expect(client.send('SLOWLOG', 'GET')).toContain('*6\r\n:1\r\n')
  })

  test('hides the secrets of AUTH, HELLO, ACL and CONFIG SET', () => {
    const server = new TestCore()
    const client = server.connect()
    client.sendTaking(10, 'ACL', 'SETUSER', 'bob', 'on', '>pw')
    client.sendTaking(10, 'ACL', 'GETUSER', 'bob')
    client.sendTaking(10, 'CONFIG', 'SET', 'maxclients', '9', 'requirepass', 'pw')
    client.sendTaking(10, 'AUTH', 'bob', 'pw')
    client.sendTaking(10, 'ACL', 'DELUSER', 'bob', 'eve')
    const text = server.slowLog.list(-1).map(({ args }) => args.join(' '))
    expect(text.toReversed()).toEqual([
      'ACL SETUSER (redacted) (redacted) (redacted)',
      'ACL GETUSER (redacted)',
      'CONFIG SET maxclients 9 requirepass (redacted)',
      'AUTH (redacted) (redacted)',
    ])
  })

  test.each([['x'], ['-2'], ['1.5']])('GET refuses the count %s', (count) => {
    const client = new TestCore().connect()
    expect(client.send('SLOWLOG', 'GET', count)).toBe(
      '-ERR count should be greater than or equal to -1\r\n',
    )
  })

  test('HELP names the subcommands', () => {
    const text = new TestCore().connect().send('SLOWLOG', 'HELP')
    expect(text).toContain('+SLOWLOG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n')
    for (const usage of ['GET [<count>]', 'LEN', 'RESET', 'HELP']) {
      expect(text).toContain(`\r\n+${usage}\r\n`)
    }
  })
})
