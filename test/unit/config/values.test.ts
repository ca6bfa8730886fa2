import { describe, expect, test } from 'vitest'
import { findDirective } from '../../../server/config/directives.ts'
import type { Directive } from '../../../server/config/directives.ts'
import { parseMemory, parseValue } from '../../../server/config/values.ts'

/** The text CONFIG GET shows for words, or the reason why they are refused. */
function read(name: string, ...words: string[]): string {
  const parsed = parseValue(findDirective(name) as Directive, words)
  return 'reason' in parsed ? `refused: ${parsed.reason}` : parsed.text
}

const NO_INTEGER = "refused: argument couldn't be parsed into an integer"
const NO_MEMORY = 'refused: argument must be a memory value'
const SLOW = 'slave 0 0 0 pubsub 0 0 0 websocket 0 0 0'

describe('a boolean', () => {
  test.each([
    ['yes', 'yes'],
    ['NO', 'no'],
    ['maybe', "refused: argument must be 'yes' or 'no'"],
    ['1', "refused: argument must be 'yes' or 'no'"],
    ['', "refused: argument must be 'yes' or 'no'"],
  ])('reads %j as %s', (word, text) => {
    expect(read('appendonly', word)).toBe(text)
  })
})

describe('an integer', () => {
  test.each([
    ['port', '0', '0'],
    ['port', '65535', '65535'],
    ['port', '65536', 'refused: argument must be between 0 and 65535 inclusive'],
    ['port', 'abc', NO_INTEGER],
    ['port', '007', NO_INTEGER],
    ['port', '+5', NO_INTEGER],
    ['port', '-0', NO_INTEGER],
    ['port', '1.5', NO_INTEGER],
    ['port', '', NO_INTEGER],
    ['port', '9223372036854775808', NO_INTEGER],
    ['timeout', '-1', 'refused: argument must be between 0 and 2147483647 inclusive'],
    ['maxclients', '0', 'refused: argument must be between 1 and 4294967295 inclusive'],
    ['slowlog-log-slower-than', '-1', '-1'],
    ['acllog-max-len', '9223372036854775807', '9223372036854775807'],
    [
      'acllog-max-len',
      '-1',
      'refused: argument must be between 0 and 9223372036854775807 inclusive',
    ],
  ])('%s reads %j as %s', (name, word, text) => {
    expect(read(name, word)).toBe(text)
  })

  test('takes one word', () => {
    expect(read('port')).toBe('refused: wrong number of arguments')
    expect(read('port', '1', '2')).toBe('refused: wrong number of arguments')
  })
})

test.each([
  ['700', '700'],
  ['0777', '777'],
  ['1777', 'refused: argument must be between 0 and 777 inclusive'],
  ['9', "refused: argument couldn't be parsed as an octal number"],
])('permissions are octal: %s reads as %s', (word, text) => {
  expect(read('unixsocketperm', word)).toBe(text)
})

describe('memory', () => {
  test.each([
    ['', 0n],
    ['10', 10n],
    ['10b', 10n],
    ['1k', 1000n],
    ['1KB', 1024n],
    ['2m', 2_000_000n],
    ['2Mb', 2_097_152n],
    ['3g', 3_000_000_000n],
    ['3gb', 3_221_225_472n],
    ['-1', undefined],
    ['1.5mb', undefined],
    ['1 mb', undefined],
    ['1xb', undefined],
    ['abc', undefined],
  ])('%j is %s bytes', (word, bytes) => {
    expect(parseMemory(word)).toBe(bytes)
  })

  test.each([
    ['maxmemory', '1gb', '1073741824'],
    ['maxmemory', 'abc', NO_MEMORY],
    [
      'proto-max-bulk-len',
      '5',
      'refused: argument must be between 1048576 and 9223372036854775807 inclusive',
    ],
    ['client-query-buffer-limit', '1048576', '1048576'],
    [
      'repl-backlog-size',
      '0',
      'refused: argument must be between 1 and 9223372036854775807 inclusive',
    ],
    ['maxmemory-clients', '5%', '5%'],
    ['maxmemory-clients', '101%', 'refused: percentage argument must be less or equal to 100'],
    ['maxmemory-clients', '-5%', 'refused: argument must be a memory or percent value'],
    ['maxmemory-clients', '1mb', '1048576'],
  ])('%s reads %j as %s', (name, word, text) => {
    expect(read(name, word)).toBe(text)
  })
})

test.each([
  ['loglevel', 'VERBOSE', 'verbose'],
  [
    'loglevel',
    'foo',
    'refused: argument(s) must be one of the following: debug, verbose, notice, warning, nothing',
  ],
  [
    'acl-pubsub-default',
    'foo',
    'refused: argument(s) must be one of the following: allchannels, resetchannels',
  ],
  ['tls-auth-clients-user', 'OFF', 'off'],
])('the enumeration %s reads %j as %s', (name, word, text) => {
  expect(read(name, word)).toBe(text)
})

test.each([
  [['save', 'NOW'], 'save now'],
  [['save now'], 'save now'],
  [
    ['later'],
    'refused: argument(s) must be one of the following: default, save, nosave, now, force',
  ],
  [[], 'refused: argument(s) must be one of the following: default, save, nosave, now, force'],
  [['save', 'nosave'], "refused: shutdown options SAVE and NOSAVE can't be used simultaneously"],
])('the words %j of shutdown-on-sigint read as %s', (words, text) => {
  expect(read('shutdown-on-sigint', ...words)).toBe(text)
})

test.each([
  ['bind', ['127.0.0.1', '-::1'], '127.0.0.1 -::1'],
  ['bind', ['127.0.0.1  -::1'], '127.0.0.1 -::1'],
  ['bind', [''], ''],
  ['save', ['900', '1', '300', '10'], '900 1 300 10'],
  ['save', [''], ''],
  ['save', ['900', '1', '300'], 'refused: Invalid save parameters'],
  ['save', ['0', '1'], 'refused: Invalid save parameters'],
  ['save', ['1', '-1'], 'refused: Invalid save parameters'],
  ['save', ['900  1'], 'refused: Invalid save parameters'],
  ['save', [' '], 'refused: Invalid save parameters'],
  ['oom-score-adj-values', ['0  200 800'], 'refused: wrong number of arguments'],
  [
    'shutdown-on-sigterm',
    ['now  force'],
    'refused: argument(s) must be one of the following: default, save, nosave, now, force',
  ],
  ['latency-tracking-info-percentiles', ['1.50', '7'], '1.5 7'],
  ['latency-tracking-info-percentiles', [''], ''],
  [
    'latency-tracking-info-percentiles',
    ['50.0 1e1 0x10 +5 .5 5. 33.33333333 1e-9 -0 100'],
    '50 10 16 5 0.5 5 33.333333 0 -0 100',
  ],
  [
    'latency-tracking-info-percentiles',
    ['50', 'abc'],
    'refused: Invalid latency-tracking-info-percentiles parameters',
  ],
  [
    'latency-tracking-info-percentiles',
    ['101'],
    'refused: latency-tracking-info-percentiles parameters should sit between [0.0,100.0]',
  ],
  ['oom-score-adj-values', ['1', '2'], 'refused: wrong number of arguments'],
  [
    'oom-score-adj-values',
    ['1', '2', '9999'],
    'refused: Invalid oom-score-adj-values, elements must be between -2000 and 2000.',
  ],
  ['jwt-algorithms', ['ES256', 'EdDSA'], 'ES256 EdDSA'],
  [
    'jwt-algorithms',
    ['none'],
    'refused: argument(s) must be one of the following: HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, Ed25519',
  ],
  ['replicaof', ['primary'], 'refused: wrong number of arguments'],
])('the list %s reads %j as %s', (name, words, text) => {
  expect(read(name, ...words)).toBe(text)
})

test.each([
  ['notify-keyspace-events', 'KEA', 'AKE'],
  ['notify-keyspace-events', 'Kg$lshzxetdnm', 'AKm'],
  ['notify-keyspace-events', 'Knm$', '$nKm'],
  ['notify-keyspace-events', 'q', "refused: Invalid event class character. Use 'Ag$lshzxeKEtmdn'."],
  ['proc-title-template', '{title} {port}', '{title} {port}'],
  [
    'proc-title-template',
    '{x}',
    'refused: template format is invalid or contains unknown variables',
  ],
  ['requirepass', 'a "b', 'a "b'],
  ['dir', '', 'refused: No such file or directory'],
  ['ws-path', 'ws', 'refused: argument must be a path that starts with /'],
])('the text %s reads %j as %s', (name, word, text) => {
  expect(read(name, word)).toBe(text)
})

describe('latency-tracking-info-percentiles', () => {
  const name = 'latency-tracking-info-percentiles'

  test.each(['nan', '5  6', '5 ', '1e', '0x', ' 5', 'x 101'])('holds no %j', (words) => {
    expect(read(name, words)).toBe(`refused: Invalid ${name} parameters`)
  })

  test.each(['inf', '-1', '101 x', '1e999'])('holds nothing beyond 0 and 100: %j', (words) => {
    expect(read(name, words)).toBe(`refused: ${name} parameters should sit between [0.0,100.0]`)
  })
})

describe('proc-title-template', () => {
  test.each(['', ' ', '{', '{}', '{title', '{title}', '{unixsocket} {server-mode}'])(
    'is not %j',
    (template) => {
      expect(read('proc-title-template', template)).toBe(
        'refused: template format is invalid or contains unknown variables',
      )
    },
  )

  test.each(['title}', '{{', '{{x', '{port}', '{listen-addr}', '{unixsocket}x'])(
    'may be %j',
    (template) => {
      expect(read('proc-title-template', template)).toBe(template)
    },
  )
})

describe('output buffer limits', () => {
  const name = 'client-output-buffer-limit'

  test.each([
    [['normal', '1k', '2kb', '3'], `normal 1000 2048 3 ${SLOW}`],
    [
      ['normal', '9007199254740993', '9223372036854775807', '3'],
      `normal 9007199254740993 9223372036854775807 3 ${SLOW}`,
    ],
    [['normal', '18446744073709551616', '0', '3'], `normal 18446744073709551615 0 3 ${SLOW}`],
    [['NORMAL 1 2 3'], `normal 1 2 3 ${SLOW}`],
    [['normal', '1', '2', '3', 'normal', '4', '5', '6'], `normal 4 5 6 ${SLOW}`],
    [['replica', '1', '2', '3'], 'normal 0 0 0 slave 1 2 3 pubsub 0 0 0 websocket 0 0 0'],
    [['slave', '1', '2', '3'], 'normal 0 0 0 slave 1 2 3 pubsub 0 0 0 websocket 0 0 0'],
    [['websocket', '1', '2', '3'], 'normal 0 0 0 slave 0 0 0 pubsub 0 0 0 websocket 1 2 3'],
    [[''], 'normal 0 0 0 slave 0 0 0 pubsub 0 0 0 websocket 0 0 0'],
    [['normal  1 2 3'], 'refused: Wrong number of arguments in buffer limit configuration.'],
    [['normal 1 2 3 '], 'refused: Wrong number of arguments in buffer limit configuration.'],
    [
      ['normal', '1', '2', '2147483648'],
      'refused: Error in hard, soft or soft_seconds setting in buffer limit configuration.',
    ],
    [['normal', '1', '2'], 'refused: Wrong number of arguments in buffer limit configuration.'],
    [
      ['master', '1', '2', '3'],
      'refused: Invalid client class specified in buffer limit configuration.',
    ],
    [
      ['normal', '-1', '2', '3'],
      'refused: Error in hard, soft or soft_seconds setting in buffer limit configuration.',
    ],
    [
      ['normal', '1', '2', 'x'],
      'refused: Error in hard, soft or soft_seconds setting in buffer limit configuration.',
    ],
  ])('%j reads as %s', (words, text) => {
    expect(read(name, ...words)).toBe(text)
  })

  test('classes that are not named keep their limits', () => {
    const directive = findDirective(name) as Directive
    const first = parseValue(directive, ['pubsub', '7', '8', '9'])
    if ('reason' in first) throw new Error(first.reason)
    expect(parseValue(directive, ['normal', '1', '2', '3'], first.value)).toMatchObject({
      text: 'normal 1 2 3 slave 0 0 0 pubsub 7 8 9 websocket 0 0 0',
      value: { pubsub: { hardBytes: 7, softBytes: 8, softSeconds: 9 } },
    })
  })
})

test.each([
  [['acme', 'issuer', 'https://acme.example'], 'acme issuer https://acme.example'],
  [['acme', 'roles', 'a*', 'b'], 'acme roles a* b'],
  [
    ['acme'],
    'refused: wrong number of arguments: an issuer line is an alias, a property and its value',
  ],
  [['Acme', 'issuer', 'x'], 'refused: an issuer alias is 1 to 32 of a-z, 0-9 and -'],
  [['acme', 'leeway', 'x'], "refused: leeway: argument couldn't be parsed into an integer"],
  [['acme', 'issuer', 'a', 'b'], 'refused: issuer: wrong number of arguments'],
  [
    ['acme', '__proto__', 'x'],
    'refused: an issuer has these properties: issuer, audience, algorithms, jwks-url, jwks-file, public-key-file, secret-file, secret, previous-secret-file, previous-secret, previous-secret-until, require-kid, claims-format, claim, scope-claim, scope-prefix, groups-claim, group-role, leeway, max-lifetime, ceiling, roles',
  ],
])('the issuer line %j reads as %s', (words, text) => {
  expect(read('issuer', ...words)).toBe(text)
})
