import { asciiJson } from '../../../../server/ascii-json.ts'
import { describe, expect, test } from 'vitest'
import { IDS_PER_NODE } from '../../../../server/control/node.ts'
import type { Change } from '../../../../server/control/part.ts'
import type { Register } from '../../../../server/control/register.ts'
import type { Revocation, RevocationOrder } from '../../../../server/token/revoke/revocation.ts'
import { NOW, revocationOrder, tokenFor } from '../../../support/tokens.ts'
import { closeOf, login, revocable } from './support.ts'

const ORIGIN = { node: '00000000000000aa', user: 'ops', address: '10.0.0.9:5' }
const CHANGE: Change = { origin: ORIGIN, atMs: NOW * 1000, isLate: false }
const UUID = '00112233445566aa'

/** A record of gateway 9. */
const foreign = (counter: number, changes: Partial<Revocation> = {}): Revocation => ({
  ...revocationOrder(),
  id: 9 * IDS_PER_NODE + counter,
  by: 'ops',
  atMs: NOW * 1000,
  hit: 0,
  ...changes,
})

const registerOf = ({ id }: Pick<Revocation, 'id'>, value?: Revocation): Register => ({
  key: `r:${id}`,
  version: 1,
  uuid: UUID,
  value: value && asciiJson(value),
})

/** A gateway, number 7 unless it is told otherwise, and what its control plane does with it. */
function gateway() {
  const own = { number: 7 }
  const tested = revocable({}, undefined, () => own.number)
  const { sharedRevocations: part, tokens, audit } = tested.server
  const uncommitted: string[] = []
  part.onUncommitted = (name) => uncommitted.push(name)
  const adopt = (...records: Revocation[]) =>
    part.apply(
      records.map((record) => registerOf(record, record)),
      CHANGE,
    )
  const lift = (id: number) => part.apply([registerOf({ id })], CHANGE)
  return { ...tested, own, part, tokens, audit, uncommitted, adopt, lift }
}

const order = (changes: Partial<RevocationOrder>) =>
  revocationOrder({ beforeMs: NOW * 1000, ...changes })

describe('A revocation of another gateway', () => {
  test('ends the sessions that it names, refuses their tokens, and counts the sessions', async () => {
    const { adopt, session, server } = gateway()
    const [hit, spared] = [await session(), await session({}, { sub: '43' })]
    expect(await adopt(foreign(1, { beforeMs: NOW * 1000 }))).toBe(1)
    expect([hit.client.closed, spared.client.closed]).toEqual([true, false])
    hit.read()
    expect(closeOf(hit)?.code).toBe(4403)
    expect(await login(server.connect(), tokenFor({}))).toBe('-WRONGPASS token revoked\r\n')
  })

  test('is in force within the call, before the sessions are cut', async () => {
    const { adopt, session } = gateway()
    const client = await session()
    client.send('SUBSCRIBE', 'news')
    const applied = adopt(
      foreign(1, { kind: 'channel', target: 'news', only: 'subscribe' }),
      foreign(2, { kind: 'channel', target: 'x*' }),
    )
    expect(client.client.overlay?.mayReceive('news')).toBe(false)
    expect(client.client.overlay?.mayPublish('x1')).toBe(false)
    expect(await applied).toBe(1)
  })

  test('counts a session once, however many records of an entry hit it', async () => {
    const { adopt, session } = gateway()
    await session({}, { jti: 't1' })
    expect(await adopt(foreign(1), foreign(2, { kind: 'jti', target: 't1' }))).toBe(1)
  })

  test('is listed with the number of sessions that it hit where it was ordered', async () => {
    const { adopt, token } = gateway()
    await adopt(foreign(1, { hit: 12 }))
    expect(await token('REVOCATIONS')).toContain(`:${9 * IDS_PER_NODE + 1}\r\n`)
    expect(await token('REVOCATIONS')).toContain('$3\r\nhit\r\n:12\r\n')
  })

  test('is taken even where there are as many as one gateway may order, and where it has ended', async () => {
    const { adopt, part, tokens } = gateway()
    const ended = foreign(1, { beforeMs: 5, expiresAtMs: 6 })
    await adopt(ended)
    expect(tokens.revocations.size).toBe(0)
    expect([...part.names()]).toEqual([String(ended.id)])
    expect(part.valueOf(String(ended.id))).toBe(asciiJson(ended))
  })

  test('is lifted for everybody', async () => {
    const { adopt, lift, server, tokens, part } = gateway()
    const record = foreign(1, { beforeMs: NOW * 1000 })
    await adopt(record)
    expect(await lift(record.id)).toBe(0)
    expect([tokens.revocations.size, [...part.names()]]).toEqual([0, []])
    expect(await login(server.connect(), tokenFor({}))).toBe('+OK\r\n')
    expect(await lift(record.id)).toBe(0)
  })

  test('tells sessions of a channel that they may have it again', async () => {
    const { adopt, lift, session } = gateway()
    const client = await session()
    const record = foreign(1, { kind: 'channel', target: 'news' })
    await adopt(record)
    client.read()
    await lift(record.id)
    expect(client.read()).toContain('granted')
  })
})

describe('The audit log', () => {
  test('names the gateway that was given an order, here and elsewhere', async () => {
    const { adopt, lift, audit, tokens } = gateway()
    await adopt(foreign(1))
    await lift(foreign(1).id)
    await tokens.revocation.revoke(order({}), { user: 'me', address: 'a', node: 'self' })
    expect(
      audit.recent(3).map(({ action, by, address, node }) => [action, by, address, node]),
    ).toEqual([
      ['revoke', 'me', 'a', 'self'],
      ['unrevoke', 'ops', '10.0.0.9:5', ORIGIN.node],
      ['revoke', 'ops', '10.0.0.9:5', ORIGIN.node],
    ])
  })

  test('has nothing of state that was read as a whole, and nothing twice', async () => {
    const { adopt, part, audit } = gateway()
    await part.apply([registerOf(foreign(1), foreign(1))], { ...CHANGE, origin: undefined })
    await adopt(foreign(1))
    expect(audit.recent(9)).toEqual([])
  })

  test('names no gateway where there is one alone', async () => {
    const { token, server } = revocable()
    await token('REVOKE SUB 42')
    expect(Object.keys(server.audit.recent(1)[0] ?? {})).not.toContain('node')
  })
})

describe('A revocation that was ordered here', () => {
  test('is in force before others are told, and comes back as the same', async () => {
    const { session, tokens, adopt, part, audit } = gateway()
    const client = await session()
    const begun = tokens.revocation.begin(order({}), { user: 'me', address: 'a' })
    const { record, enforced, done } = begun
    expect(client.client.closed).toBe(true)
    expect(record.id).toBe(7 * IDS_PER_NODE + 1)
    expect(part.valueOf(String(record.id))).toBe(asciiJson(record))
    expect(await adopt(record)).toBe(0)
    expect(await enforced).toBe(1)
    expect(await done).toEqual({ sessions: 1, durable: true })
    expect(audit.recent(9)).toHaveLength(1)
    expect(tokens.revocations.size).toBe(1)
  })

  test('is confirmed once its sessions are cut', async () => {
    const { session, tokens, adopt, server } = gateway()
    for (let i = 0; i < 130; i++) await session({}, { jti: `t${i}` })
    const monotonicMs = server.clock.monotonicMs.bind(server.clock)
    let ms = 0
    server.clock.monotonicMs = () => monotonicMs() + (ms += 20)
    const { record, done } = tokens.revocation.begin(order({}), { user: 'me', address: 'a' })
    const left = tokens.size
    expect(left).toBeGreaterThan(0)
    let isConfirmed = false
    const applied = Promise.resolve(adopt(record)).then((hits) => {
      isConfirmed = true
      return hits
    })
    await new Promise((resolve) => void setImmediate(resolve))
    expect([isConfirmed, tokens.size]).toEqual([false, left])
    while (tokens.size > 0) {
      server.clock.advance(1)
      await new Promise((resolve) => void setImmediate(resolve))
    }
    expect(await applied).toBe(0)
    expect((await done).sessions).toBe(130)
  })

  test('gets another id where another gateway used it for something else', async () => {
    const { tokens, adopt, uncommitted } = gateway()
    const { record } = tokens.revocation.begin(order({ target: 'mine' }), {
      user: 'a',
      address: '',
    })
    await adopt({ ...record, target: 'theirs' })
    expect([...tokens.revocations.list()].map(({ id, target }) => [id, target])).toEqual([
      [7 * IDS_PER_NODE + 2, 'mine'],
      [7 * IDS_PER_NODE + 1, 'theirs'],
    ])
    expect(uncommitted).toEqual([String(7 * IDS_PER_NODE + 2)])
  })

  test('gives way where gateways share another of its id', async () => {
    const { tokens, adopt, part, uncommitted } = gateway()
    await adopt(foreign(1, { target: 'old' }))
    await tokens.revocations.journal.append(
      [registerOf(foreign(1), foreign(1, { target: 'old' }))],
      {
        id: '1-1',
        uuid: UUID,
        epoch: 'e',
      },
    )
    await adopt(foreign(1, { target: 'new' }))
    expect([...tokens.revocations.list()].map(({ target }) => target)).toEqual(['new'])
    expect([[...part.names()], uncommitted]).toEqual([[String(foreign(1).id)], []])
  })
})

describe('A revocation of a key', () => {
  const ofKeys = (...keys: string[]) => foreign(1, { kind: 'kid', target: 'k1', keys })

  test('that finds another key is to be committed anew', async () => {
    const { server, adopt, uncommitted, part } = gateway()
    await adopt(foreign(1, { kind: 'kid', target: 'unheard', keys: [] }))
    const { revocations } = server.tokens
    const [record] = [...revocations.list()]
    expect(record && revocations.addKeys(record, ['a'])?.keys).toEqual(['a'])
    await adopt(foreign(1, { kind: 'kid', target: 'unheard', keys: ['b'] }))
    expect(uncommitted).toEqual([String(foreign(1).id)])
    expect(part.valueOf(String(foreign(1).id))).toContain('"keys":["b","a"]')
  })

  test('holds against the keys that any gateway has found', async () => {
    const { adopt, part, uncommitted } = gateway()
    await adopt(ofKeys('a'))
    await adopt(ofKeys('a', 'b'))
    expect(uncommitted).toEqual([])
    expect(part.valueOf(String(foreign(1).id))).toBe(asciiJson(ofKeys('a', 'b')))
  })
})

describe('What a gateway has and its namespace does not know', () => {
  test('is shared: records of one that ran alone get ids of its number', async () => {
    const { tokens, part, adopt, own } = gateway()
    const { revocations } = tokens
    await adopt(foreign(1, { target: 'of others' }))
    own.number = 0
    const alone = revocations.add(order({ target: 'alone' }), 'ops', 0)
    own.number = 7
    const [known, unknown] = ['known', 'unknown'].map((target) =>
      revocations.add(order({ target }), 'ops', 0),
    )
    const isKnown = (name: string): boolean => name === String(known?.id)
    const strays = [...part.strays(isKnown)].filter((stray) => stray !== undefined)
    const exchanged = { ...alone, id: 7 * IDS_PER_NODE + 5 }
    expect(strays).toEqual([
      { name: String(unknown?.id), value: asciiJson(unknown as Revocation) },
      { name: String(exchanged.id), value: asciiJson(exchanged) },
    ])
    expect([...part.names()]).toContain(String(exchanged.id))
    expect(revocations.get(alone.id)).toBeUndefined()
  })
})

describe('A value', () => {
  const good = foreign(1, {
    kind: 'channel',
    target: 'caf\u00e9',
    scope: { kind: 'role', name: 'm' },
    only: 'publish',
    reason: '\u20ac',
    keys: ['a'],
    issuedByMs: 4,
  })
  const name = String(good.id)

  test('is the record as JSON in ASCII', () => {
    const { part } = gateway()
    expect(part.accepts(name, asciiJson(good))).toBe(true)
    expect(asciiJson(good)).toMatch(/^[ -~]*$/)
  })

  test.each([
    ['no JSON', '{'],
    ['no object', '7'],
    ['an id of one that is alone', asciiJson({ ...good, id: 12 }), '12'],
    ['another id than its name', asciiJson(good), '1'],
    ['a field that this version does not know', asciiJson(good).replace('{', '{"few":1,')],
    ['an unknown kind', asciiJson({ ...good, kind: 'x' as 'jti' })],
    ['keys that are no texts', asciiJson({ ...good, keys: [1 as unknown as string] })],
    ['an unknown scope', asciiJson({ ...good, scope: { kind: 'x' as 'sub', name: '' } })],
    ['a time that is no number', asciiJson({ ...good, atMs: 'x' as unknown as number })],
    ['no text', asciiJson({ ...good, message: undefined as unknown as string })],
    ['everybody, put together', asciiJson({ ...good, isMerged: true })],
    ['blanks that it need not have', asciiJson(good).replace(',', ', ')],
    ['a prototype', asciiJson(good).replace('{', '{"__proto__":{},')],
  ])('is refused if it is %s', (_title, value, asName = name) => {
    const { part } = gateway()
    expect(part.accepts(asName, value)).toBe(false)
  })
})
