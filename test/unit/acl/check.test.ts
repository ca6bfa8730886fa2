import { describe, expect, test } from 'vitest'

import { check, ceilingAllowsPattern, checkCeiling } from '../../../server/acl/check.ts'
import type { Denial } from '../../../server/acl/check.ts'
import { denialText, dryRunText, execDenialText } from '../../../server/acl/denial-text.ts'
import type { User } from '../../../server/acl/user.ts'
import { ArgumentList } from '../../../server/resp/request.ts'
import { catalog, CHANNELS, KEYS, userOf } from './support.ts'

/** Judges a command whose arguments blanks part; a subcommand is written as two words. */
function judge(user: User, line: string, judgeWith = check): Denial | undefined {
  const words = line.split(' ')
  const first = (words[0] as string).toLowerCase()
  const entry = catalog.lookup(`${first}|${words[1] ?? ''}`.toLowerCase()) ?? catalog.lookup(first)
  if (!entry) throw new Error(`unknown command in ${line}`)
  const request = ArgumentList.of(...words)
  return judgeWith(user, entry, request, CHANNELS.get(entry.name), KEYS.get(entry.name))
}

/** What the command would answer if it could only be refused. */
function reply(user: User, line: string): string {
  const denial = judge(user, line)
  return denial ? `-${denialText(user, denial)}` : 'allowed'
}

const NO_CHANNEL = '-NOPERM No permissions to access a channel'

describe('a user with rules', () => {
  test.each([
    ['GET x', "-NOPERM User lu has no permissions to run the 'get' command"],
    ['SET zz 1', '-NOPERM No permissions to access a key'],
    ['SET k 1', 'allowed'],
    ['PUBLISH b x', NO_CHANNEL],
    ['SUBSCRIBE b', NO_CHANNEL],
    ['SUBSCRIBE a1 b', NO_CHANNEL],
    ['SUBSCRIBE a1 a2', 'allowed'],
    ['PSUBSCRIBE a*', 'allowed'],
    ['PSUBSCRIBE a1', NO_CHANNEL],
    ['PSUBSCRIBE a?', NO_CHANNEL],
    ['SSUBSCRIBE q', NO_CHANNEL],
    ['SPUBLISH q x', NO_CHANNEL],
    ['SPUBLISH a x', 'allowed'],
    ['UNSUBSCRIBE q', 'allowed'],
    ['PUNSUBSCRIBE q', 'allowed'],
    ['SUNSUBSCRIBE q', 'allowed'],
    ['PUBSUB CHANNELS', 'allowed'],
    ['CONFIG GET x', 'allowed'],
  ])('lu on >p &a* +@all -get ~k: %s is answered %s', (line, expected) => {
    expect(reply(userOf('on >p &a* +@all -get ~k', 'lu'), line)).toBe(expected)
  })

  test.each([
    ['SUBSCRIBE b', NO_CHANNEL],
    ['SUBSCRIBE a', 'allowed'],
    ['PUBLISH a x', NO_CHANNEL],
    ['PUBLISH b x', 'allowed'],
    ['PSUBSCRIBE p*', 'allowed'],
    ['PSUBSCRIBE pp', NO_CHANNEL],
    ['SUBSCRIBE a b', NO_CHANNEL],
    ['PING', "-NOPERM User su has no permissions to run the 'ping' command"],
    ['ACL WHOAMI', "-NOPERM User su has no permissions to run the 'acl|whoami' command"],
    ['ECHO x', "-NOPERM User su has no permissions to run the 'echo' command"],
    ['AUTH su x', 'allowed'],
    ['HELLO 3', 'allowed'],
    ['RESET', 'allowed'],
    ['QUIT', 'allowed'],
  ])('never adds up its selectors: %s is answered %s', (line, expected) => {
    const su = userOf('on nopass -@all +subscribe &a (+publish &b) (+psubscribe &p*)', 'su')
    expect(reply(su, line)).toBe(expected)
  })

  test.each([
    ['PUBLISH b x', "User lu has no permissions to access the 'b' channel"],
    ['GET x', "User lu has no permissions to run the 'get' command"],
    ['SET x y', "User lu has no permissions to access the 'x' key"],
    ['SUBSCRIBE a1 b c', "User lu has no permissions to access the 'b' channel"],
    ['PSUBSCRIBE a* b', "User lu has no permissions to access the 'b' channel"],
    ['CLIENT KILL x', "User lu has no permissions to run the 'client|kill' command"],
  ])('is told by ACL DRYRUN what stands in the way of %s', (line, expected) => {
    const user = userOf('on >p &a* +@all -get -client|kill ~k', 'lu')
    expect(dryRunText(user, judge(user, line) as Denial)).toBe(expected)
  })

  test('may lose a right between MULTI and EXEC', () => {
    const prefix =
      'NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. ' +
      'This command is no longer allowed for the following reason: '
    const text = (reason: Denial['reason']): string => execDenialText({ reason, object: 'x' })
    expect(text('command')).toBe(`${prefix}no permission to execute the command or subcommand`)
    expect(text('key')).toBe(`${prefix}no permission to touch the specified keys`)
    expect(text('channel')).toBe(
      `${prefix}no permission to access one of the channels used as arguments`,
    )
  })
})

describe('the refusal that is reported', () => {
  test('is of a channel before a key before the command', () => {
    expect(judge(userOf('+get'), 'SET a 1')).toEqual({ reason: 'command', object: 'set' })
    expect(judge(userOf('+get (+set)'), 'SET a 1')).toEqual({ reason: 'key', object: 'a' })
    expect(judge(userOf('(+publish &x) +get'), 'PUBLISH a 1')).toEqual({
      reason: 'channel',
      object: 'a',
    })
  })

  test('names the last argument among those at which the selectors failed', () => {
    const user = userOf('+subscribe &a &b (+subscribe &c) (+subscribe &a)')
    expect(judge(user, 'SUBSCRIBE a b c')).toEqual({ reason: 'channel', object: 'c' })
    expect(judge(user, 'SUBSCRIBE c a b')).toEqual({ reason: 'channel', object: 'a' })
  })
})

describe('keys', () => {
  test('need the access that the command has', () => {
    const user = userOf('+@all %R~r %W~w ~b')
    expect(judge(user, 'GET r')).toBeUndefined()
    expect(judge(user, 'GET w')).toEqual({ reason: 'key', object: 'w' })
    expect(judge(user, 'SET w 1')).toBeUndefined()
    expect(judge(user, 'SET r 1')).toEqual({ reason: 'key', object: 'r' })
    expect(judge(user, 'EXISTS r w b')).toBeUndefined()
    expect(judge(user, 'EXISTS r x w')).toEqual({ reason: 'key', object: 'x' })
    expect(judge(user, 'MSET b x w x')).toBeUndefined()
    expect(judge(user, 'MSET b x r x')).toEqual({ reason: 'key', object: 'r' })
  })
})

describe('a pattern to subscribe to', () => {
  test('must be a rule byte by byte, NUL and what follows included', () => {
    const user = userOf('+psubscribe &a')
    const entry = catalog.lookup('psubscribe')
    const ask = (pattern: string): Denial | undefined =>
      entry &&
      check(user, entry, ArgumentList.of('psubscribe', pattern), CHANNELS.get('psubscribe'))
    expect(ask('a')).toBeUndefined()
    expect(ask('a\0*')).toEqual({ reason: 'channel', object: 'a\0*' })
    expect(ask('A')).toEqual({ reason: 'channel', object: 'A' })
  })

  test('is told apart by bytes that are not UTF-8', () => {
    const user = userOf('+subscribe +psubscribe &\xff*')
    expect(judge(user, 'PSUBSCRIBE \xff*')).toBeUndefined()
    expect(judge(user, 'PSUBSCRIBE \xfe*')).toEqual({ reason: 'channel', object: '\xfe*' })
    expect(judge(user, 'SUBSCRIBE \xff\xfe')).toBeUndefined()
  })
})

describe('the empty channel name', () => {
  test('is matched by the empty rule alone, not by a star', () => {
    const entry = catalog.lookup('publish')
    const ask = (rules: string): Denial | undefined =>
      entry &&
      check(userOf(rules), entry, ArgumentList.of('publish', '', 'x'), CHANNELS.get('publish'))
    expect(ask('+publish &')).toBeUndefined()
    expect(ask('+publish &**')).toEqual({ reason: 'channel', object: '' })
    expect(ask('+publish &*')).toBeUndefined()
  })
})

describe('a rule for a first argument', () => {
  test('allows the command with that argument in any case, and adds nothing else', () => {
    const user = userOf('allchannels +subscribe|Foo +select|1 +select|2')
    expect(judge(user, 'SUBSCRIBE foo')).toBeUndefined()
    expect(judge(user, 'SUBSCRIBE FOO bar')).toBeUndefined()
    expect(judge(user, 'SUBSCRIBE bar foo')).toEqual({ reason: 'command', object: 'subscribe' })
    expect(judge(user, 'SELECT 2')).toBeUndefined()
    expect(judge(user, 'SELECT 3')).toEqual({ reason: 'command', object: 'select' })
    expect(judge(user, 'UNSUBSCRIBE')).toEqual({ reason: 'command', object: 'unsubscribe' })
  })

  test('is void after a later rule for the command or its category', () => {
    expect(judge(userOf('+select|1 -select'), 'SELECT 1')?.reason).toBe('command')
    expect(judge(userOf('+select|1 -@connection'), 'SELECT 1')?.reason).toBe('command')
    expect(judge(userOf('+select|1 -@all'), 'SELECT 1')?.reason).toBe('command')
  })
})

describe('a user without restriction', () => {
  test('may do everything, whatever selectors it has besides', () => {
    const user = userOf('on nopass ~* &* +@all (+get)')
    for (const line of ['PUBLISH a x', 'PSUBSCRIBE a* b', 'SET k v', 'CLIENT KILL x']) {
      expect(judge(user, line)).toBeUndefined()
    }
  })

  test('is held to its keys even if all commands and channels are allowed', () => {
    expect(judge(userOf('+@all &* ~k'), 'SET x 1')).toEqual({ reason: 'key', object: 'x' })
  })
})

describe('a ceiling', () => {
  test.each([
    ['room:*', 'room:*', true],
    ['room:*', 'room:7:*', true],
    ['room:*', 'room:7', true],
    ['room:*', 'room:?', true],
    ['room:*', 'room:[ab]*', true],
    ['room:*', 'room:', true],
    ['room:*', 'room\\:7*', true],
    ['room:*', 'roo*', false],
    ['room:*', 'room?7', false],
    ['room:*', '*', false],
    ['room:?*', 'room:7*', false],
    ['r[o]om:*', 'room:7*', false],
    ['room\\:*', 'room:7*', false],
    ['room:**', 'room:7*', false],
    ['room:7', 'room:7', true],
    ['room:7', 'room:[7]', false],
    ['room:?', 'room:7', false],
  ])('of &%s for PSUBSCRIBE %s: passes is %s', (rule, pattern, passes) => {
    const user = userOf(`+@all &${rule}`)
    expect(judge(user, `PSUBSCRIBE ${pattern}`, checkCeiling) === undefined).toBe(passes)
    expect(user.selectors.some((selector) => ceilingAllowsPattern(selector, pattern))).toBe(passes)
    expect(judge(user, `PSUBSCRIBE ${pattern}`) === undefined).toBe(rule === pattern)
  })

  test('judges channels as check does', () => {
    const user = userOf('+@all &room:*')
    expect(judge(user, 'SUBSCRIBE room:7', checkCeiling)).toBeUndefined()
    expect(judge(user, 'PUBLISH other x', checkCeiling)).toEqual({
      reason: 'channel',
      object: 'other',
    })
    expect(judge(userOf('~* &* +@all'), 'PSUBSCRIBE *', checkCeiling)).toBeUndefined()
  })
})
