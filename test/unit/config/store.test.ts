import { describe, expect, test } from 'vitest'
import { configOf, configOfFile, failureOf } from './support.ts'

const failed = (name: string, reason: string): string =>
  `CONFIG SET failed (possibly related to argument '${name}') - ${reason}`

describe('A refused CONFIG SET', () => {
  test.each([
    [['MAXMEMORY', 'x'], 'maxmemory', 'argument must be a memory value'],
    [['LUA-time-limit', 'x'], 'lua-time-limit', "argument couldn't be parsed into an integer"],
    [['DAEMONIZE', 'yes'], 'DAEMONIZE', "can't set immutable config"],
    [['Hz', '1', 'hZ', '2'], 'hZ', 'duplicate parameter'],
  ])('names the directive in lower case once its value is read: %j', (words, name, reason) => {
    const pairs: [string, string][] = []
    for (let i = 0; i < words.length; i += 2) pairs.push([words[i] ?? '', words[i + 1] ?? ''])
    expect(configOf().set(pairs)).toBe(failed(name, reason))
  })
})

test('CONFIG SET hz takes 0 to 2^31-1, and keeps it within 1 and 500', () => {
  const config = configOf()
  for (const [given, kept] of [
    ['0', '1'],
    ['501', '500'],
    ['2147483647', '500'],
    ['7', '7'],
  ] as const) {
    expect(config.set([['hz', given]])).toBeUndefined()
    expect(config.get(['hz'])).toEqual([['hz', kept]])
  }
})

describe('CONFIG GET', () => {
  test('takes globs in any case, and answers canonical names', () => {
    expect(configOf().get(['TIME*', 't?MEOUT'])).toEqual([['timeout', '0']])
  })

  test('echoes a literal name as it was typed, and each name once', () => {
    expect(configOf().get(['TimeOut', 'timeout', 'time*'])).toEqual([['TimeOut', '0']])
  })

  test('shows aliases where they are asked for or matched', () => {
    expect(configOf().get(['*-priority'])).toEqual([
      ['replica-priority', '100'],
      ['slave-priority', '100'],
    ])
    expect(configOf().get(['SLAVE-priority'])).toEqual([['SLAVE-priority', '100']])
    expect(configOf().get(['replica-priority'])).toEqual([['replica-priority', '100']])
  })

  test('shows hidden directives to their exact name only', () => {
    expect(configOf().get(['watchdog*'])).toEqual([])
    expect(configOf().get(['watchdog-period'])).toEqual([['watchdog-period', '0']])
  })

  test('knows neither unknown names nor those that only a file may hold', () => {
    const config = configOfFile('user alice on >x\nrename-command a b\n')
    expect(config.get(['nosuch', 'user', 'use[r]', 'rename-command', '__proto__'])).toEqual([])
  })

  test('shows passwords as Redis does, and secrets never', () => {
    const secret = '0123456789abcdef0123456789abcdef'
    const config = configOfFile(
      `requirepass open\njwt-secret ${secret}\nissuer acme secret ${secret}\nissuer acme audience "a b"\n`,
    )
    expect(config.get(['requirepass', 'jwt-secret', 'jwt-previous-secret', 'issuer'])).toEqual([
      ['requirepass', 'open'],
      ['jwt-secret', '(redacted)'],
      ['jwt-previous-secret', ''],
      ['issuer', 'acme secret (redacted)\nacme audience "a b"'],
    ])
    expect(JSON.stringify(config.get(['*']))).not.toContain(secret)
    expect(config.text('jwt-secret')).toBe(secret)
  })
})

describe('CONFIG SET', () => {
  test('changes the value and where it came from', () => {
    const config = configOf()
    expect(config.set([['TIMEOUT', '5']])).toBeUndefined()
    expect(config.seconds('timeout')).toBe(5)
    expect(config.source('timeout')).toEqual({ kind: 'config-set', where: 'CONFIG SET' })
  })

  test('changes a directive under any of its names; of two names the later pair wins', () => {
    const config = configOf()
    expect(
      config.set([
        ['slave-priority', '3'],
        ['replica-priority', '4'],
      ]),
    ).toBeUndefined()
    expect(config.get(['slave-priority'])).toEqual([['slave-priority', '4']])
  })

  test.each([
    [[['nosuch', '1']], "Unknown option or number of arguments for CONFIG SET - 'nosuch'"],
    [[['user', 'x']], "Unknown option or number of arguments for CONFIG SET - 'user'"],
    [[['databases', '5']], failed('databases', "can't set immutable config")],
    [[['PORT', '5']], failed('PORT', "can't set immutable config")],
    [[['dir', '/tmp']], failed('dir', "can't set protected config")],
    [[['dbfilename', 'x']], failed('dbfilename', "can't set protected config")],
    [[['timeout', 'abc']], failed('timeout', "argument couldn't be parsed into an integer")],
    [[['timeout', '-1']], failed('timeout', 'argument must be between 0 and 2147483647 inclusive')],
    [[['appendonly', 'maybe']], failed('appendonly', "argument must be 'yes' or 'no'")],
    [
      [['client-output-buffer-limit', 'foo 1 2 3']],
      failed(
        'client-output-buffer-limit',
        'Invalid client class specified in buffer limit configuration.',
      ),
    ],
    [
      [['jwt-secret', 'x']],
      failed('jwt-secret', 'a secret is read from a file: set jwt-secret-file'),
    ],
    [
      [['issuer', 'a secret x']],
      failed('issuer', 'a secret is read from a file: set the property with -file'),
    ],
    [[['issuer', 'a audience "x']], failed('issuer', 'unbalanced quotes')],
    [
      [['issuer', 'a colour red x']],
      expect.stringMatching(/^CONFIG SET failed .*'issuer'\) - an issuer has these/),
    ],
    [
      [
        ['TIMEOUT', '1'],
        ['timeout', '2'],
      ],
      failed('timeout', 'duplicate parameter'),
    ],
    [
      [
        ['timeout', '3'],
        ['databases', '5'],
        ['nosuch', '4'],
      ],
      failed('databases', "can't set immutable config"),
    ],
    [
      [
        ['timeout', 'abc'],
        ['nosuch', '4'],
      ],
      "Unknown option or number of arguments for CONFIG SET - 'nosuch'",
    ],
  ] as [[string, string][], string][])('%j is refused', (pairs, error) => {
    expect(configOf().set(pairs)).toEqual(error)
  })

  test('is all or nothing', () => {
    const config = configOf()
    expect(
      config.set([
        ['timeout', '5'],
        ['maxclients', 'x'],
      ]),
    ).toBe(failed('maxclients', "argument couldn't be parsed into an integer"))
    expect(config.seconds('timeout')).toBe(0)
  })

  test('replaces a list, and keeps the output limits of classes that are not named', () => {
    const config = configOfFile('save 60 1\n')
    expect(config.set([['save', '70 2']])).toBeUndefined()
    expect(
      config.set([['client-output-buffer-limit', 'websocket 2mb 1mb 5 normal 1 2 3']]),
    ).toBeUndefined()
    expect(config.get(['save', 'client-output-buffer-limit'])).toEqual([
      ['save', '70 2'],
      [
        'client-output-buffer-limit',
        'normal 1 2 3 slave 268435456 67108864 60 pubsub 33554432 8388608 60 websocket 2097152 1048576 5',
      ],
    ])
    expect(config.set([['save', '']])).toBeUndefined()
    expect(config.list('save')).toEqual([])
  })

  test('replaces the issuers as a whole, one line each', () => {
    const config = configOfFile('issuer old issuer https://old.test\n')
    expect(
      config.set([['issuer', 'acme issuer https://acme.test\nacme roles "a b" c']]),
    ).toBeUndefined()
    expect(config.lines('issuer')).toEqual([
      ['acme', 'issuer', 'https://acme.test'],
      ['acme', 'roles', 'a b', 'c'],
    ])
    expect(config.set([['issuer', '']])).toBeUndefined()
    expect(config.lines('issuer')).toEqual([])
  })

  test('takes back what CONFIG GET answers: a redacted secret stays what it is', () => {
    const config = configOfFile('issuer acme secret 0123\nissuer acme audience x\n')
    const [[, shown] = ['', '']] = config.get(['issuer'])
    expect(config.set([['issuer', `${shown}\nacme leeway 9`]])).toBeUndefined()
    expect(config.lines('issuer')).toEqual([
      ['acme', 'secret', '0123'],
      ['acme', 'audience', 'x'],
      ['acme', 'leeway', '9'],
    ])
    expect(config.set([['issuer', 'other secret (redacted)']])).toBe(
      failed('issuer', 'a secret is read from a file: set the property with -file'),
    )
  })

  test('changes protected directives where they are enabled, for local clients or all', () => {
    const name: [string, string] = ['dbfilename', 'x.rdb']
    expect(configOf({ argv: ['--enable-protected-configs', 'yes'] }).set([name])).toBeUndefined()
    const local = configOf({ argv: ['--enable-protected-configs', 'local'] })
    expect(local.set([name], { isLocal: false })).toBe(
      failed('dbfilename', "can't set protected config"),
    )
    expect(local.set([name], { isLocal: true })).toBeUndefined()
  })
})

describe('a validator', () => {
  test('sees the values as they would be, at CONFIG SET', () => {
    const config = configOf()
    config.addValidator(['acl-pubsub-default', 'allow-public-allchannels'], (candidate) =>
      candidate.choice('acl-pubsub-default') === 'allchannels' &&
      !candidate.boolean('allow-public-allchannels')
        ? 'allchannels needs allow-public-allchannels yes'
        : undefined,
    )
    expect(
      config.set([
        ['timeout', '5'],
        ['acl-pubsub-default', 'allchannels'],
      ]),
    ).toBe(failed('acl-pubsub-default', 'allchannels needs allow-public-allchannels yes'))
    expect(config.seconds('timeout')).toBe(0)
    expect(
      config.set([
        ['acl-pubsub-default', 'allchannels'],
        ['allow-public-allchannels', 'yes'],
      ]),
    ).toBeUndefined()
  })

  test('runs at start, and its refusal names the place of the values', () => {
    const config = configOfFile('maxclients 5\ntimeout 9\n')
    config.addValidator(['maxclients', 'port'], ({ cwd }) => (cwd === '' ? 'never' : undefined))
    expect(() => config.check()).not.toThrow()
    config.addValidator(['port', 'maxclients'], () => 'five is not enough.')
    expect(failureOf(() => config.check()).message).toBe(
      'respcast.conf:1: maxclients: five is not enough. See docs/directives.md.',
    )
  })
})

describe('an applier', () => {
  test('is told what changed, with the new values in force', () => {
    const config = configOf()
    const calls: unknown[] = []
    config.onChange(['timeout', 'maxclients'], (settings, changed) => {
      calls.push([settings.seconds('timeout'), [...changed]])
      return undefined
    })
    config.set([
      ['timeout', '5'],
      ['maxclients', '10000'],
      ['hz', '20'],
    ])
    config.set([['timeout', '5']])
    config.set([['hz', '30']])
    expect(calls).toEqual([[5, ['timeout', 'hz']]])
  })

  test('is called for a file that is named again: its content may be new', () => {
    const config = configOf()
    let calls = 0
    config.onChange(['tls-cert-file'], () => {
      calls++
      return undefined
    })
    config.set([['tls-cert-file', 'a.pem']])
    config.set([['tls-cert-file', 'a.pem']])
    expect(calls).toBe(2)
  })

  test('may refuse: nothing changes, and those before it are called with the old values', () => {
    const config = configOf()
    const seen: number[] = []
    config.onChange(['timeout'], (settings) => {
      seen.push(settings.seconds('timeout'))
      return undefined
    })
    config.onChange(['maxclients'], (settings) =>
      settings.integer('maxclients') > 20_000 ? 'too many' : undefined,
    )
    expect(
      config.set([
        ['timeout', '5'],
        ['maxclients', '30000'],
      ]),
    ).toBe(failed('maxclients', 'too many'))
    expect(seen).toEqual([5, 0])
    expect(config.get(['timeout', 'maxclients'])).toEqual([
      ['timeout', '0'],
      ['maxclients', '10000'],
    ])
  })
})
