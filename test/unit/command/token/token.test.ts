import { describe, expect, test } from 'vitest'
import { IDS_PER_NODE } from '../../../../server/control/node.ts'
import { coreWithControl } from '../../../support/fake-control.ts'
import { command, TestCore } from '../../../support/test-core.ts'
import { payload, token, tokenFor } from '../../../support/tokens.ts'

const MISSING = [
  { name: 'b', fencedInMs: 4_000 },
  { name: 'c\u00e9', fencedInMs: 8_123 },
]

/** An administrator of one of several gateways, and a token session there. */
async function gateway() {
  const { server, control } = coreWithControl()
  const admin = server.connect()
  const session = server.connect({ transport: 'websocket' })
  await session.sendAndWait('AUTH', 'jwt', tokenFor({ channels: ['*'] }))
  /** Sends a command; once it has been committed, `answer` says how. @returns The reply. */
  const ask = async (words: readonly string[], answer: () => void): Promise<string> => {
    admin.write(command(...words))
    answer()
    await admin.settled()
    return admin.read()
  }
  return { server, control, admin, session, ask }
}

const REVOKE = ['TOKEN', 'REVOKE', 'SUB', '42']

describe('TOKEN REVOKE at one of several gateways', () => {
  test('is in force here before it is committed, and answers the sessions of all gateways', async () => {
    const { control, session, ask } = await gateway()
    const reply = await ask([...REVOKE, 'REASON', 'lost'], () => {
      expect(session.client.closed).toBe(true)
      control.commitNext({ sessions: 7 })
    })
    expect(reply).toBe(':7\r\n')
    const [request] = control.requests
    expect(request?.changes).toHaveLength(1)
    expect(request?.changes[0]?.key).toBe(`r:${IDS_PER_NODE + 1}`)
    expect(JSON.parse(request?.changes[0]?.value ?? '')).toMatchObject({
      kind: 'sub',
      target: '42',
      by: 'default',
      hit: 1,
    })
    expect(request?.actor.user).toBe('default')
    expect(request?.wait).toEqual({ count: 'all', ms: 1_000 })
    expect(await request?.enforced).toBe(1)
  })

  test('names the gateways that have not confirmed, and when the last of them is fenced', async () => {
    const { control, ask } = await gateway()
    expect(await ask(REVOKE, () => control.commitNext({ missing: MISSING }))).toBe(
      '-NOREPLICAS durable, not confirmed by b, c\u00c3\u00a9, fenced within 8123 ms\r\n',
    )
  })

  test('names ten of very many gateways', async () => {
    const { control, ask } = await gateway()
    const missing = Array.from({ length: 12 }, (_, at) => ({ name: `n${at}`, fencedInMs: at }))
    const reply = await ask(REVOKE, () => control.commitNext({ missing, isDurable: false }))
    expect(reply).toContain('-NOREPLICAS not durable, not confirmed by n0, n1, ')
    expect(reply).toContain(', n9, and 2 others, fenced within 11 ms')
  })

  test.each([
    [
      { state: 'unreachable', isDurable: true, isSent: true },
      '-NOREPLICAS in force and on disk here, committed to the other gateways when the upstream answers\r\n',
    ],
    [
      { state: 'unreachable', isDurable: false, isSent: false },
      '-NOREPLICAS in force here and not on disk, committed to the other gateways when the upstream answers\r\n',
    ],
    [
      { state: 'refused', problem: 'upstream-user: no +xadd' },
      '-NOREPLICAS in force and on disk here, not committed to the other gateways: upstream-user: no +xadd\r\n',
    ],
  ] as const)('is in force here alone after %j, and says so', async (outcome, expected) => {
    const { control, session, ask } = await gateway()
    expect(await ask(REVOKE, () => control.answer(outcome))).toBe(expected)
    expect(session.client.closed).toBe(true)
    // Nobody knows who else serves, so that no map could say it.
    const wait = [...REVOKE, 'WAIT', 'ALL', '10']
    expect(await ask(wait, () => control.answer(outcome))).toBe(expected)
  })

  test('says that it is not durable where all have confirmed it and the disk or a replica has not', async () => {
    const { control, ask } = await gateway()
    expect(await ask(REVOKE, () => control.commitNext({ isDurable: false }))).toBe(
      '-MISCONF revocation is in force but not durable\r\n',
    )
  })

  test('with WAIT waits for so many gateways, and answers a map', async () => {
    const { server, control } = await gateway()
    const admin = server.connect({ protocol: 3 })
    admin.write(command(...REVOKE, 'WAIT', '2', '2500'))
    expect(control.requests[0]?.wait).toEqual({ count: 2, ms: 2_500 })
    control.commitNext({ sessions: 3, missing: MISSING, confirmed: ['d', 'e'], isDurable: false })
    await admin.settled()
    expect(admin.read()).toBe(
      '%5\r\n$8\r\nsessions\r\n:3\r\n$9\r\nconfirmed\r\n*2\r\n$1\r\nd\r\n$1\r\ne\r\n' +
        '$7\r\nmissing\r\n*2\r\n$1\r\nb\r\n$3\r\nc\u00c3\u00a9\r\n' +
        '$9\r\nfenced-by\r\n:8123\r\n$7\r\ndurable\r\n:0\r\n',
    )
  })

  test('with DRYRUN changes nothing, and counts the sessions of this gateway', async () => {
    const { control, admin, session } = await gateway()
    expect(admin.send(...REVOKE, 'DRYRUN')).toContain('$8\r\nsessions\r\n:1\r\n')
    expect([control.requests, session.client.closed]).toEqual([[], false])
  })
})

test('WAIT of a server that is alone answers at once, with nobody to confirm', async () => {
  const admin = new TestCore().connect({ protocol: 3 })
  const none = '$9\r\nconfirmed\r\n*0\r\n$7\r\nmissing\r\n*0\r\n$9\r\nfenced-by\r\n:0\r\n'
  const map = `%5\r\n$8\r\nsessions\r\n:0\r\n${none}$7\r\ndurable\r\n:1\r\n`
  expect(await admin.sendAndWait(...REVOKE, 'WAIT', 'all', '60000')).toBe(map)
  expect(await admin.sendAndWait('TOKEN', 'UNREVOKE', '1', 'wait', '3', '1')).toBe(map)
})

test.each([
  ['ALL', '0'],
  ['ALL', '60001'],
  ['ALL', 'x'],
  ['-1', '10'],
  ['many', '10'],
])('refuses WAIT %s %s', (count, ms) => {
  const { server, control } = coreWithControl()
  const admin = server.connect()
  const error =
    '-ERR WAIT must be followed by a number of gateways or ALL, and by 1 to 60000 milliseconds\r\n'
  expect(admin.send(...REVOKE, 'WAIT', count, ms)).toBe(error)
  expect(admin.send('TOKEN', 'UNREVOKE', '1', 'WAIT', count, ms)).toBe(error)
  expect(control.requests).toEqual([])
})

test('refuses WAIT without a time, and with DRYRUN', () => {
  const admin = new TestCore().connect()
  expect(admin.send(...REVOKE, 'WAIT', '1')).toBe('-ERR Option WAIT needs a value\r\n')
  expect(admin.send('TOKEN', 'UNREVOKE', '1', 'WAIT', '1')).toBe('-ERR syntax error\r\n')
  expect(admin.send('TOKEN', 'UNREVOKE', '1', 'KEEP', '1', '1')).toBe('-ERR syntax error\r\n')
  expect(admin.send(...REVOKE, 'WAIT', '1', '1', 'DRYRUN')).toBe(
    '-ERR DRYRUN and WAIT exclude each other\r\n',
  )
})

describe('TOKEN UNREVOKE at one of several gateways', () => {
  test('deletes the register, and is answered when all have confirmed that', async () => {
    const { control, ask } = await gateway()
    await ask(REVOKE, () => control.commitNext())
    const id = IDS_PER_NODE + 1
    expect(await ask(['TOKEN', 'UNREVOKE', String(id)], () => control.commitNext())).toBe('+OK\r\n')
    expect(control.requests[1]?.changes).toEqual([{ key: `r:${id}`, value: undefined }])
    expect(await ask(['TOKEN', 'UNREVOKE', String(id)], () => {})).toBe(
      `-ERR No revocation with id ${id} is in force\r\n`,
    )
  })

  test('says who has not confirmed', async () => {
    const { control, ask } = await gateway()
    await ask(REVOKE, () => control.commitNext())
    const words = ['TOKEN', 'UNREVOKE', String(IDS_PER_NODE + 1)]
    expect(await ask(words, () => control.commitNext({ missing: MISSING }))).toMatch(
      /^-NOREPLICAS /,
    )
  })
})

test('a revocation that a gateway changes by itself is committed as well', async () => {
  const { server, control, ask } = await gateway()
  await ask(['TOKEN', 'REVOKE', 'KID', 'k1', 'PERSIST'], () => control.commitNext())
  const bearer = server.connect({ transport: 'websocket' })
  const refused = await bearer.sendAndWait(
    'AUTH',
    'jwt',
    token(payload({ respcast: {} }), { kid: 'k1' }),
  )
  expect(refused).toContain('WRONGPASS token revoked')
  const [, request] = control.requests
  expect(request?.changes[0]?.key).toBe(`r:${IDS_PER_NODE + 1}`)
  expect(JSON.parse(request?.changes[0]?.value ?? '').keys).toHaveLength(1)
  expect(await request?.enforced).toBe(0)
})
