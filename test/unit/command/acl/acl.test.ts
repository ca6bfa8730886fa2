import { describe, expect, test } from 'vitest'
import { CATEGORIES } from '../../../../server/acl/categories.ts'
import { TestCore } from '../../../support/test-core.ts'
import { parseReply, stringsOf } from '../../../support/transcript-values.ts'

const ask = (...args: string[]): string => new TestCore().connect().send('ACL', ...args)

describe('ACL CAT', () => {
  test('lists the categories, or the commands of one', () => {
    expect(stringsOf(parseReply(ask('CAT')))).toEqual([...CATEGORIES])
    expect(stringsOf(parseReply(ask('CAT', 'PubSub')))).toEqual([
      ...['publish', 'subscribe', 'psubscribe', 'unsubscribe', 'punsubscribe', 'ssubscribe'],
      ...['sunsubscribe', 'spublish', 'pubsub|channels', 'pubsub|numpat', 'pubsub|numsub'],
      ...['pubsub|shardchannels', 'pubsub|shardnumsub'],
    ])
  })

  test('repeats 128 bytes of a category that is unknown', () => {
    expect(ask('CAT', 'x'.repeat(200))).toBe(`-ERR Unknown category '${'x'.repeat(128)}'\r\n`)
  })
})

describe('ACL GENPASS', () => {
  test.each([
    [[], 64],
    [['4096'], 1_024],
    [['5'], 2],
    [['1'], 1],
  ])('%j answers hexadecimal digits for so many bits', (args, digits) => {
    expect(ask('GENPASS', ...args)).toMatch(new RegExp(`^\\$${digits}\r\n[0-9a-f]{${digits}}\r\n$`))
  })

  test.each([
    ['x', 'value is not an integer or out of range'],
    [
      '0',
      'ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096',
    ],
    [
      '4097',
      'ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096',
    ],
  ])('refuses %s', (bits, error) => {
    expect(ask('GENPASS', bits)).toBe(`-ERR ${error}\r\n`)
  })
})

describe('ACL DRYRUN', () => {
  const core = new TestCore()
  core.setUser('u', 'on nopass resetchannels &a +publish')
  const dryRun = (...args: string[]): string => core.connect().send('ACL', 'DRYRUN', ...args)

  test.each([
    [['u', 'publish', 'a', 'x'], '+OK\r\n'],
    [['nobody', 'ping'], "-ERR User 'nobody' not found\r\n"],
    [['u', 'nonsense'], "-ERR Command 'nonsense' not found\r\n"],
    [['u', 'publish', 'a'], "-ERR wrong number of arguments for 'publish' command\r\n"],
  ])('%j', (args, reply) => {
    expect(dryRun(...args)).toBe(reply)
  })

  test('answers the reason as text', () => {
    expect(dryRun('u', 'publish', 'b', 'x')).toContain("access the 'b' channel")
    expect(dryRun('u', 'ping')).toContain("'ping' command")
  })
})

describe('ACL LOG', () => {
  test('lists the newest entries, as many as asked for, until RESET', () => {
    const core = new TestCore()
    core.setUser('u', 'on nopass +@connection')
    const [admin, client] = [core.connect({ protocol: 3 }), core.connect()]
    client.send('AUTH', 'u', 'x')
    client.send('PUBLISH', 'a', '1')
    client.send('SUBSCRIBE', 'a')
    const text = admin.send('ACL', 'LOG', '1')
    expect(text).toMatch(/^\*1\r\n%10\r\n\$5\r\ncount\r\n:1\r\n\$6\r\nreason\r\n\$7\r\ncommand\r\n/)
    expect(text).toContain('$6\r\nobject\r\n$9\r\nsubscribe\r\n$8\r\nusername\r\n$1\r\nu\r\n')
    expect(admin.send('ACL', 'LOG')).toMatch(/^\*2\r\n/)
    expect(admin.send('ACL', 'LOG', 'x')).toBe('-ERR value is not an integer or out of range\r\n')
    expect(admin.send('ACL', 'LOG', 'Reset')).toBe('+OK\r\n')
    expect(admin.send('ACL', 'LOG')).toBe('*0\r\n')
  })
})

describe('Users', () => {
  test('are made, shown, listed and deleted', () => {
    const client = new TestCore().connect({ protocol: 3 })
    expect(client.send('ACL', 'SETUSER', 'bob', 'on', 'nopass', '+ping', '(+echo)')).toBe('+OK\r\n')
    expect(client.send('ACL', 'GETUSER', 'bob')).toContain(
      '$8\r\ncommands\r\n$11\r\n-@all +ping\r\n$4\r\nkeys\r\n$0\r\n\r\n$8\r\nchannels\r\n$0\r\n\r\n' +
        '$9\r\nselectors\r\n*1\r\n%3\r\n$8\r\ncommands\r\n$11\r\n-@all +echo\r\n',
    )
    expect(client.send('ACL', 'USERS')).toBe('*2\r\n$3\r\nbob\r\n$7\r\ndefault\r\n')
    expect(client.send('ACL', 'LIST')).toMatch(/^\*2\r\n\$\d+\r\nuser bob on /)
    expect(client.send('ACL', 'DELUSER', 'bob', 'eve')).toBe(':1\r\n')
    expect(client.send('ACL', 'GETUSER', 'bob')).toBe('_\r\n')
    expect(client.send('ACL', 'WHOAMI')).toBe('$7\r\ndefault\r\n')
  })

  test('are not made of rules with an error', () => {
    expect(ask('SETUSER', 'bob', '+nonsense')).toMatch(/^-ERR Error in ACL SETUSER modifier/)
    expect(ask('DELUSER', 'default')).toMatch(/^-ERR /)
  })
})
