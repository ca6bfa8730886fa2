import { describe, expect, test } from 'vitest'

import {
  allowsChannel,
  authorize,
  denialText,
  dryRunText,
  execDenialText,
} from '../../../server/acl/authorize.ts'
import type { Denial, Identity } from '../../../server/acl/authorize.ts'
import type { User } from '../../../server/acl/user.ts'
import { ArgumentList } from '../../../server/resp/request.ts'
import { catalog, userOf } from './support.ts'

type Overlay = Parameters<typeof authorize>[1]

/** Decides about a command of space-separated arguments; a subcommand is written as two words. */
function decide(identity: Identity, line: string, overlay?: Overlay): Denial | undefined {
  const words = line.split(' ')
  const first = (words[0] as string).toLowerCase()
  const entry = catalog.lookup(`${first}|${words[1] ?? ''}`.toLowerCase()) ?? catalog.get(first)
  return authorize(identity, overlay, entry, ArgumentList.of(...words))
}

function as(user: User, ...ceilings: readonly User[]): Identity {
  return { user, ceilings, token: undefined }
}

const EVERYTHING = userOf('on ~* &* +@all', 'everything')

type Refused = Pick<Denial, 'reason' | 'object'>

/** The refusal of a user's own rules. */
function judge(user: User, line: string): Refused | undefined {
  const denial = decide(as(user), line)
  if (denial === undefined) return undefined
  const { by, reason, object } = denial
  expect(by).toBe('user')
  return { reason, object }
}

/** The refusal of the same rules as a ceiling over a user who may do everything. */
function judgeCeiling(ceiling: User, line: string): Refused | undefined {
  const denial = decide(as(EVERYTHING, ceiling), line)
  if (denial?.by !== 'ceiling') {
    expect(denial).toBeUndefined()
    return undefined
  }
  expect(denial.ceiling).toBe(ceiling)
  return { reason: denial.reason, object: denial.object }
}

/** The reply to a command that could only be refused. */
function reply(user: User, line: string): string {
  const denial = decide(as(user), line)
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
    expect(dryRunText(user, decide(as(user), line) as Denial)).toBe(expected)
  })

  test('may lose a right between MULTI and EXEC', () => {
    const prefix =
      'NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. ' +
      'This command is no longer allowed for the following reason: '
    const text = (reason: Denial['reason']): string =>
      execDenialText({ by: 'user', reason, object: 'x' })
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
    const ask = (pattern: string): Refused | undefined => judge(user, `psubscribe ${pattern}`)
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
    const ask = (rules: string): Refused | undefined => judge(userOf(rules), 'publish  x')
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
    expect(judgeCeiling(user, `PSUBSCRIBE ${pattern}`) === undefined).toBe(passes)
    expect(allowsChannel(user.selectors[0], pattern, true, true)).toBe(passes)
    expect(judge(user, `PSUBSCRIBE ${pattern}`) === undefined).toBe(rule === pattern)
  })

  test('judges channels as a user does', () => {
    const user = userOf('+@all &room:*')
    expect(judgeCeiling(user, 'SUBSCRIBE room:7')).toBeUndefined()
    expect(judgeCeiling(user, 'PUBLISH other x')).toEqual({
      reason: 'channel',
      object: 'other',
    })
    expect(judgeCeiling(userOf('~* &* +@all'), 'PSUBSCRIBE *')).toBeUndefined()
  })
})

describe('the order of precedence', () => {
  const publisher = userOf('+publish &a &b', 'publisher')
  const bound = userOf('+@all &a', 'bound')
  const issuer = userOf('+subscribe &*', 'partners')
  const without = (...names: string[]): Overlay => ({
    mayReceive: (channel) => !names.includes(channel),
    mayPublish: (channel) => !names.includes(channel),
  })

  test('is the deny overlay, then the ceilings in their order, then the user', () => {
    const all = as(publisher, bound, issuer)
    const denied = { by: 'deny', reason: 'channel', object: 'x' }
    expect(decide(all, 'SUBSCRIBE x', without('x'))).toEqual(denied)
    expect(decide(all, 'SUBSCRIBE x')).toEqual({
      by: 'ceiling',
      ceiling: bound,
      reason: 'channel',
      object: 'x',
    })
    expect(decide(all, 'PUBLISH a m')).toEqual({
      by: 'ceiling',
      ceiling: issuer,
      reason: 'command',
      object: 'publish',
    })
    expect(decide(as(publisher, bound), 'SUBSCRIBE a')).toEqual({
      by: 'user',
      reason: 'command',
      object: 'subscribe',
    })
    expect(decide(as(publisher, bound), 'PUBLISH a m', without('x'))).toBeUndefined()
  })

  test('holds where the user refuses for a weightier reason, or at a later argument', () => {
    const subscriber = userOf('+subscribe &a', 'subscriber')
    expect(decide(as(subscriber, userOf('+publish &*')), 'SUBSCRIBE b')).toMatchObject({
      by: 'ceiling',
      reason: 'command',
      object: 'subscribe',
    })
    expect(decide(as(subscriber, userOf('+@all &b')), 'SUBSCRIBE a b')).toMatchObject({
      by: 'ceiling',
      reason: 'channel',
      object: 'a',
    })
    expect(decide(as(subscriber), 'SUBSCRIBE b a', without('a'))).toEqual({
      by: 'deny',
      reason: 'channel',
      object: 'a',
    })
  })
})

describe('a deny overlay', () => {
  const seen: string[] = []
  const overlay: Overlay = {
    mayReceive: (channel) => {
      seen.push(`receive ${channel}`)
      return channel !== 'r'
    },
    mayPublish: (channel) => {
      seen.push(`publish ${channel}`)
      return channel !== 'p'
    },
  }
  const ask = (line: string): string | undefined => {
    seen.length = 0
    return decide(as(EVERYTHING), line, overlay)?.object
  }

  test('refuses by direction, and names the first channel that it takes away', () => {
    expect(ask('SUBSCRIBE p r x r')).toBe('r')
    expect(seen).toEqual(['receive p', 'receive r'])
    expect(ask('SSUBSCRIBE r')).toBe('r')
    expect(ask('PUBLISH r x')).toBeUndefined()
    expect(seen).toEqual(['publish r'])
    expect(ask('PUBLISH p x')).toBe('p')
    expect(ask('SPUBLISH p x')).toBe('p')
  })

  test('lets patterns pass, and is not asked about commands that need no right to a channel', () => {
    expect(ask('PSUBSCRIBE r p')).toBeUndefined()
    expect(ask('UNSUBSCRIBE r')).toBeUndefined()
    expect(ask('PING')).toBeUndefined()
    expect(seen).toEqual([])
  })
})
