import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CLOSE_CODES, parseCloseReason } from '../../../shared/close-codes.ts'
import { CLOSE_NAMES, CLOSES, closeWith, type CloseCause } from '../../../server/client/close.ts'

const SERVER = join(import.meta.dirname, '../../../server')

const ALL: readonly CloseCause[] = Object.values(CLOSES)

describe('The table of closes', () => {
  test.each([
    ['quit', 'quit', 'flush', undefined],
    ['peerClosed', 'peer-closed', 'drop', undefined],
    ['peerEnded', 'peer-closed', 'flush', undefined],
    ['idle', 'idle', 'drop', undefined],
    ['killed', 'killed', 'drop', undefined],
    ['shutdown', 'shutdown', 'drop', undefined],
    ['queryBuffer', 'query-buffer', 'drop', undefined],
    ['crossProtocol', 'cross-protocol', 'drop', undefined],
    ['pingFlood', 'ping-flood', 'drop', '1008 too many pings or pongs'],
    ['badFrame', 'bad-frame', 'drop', undefined],
    ['upstreamGap', 'upstream-gap', 'flush', '1013 messages from the upstream may be missing'],
    ['protocolError', 'protocol-error', 'flush', '4400 protocol-error||'],
    ['notLoggedIn', 'unauthorized', 'flush', '4401 unauthorized||log in first'],
    ['invalidToken', 'unauthorized', 'flush', '4401 unauthorized||invalid token'],
    ['tokenExpired', 'unauthorized', 'flush', '4401 unauthorized||token expired'],
    [
      'permissionsChanged',
      'permissions-changed',
      'drop',
      '4403 permissions-changed||permissions changed',
    ],
    [
      'userDeleted',
      'permissions-changed',
      'drop',
      '4403 permissions-changed||the user was deleted',
    ],
    ['tokenRevoked', 'revoked', 'flush', '4403 revoked||token revoked'],
    ['sessionRevoked', 'revoked', 'drop', '4403 revoked||'],
    ['keyRemoved', 'revoked', 'drop', '4403 revoked||the key of the token was removed'],
    ['issuerChanged', 'revoked', 'drop', '4403 revoked||the issuer of the token was changed'],
    ['subjectDisabled', 'forbidden', 'flush', '4403 forbidden||invalid token'],
    ['authTimeout', 'auth-timeout', 'flush', '4408 auth-timeout||'],
    ['requestTooLarge', 'too-large', 'flush', '4413 too-large||'],
    ['messageTooLarge', 'too-large', 'drop', '4413 too-large||message too large'],
    ['backlogTooLarge', 'too-large', 'flush', '4413 too-large||too much waits to be executed'],
    ['tooFast', 'rate-limited', 'flush', '4429 rate-limited||'],
    [
      'tooManyConnections',
      'rate-limited',
      'flush',
      '4429 rate-limited||ERR too many connections of this user',
    ],
    ['outputLimit', 'slow-consumer', 'drop', '4450 slow-consumer||'],
    ['noPong', 'slow-consumer', 'drop', '4450 slow-consumer||no answer to a ping'],
    [
      'evicted',
      'slow-consumer',
      'drop',
      '4450 slow-consumer||the memory of all clients is over its limit',
    ],
    ['serverError', 'server-error', 'drop', '4500 server-error||internal error'],
    ['draining', 'draining', 'flush', '4503 draining||the server is going away'],
  ] as const)('%s counts as %s, and the queue is handled by %s', (key, name, output, close) => {
    const cause: CloseCause = CLOSES[key]
    expect([cause.name, cause.output]).toEqual([name, output])
    expect(cause.close && `${cause.close.code} ${cause.close.reason}`).toBe(close)
  })

  test('uses each name that browsers know', () => {
    const used = new Set(ALL.map(({ name }) => name))
    expect(CLOSE_CODES.filter(({ name }) => !used.has(name))).toEqual([])
  })

  test('sends what is queued before each close that promises a browser that nothing is missing', () => {
    const promised = new Set<string>(
      CLOSE_CODES.filter(({ complete }) => complete).map(({ name }) => name),
    )
    const broken = ALL.filter(({ name, output }) => promised.has(name) && output === 'drop')
    expect(broken).toEqual([])
  })

  test('is the only place that makes a close', () => {
    const makers: string[] = []
    for (const path of readdirSync(SERVER, { recursive: true, encoding: 'utf8' })) {
      if (!path.endsWith('.ts')) continue
      const source = readFileSync(join(SERVER, path), 'utf8')
      if (/name: '[a-z-]+',\s*output: '|closeReason\(/.test(source)) makers.push(path)
    }
    expect(makers).toEqual([join('client', 'close.ts')])
  })
})

test('The labels of the metric are the names of the table, those with a code first', () => {
  expect(CLOSE_NAMES).toEqual([
    ...CLOSE_CODES.map(({ name }) => name),
    'quit',
    'peer-closed',
    'idle',
    'killed',
    'shutdown',
    'query-buffer',
    'cross-protocol',
    'ping-flood',
    'bad-frame',
    'upstream-gap',
  ])
})

describe('A close with details', () => {
  test('has a text of its own, and the hint when to come back', () => {
    const cause = closeWith(CLOSES.outputLimit, { text: 'reads too slowly', retryMs: 5_000 })
    expect(cause).toMatchObject({
      name: 'slow-consumer',
      output: 'drop',
      close: { code: 4450, reason: 'slow-consumer|5000|reads too slowly' },
    })
  })

  test('keeps the text of the table where it gets none', () => {
    const { close } = closeWith(CLOSES.draining, { retryMs: 700 })
    expect(parseCloseReason(close.reason)).toEqual({
      name: 'draining',
      retryMs: 700,
      text: 'the server is going away',
    })
  })
})
