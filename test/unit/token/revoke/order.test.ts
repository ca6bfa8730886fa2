import { describe, expect, test } from 'vitest'
import { readOrder } from '../../../../server/token/revoke/order.ts'

const NOW_MS = 1_700_000_000_000
/** 32 bytes in base64url. */
const TP = 'A'.repeat(42) + 'E'

const ISSUERS = [
  { alias: undefined, leewaySeconds: 5, maxLifetimeSeconds: 3_600 },
  { alias: 'partner', leewaySeconds: 10, maxLifetimeSeconds: 600 },
]

function read(line: string, issuers = ISSUERS) {
  const words = line === '' ? [] : line.split(' ').map((word) => (word === '""' ? '' : word))
  return readOrder(words, { nowMs: NOW_MS, issuers })
}

function order(line: string) {
  const result = read(line)
  if ('error' in result) throw new Error(result.error)
  return result.order
}

const secondsLeft = (line: string): number | undefined => {
  const { expiresAtMs } = order(line)
  return expiresAtMs === undefined ? undefined : (expiresAtMs - NOW_MS) / 1000
}

describe('The end of a record', () => {
  test.each([
    ['JTI a', 3_610],
    ['JTI a FROM partner', 610],
    ['SUB a', 3_610],
    ['ISSUER default', 3_605],
    ['ISSUER partner', 610],
    ['ALL', 3_610],
    ['ALL TTL 9999', 9_999],
    ['KID a', undefined],
    ['KID a TTL 3610', 3_610],
    [`KEY ${TP}`, undefined],
    [`KEY ${TP} TTL 3610`, 3_610],
    ['SUB a PERSIST', undefined],
    ['SUB a HARD PERSIST', undefined],
    ['SUB a HARD TTL 3610', 3_610],
    ['CHANNEL a TTL 1', 1],
    ['CHANNEL a PERSIST', undefined],
    // BEFORE lies a minute ahead: the last token named is issued then.
    [`SUB a BEFORE ${NOW_MS + 60_000}`, 3_660],
    [`SUB a BEFORE ${NOW_MS - 60_000}`, 3_610],
  ])('%s: %s s', (line, seconds) => {
    expect(secondsLeft(line)).toBe(seconds)
  })
})

describe('BEFORE', () => {
  test.each([
    ['SUB a FROM default', NOW_MS + 5_000],
    ['SUB a FROM partner', NOW_MS + 10_000],
    ['GROUP a', NOW_MS + 10_000],
    ['ROLE a BEFORE 1600000000000', 1_600_000_000_000],
    ['SUB a HARD PERSIST', undefined],
    ['JTI a', undefined],
    ['KID a', undefined],
    [`KEY ${TP}`, undefined],
    ['CHANNEL a PERSIST', undefined],
  ])('of %s is %s', (line, beforeMs) => {
    expect(order(line).beforeMs).toBe(beforeMs)
  })
})

test('words are read in any case and any order', () => {
  expect(
    order('channel room:* message bye only publish for role role:m reason r ttl 9 from partner'),
  ).toEqual({
    kind: 'channel',
    target: 'room:*',
    issuer: 'partner',
    scope: { kind: 'role', name: 'm' },
    only: 'publish',
    beforeMs: undefined,
    hard: false,
    expiresAtMs: NOW_MS + 9_000,
    reason: 'r',
    message: 'bye',
  })
})

const NO_THUMBPRINT =
  'ERR the thumbprint of a key is 43 characters of base64url or 64 hexadecimal digits, as TOKEN EXPLAIN and CLIENT LIST show it'

test('The thumbprint of a key is read in base64url or as hexadecimal digits', () => {
  expect(order(`KEY ${TP}`).target).toBe(TP)
  expect(order(`KEY ${Buffer.from(TP, 'base64url').toString('hex').toUpperCase()}`).target).toBe(TP)
})

describe('A malformed order is refused with what is wrong', () => {
  test.each([
    [
      '',
      "ERR Unknown kind of revocation ''. Use one of JTI, SUB, GROUP, ROLE, KID, KEY, ISSUER, ALL, CHANNEL",
    ],
    [
      'USER 42',
      "ERR Unknown kind of revocation 'USER'. Use one of JTI, SUB, GROUP, ROLE, KID, KEY, ISSUER, ALL, CHANNEL",
    ],
    ['SUB', 'ERR TOKEN REVOKE SUB needs a subject'],
    ['CHANNEL', 'ERR TOKEN REVOKE CHANNEL needs a channel pattern'],
    ['ISSUER', 'ERR TOKEN REVOKE ISSUER needs the alias of an issuer'],
    ['SUB ""', 'ERR a subject is 1 to 256 bytes without white space or controls'],
    [`JTI ${'x'.repeat(257)}`, 'ERR a token id is 1 to 256 bytes without white space or controls'],
    [`CHANNEL ${'x'.repeat(1_025)} PERSIST`, 'ERR a channel pattern has at most 1024 bytes'],
    ['SUB a FROM', 'ERR Option FROM needs a value'],
    [
      'SUB a FROM nobody',
      "ERR No issuer 'nobody' is configured; the one without an alias is 'default'",
    ],
    [
      'ISSUER nobody',
      "ERR No issuer 'nobody' is configured; the one without an alias is 'default'",
    ],
    ['ISSUER default FROM default', 'ERR FROM does not apply to ISSUER'],
    ['ALL FROM default', 'ERR FROM does not apply to ALL'],
    ['SUB a FOR SUB b', 'ERR FOR does not apply to SUB'],
    ['SUB a ONLY PUBLISH', 'ERR ONLY does not apply to SUB'],
    ['CHANNEL a FOR KID b PERSIST', 'ERR FOR must be followed by SUB, ROLE or GROUP and a name'],
    ['CHANNEL a FOR SUB', 'ERR Option FOR needs a value'],
    ['CHANNEL a ONLY READ PERSIST', 'ERR ONLY must be followed by SUBSCRIBE or PUBLISH'],
    ['JTI a BEFORE 1700000000000', 'ERR BEFORE does not apply to JTI'],
    ['KID a HARD PERSIST', 'ERR HARD does not apply to KID'],
    [`KEY ${TP} HARD PERSIST`, 'ERR HARD does not apply to KEY'],
    ['KEY', 'ERR TOKEN REVOKE KEY needs the thumbprint of a key'],
    ['KEY k1', NO_THUMBPRINT],
    [`KEY ${TP}=`, NO_THUMBPRINT],
    [`KEY ${'A'.repeat(43).replace(/A$/, 'B')}`, NO_THUMBPRINT],
    [`KEY ${'0'.repeat(63)}`, NO_THUMBPRINT],
    ['CHANNEL a BEFORE 1700000000000 PERSIST', 'ERR BEFORE does not apply to CHANNEL'],
    ['SUB a BEFORE yesterday', 'ERR BEFORE is not a time in milliseconds since 1970'],
    ['SUB a BEFORE -1', 'ERR BEFORE is not a time in milliseconds since 1970'],
    [
      'SUB a BEFORE 1700000000',
      'ERR BEFORE is a time in milliseconds since 1970, and this one looks like seconds',
    ],
    ['SUB a HARD BEFORE 1700000000000 PERSIST', 'ERR HARD and BEFORE exclude each other'],
    ['SUB a HARD', 'ERR HARD needs TTL or PERSIST'],
    ['CHANNEL a', 'ERR CHANNEL needs TTL or PERSIST'],
    ['SUB a TTL 10 PERSIST', 'ERR TTL and PERSIST exclude each other'],
    [
      'SUB a TTL 10',
      'ERR TTL is too small: tokens that this names may be valid for another 3610 seconds',
    ],
    [
      'KID a TTL 3609',
      'ERR TTL is too small: tokens that this names may be valid for another 3610 seconds',
    ],
    ['CHANNEL a TTL 0', 'ERR TTL is not a number of seconds, at least 1; use PERSIST for no end'],
    ['CHANNEL a TTL 1.5', 'ERR TTL is not a number of seconds, at least 1; use PERSIST for no end'],
    ['SUB a PERSIST PERSIST', 'ERR Option PERSIST is given twice'],
    ['SUB a EVER', "ERR Unknown option 'EVER' for TOKEN REVOKE"],
    [`SUB a REASON ${'x'.repeat(1_025)}`, 'ERR REASON has at most 1024 bytes'],
  ])('%s', (line, error) => {
    expect(read(line)).toEqual({ error })
  })

  test('where no issuer is configured at all', () => {
    expect(read('ALL', [])).toEqual({ error: 'ERR No issuer of tokens is configured' })
  })
})
