import { asciiJson } from '../../../../server/ascii-json.ts'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { IDS_PER_NODE } from '../../../../server/control/node.ts'
import type { Position } from '../../../../server/control/journal.ts'
import type { Register } from '../../../../server/control/register.ts'
import { MOST_DELETIONS, RegisterJournal } from '../../../../server/token/revoke/journal.ts'
import {
  decodeLog,
  encodeEntry,
  LOG_HEADER,
  type LogEntry,
} from '../../../../server/token/revoke/log.ts'
import { RecordTexts } from '../../../../server/token/revoke/record-text.ts'
import { keyOf, type Revocation } from '../../../../server/token/revoke/revocation.ts'
import { RevocationTable } from '../../../../server/token/revoke/table.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { folderWith } from '../../../support/folder.ts'
import { keptOf } from '../../../support/kept-register.ts'
import { revocationOrder } from '../../../support/tokens.ts'

let path: string
const tables: RevocationTable[] = []

beforeEach(() => {
  path = join(folderWith(), 'token.log')
})

afterEach(async () => {
  for (const table of tables.splice(0)) await table.close()
})

async function opened(nodeNumber = 7): Promise<RevocationTable> {
  const table = new RevocationTable({ clock: new FakeClock(0), path, nodeNumber: () => nodeNumber })
  tables.push(table)
  await table.open(true)
  return table
}

async function closed(table: RevocationTable): Promise<void> {
  await table.close()
  tables.splice(tables.indexOf(table), 1)
}

const UUID = '00112233445566aa'
const POSITION: Position = { id: '1700000000000-3', uuid: UUID, epoch: 'e1' }

const register = (key: string, value: string | undefined, version = 1): Register => ({
  key,
  version,
  uuid: UUID,
  value,
})

/** A record that another gateway, number 9, has made. */
const foreign = (counter: number, target = 'x'): Revocation => ({
  ...revocationOrder({ target, beforeMs: 5 }),
  id: 9 * IDS_PER_NODE + counter,
  by: 'admin',
  atMs: 3,
  hit: 2,
})

const registerOf = (record: Revocation, version = 1): Register =>
  register(keyOf(record.id), asciiJson(record), version)

/** Puts a record of other gateways in force and writes it down, as the control plane does. */
async function apply(table: RevocationTable, record: Revocation, version = 1): Promise<void> {
  table.adopt(record)
  await table.journal.append([registerOf(record, version)], POSITION)
}

const targets = (table: RevocationTable): string[] => [...table.list()].map(({ target }) => target)

const entries = (): readonly LogEntry[] => decodeLog(readFileSync(path), path).entries

describe('What a gateway has applied', () => {
  test('is found again after a restart: registers, deletions and the position', async () => {
    const table = await opened()
    expect(table.journal.kept).toEqual({ registers: [], position: undefined })
    const record = foreign(1, 'jos\u00e9 \u20ac')
    await apply(table, record)
    const others = [register('u:ann', 'on nopass +@all'), register('u:bob', undefined, 4)]
    const position = { ...POSITION, id: '1700000000000-9' }
    expect(await table.journal.append(others, position)).toBe(true)
    await closed(table)
    const again = await opened()
    expect(again.journal.kept).toEqual({
      registers: [keptOf(registerOf(record)), ...others.map(keptOf)],
      position,
    })
    expect([...again.list()]).toEqual([record])
  })

  test('is the newest of each register, however often the file is written anew', async () => {
    const table = await opened()
    const record = foreign(1)
    await apply(table, record)
    await apply(table, { ...record, keys: ['k'] }, 2)
    await table.journal.append([register('u:ann', 'on')], POSITION)
    await table.journal.append([register('u:ann', 'off', 2)], POSITION)
    await closed(table)
    for (let i = 0; i < 2; i++) {
      const again = await opened()
      expect(again.journal.kept).toEqual({
        registers: [registerOf({ ...record, keys: ['k'] }, 2), register('u:ann', 'off', 2)].map(
          keptOf,
        ),
        position: POSITION,
      })
      await closed(again)
      expect(entries().map(({ op }) => op)).toEqual(['next', 'register', 'register', 'at'])
    }
  })

  test('ends at a record that broke off, at whatever byte', async () => {
    const table = await opened()
    await apply(table, foreign(1))
    await closed(table)
    const whole = readFileSync(path)
    const more = [
      { op: 'register', ...register('u:ann', 'on'), value: 'on' },
      { op: 'at', ...POSITION, id: '2-0' },
    ] as const satisfies readonly LogEntry[]
    const last = encodeEntry(more[1])
    const tail = Buffer.concat([encodeEntry(more[0]), last])
    const before = decodeLog(whole, path).entries
    for (let cut = 0; cut <= tail.length; cut++) {
      const read = decodeLog(Buffer.concat([whole, tail.subarray(0, cut)]), path).entries
      const count = cut === tail.length ? 2 : cut >= tail.length - last.length ? 1 : 0
      expect(read).toEqual([...before, ...more.slice(0, count)])
    }
  })

  test.each([
    ['a key that is no text', { key: 1, version: 1, uuid: UUID, value: 'on' }],
    ['a version that is no number', { key: 'u:a', version: '1', uuid: UUID, value: 'on' }],
    ['no value', { key: 'u:a', version: 1, uuid: UUID }],
    ['a user with a record', { key: 'u:a', version: 1, uuid: UUID, value: {} }],
    ['a revocation without its record', { key: 'r:1', version: 1, uuid: UUID, value: 'on' }],
  ])('is damage if it has %s', (_title, fields) => {
    const bytes = encodeEntry({ op: 'register', ...fields } as unknown as LogEntry)
    const good = encodeEntry({ op: 'next', id: 1 })
    expect(() => decodeLog(Buffer.concat([Buffer.from(LOG_HEADER), bytes, good]), path)).toThrow(
      /damaged/,
    )
  })

  test('is in the file in the end, and serves before, where a whole state was taken over', async () => {
    const table = await opened()
    const records = Array.from({ length: 1_201 }, (_, at) => foreign(at + 1, `subject ${at}`))
    for (const record of records) table.adopt(record)
    table.journal.note(records.map((record) => registerOf(record)))
    expect(entries().filter(({ op }) => op === 'register')).toEqual([])
    await table.journal.append([register('u:ann', 'on')], POSITION)
    // What was lifted meanwhile is written as it is by then.
    table.lift(foreign(1).id)
    await table.journal.append([register(keyOf(foreign(1).id), undefined, 2)], POSITION)
    const keys = (): string[] =>
      entries().flatMap((entry) => (entry.op === 'register' ? [entry.key] : []))
    while (new Set(keys()).size < 1_202) await new Promise((resolve) => setImmediate(resolve))
    await closed(table)
    const again = await opened()
    expect(targets(again).toSorted()).toEqual(
      records
        .slice(1)
        .map(({ target }) => target)
        .toSorted(),
    )
    expect(again.journal.kept.registers).toHaveLength(1_202)
    expect(again.journal.kept.position).toEqual(POSITION)
  })

  test('is refused by a disk that fails', async () => {
    const journal = new RegisterJournal(
      () => undefined,
      new RecordTexts(),
      () => Promise.resolve(false),
    )
    expect(await journal.append([], POSITION)).toBe(false)
  })
})

describe('A file with registers', () => {
  test('holds the revocations of all gateways for one that is alone, and no users', async () => {
    const table = await opened()
    await apply(table, foreign(1, 'one'))
    await apply(table, foreign(2, 'two'))
    table.lift(foreign(1).id)
    await table.journal.append([register(keyOf(foreign(1).id), undefined, 2)], POSITION)
    await closed(table)
    const alone = await opened(0)
    expect(targets(alone)).toEqual(['two'])
    expect(alone.add(revocationOrder(), 'admin', 0).id).toBe(3)
  })

  test('has the records that no gateway has been told of beside them', async () => {
    const table = await opened()
    const own = table.add(revocationOrder({ target: 'own' }), 'admin', 0)
    await table.commit({ op: 'revoke', record: own })
    await apply(table, foreign(1, 'foreign'))
    await closed(table)
    const again = await opened()
    expect(targets(again).toSorted()).toEqual(['foreign', 'own'])
    expect([own, foreign(1)].map(({ id }) => again.isShared(id))).toEqual([false, true])
    expect(again.journal.kept.registers).toHaveLength(1)
  })

  test('is written once for a record that was ordered here and came back', async () => {
    const table = await opened()
    const own = table.add(revocationOrder({ target: 'own' }), 'admin', 0)
    await table.commit({ op: 'revoke', record: own })
    await table.journal.append([registerOf(own)], POSITION)
    await closed(table)
    const again = await opened()
    expect([...again.list()]).toEqual([own])
    await closed(again)
    expect(entries().map(({ op }) => op)).toEqual(['next', 'register', 'at'])
  })

  test('has a record that knows of more keys than its register, and the register as it is', async () => {
    const table = await opened()
    const record = { ...foreign(1), kind: 'kid', keys: ['a'] } as const
    await apply(table, record)
    const grown = table.addKeys(record, ['b']) as Revocation
    await table.commit({ op: 'revoke', record: grown })
    await closed(table)
    for (let i = 0; i < 2; i++) {
      const again = await opened()
      expect([...again.list()]).toEqual([grown])
      expect(again.journal.kept.registers).toEqual([keptOf(registerOf(record))])
      await closed(again)
    }
  })

  test('has no register of a revocation that was lifted while this one was alone: gateways give it back', async () => {
    const table = await opened()
    await apply(table, foreign(1))
    await closed(table)
    const alone = await opened(0)
    alone.lift(foreign(1).id)
    await alone.commit({ op: 'lift', id: foreign(1).id })
    expect(alone.journal.kept.registers).toEqual([])
    await closed(alone)
    const again = await opened()
    expect(again.journal.kept).toEqual({ registers: [], position: POSITION })
    expect(targets(again)).toEqual([])
  })

  test('forgets registers of revocations that have ended for good when it is written anew', async () => {
    const table = await opened()
    await apply(table, foreign(1))
    await apply(table, foreign(2, 'kept'))
    await closed(table)
    writeFileSync(path, encodeEntry({ op: 'next', id: 1 }), { flag: 'a' })
    const journal = new RegisterJournal(
      (id) => (id === foreign(2).id ? foreign(2) : undefined),
      new RecordTexts(),
      () => Promise.resolve(true),
    )
    for (const entry of entries()) journal.take(entry)
    const held: Revocation[] = []
    expect([...journal.entries((record) => held.push(record))].map(({ op }) => op)).toEqual([
      'register',
      'at',
    ])
    expect(journal.kept.registers.map(({ key }) => key)).toEqual([keyOf(foreign(2).id)])
  })

  test('remembers so many deletions, and forgets the oldest', async () => {
    const journal = new RegisterJournal(
      () => undefined,
      new RecordTexts(),
      () => Promise.resolve(true),
    )
    const deletions = Array.from({ length: MOST_DELETIONS + 2 }, (_, i) =>
      register(`u:${i}`, undefined),
    )
    await journal.append(deletions, POSITION)
    await journal.append([register('u:2', 'on', 2)], POSITION)
    const keys = journal.kept.registers.map(({ key }) => key)
    expect([keys.length, keys[0], keys.at(-1)]).toEqual([MOST_DELETIONS, 'u:2', 'u:100001'])
  })
})

describe('Ids', () => {
  test('begin with the number of the gateway, and go on after those of others', async () => {
    const table = await opened(7)
    expect(table.add(revocationOrder(), 'admin', 0).id).toBe(7 * IDS_PER_NODE + 1)
    table.adopt(foreign(41))
    expect(table.add(revocationOrder(), 'admin', 0).id).toBe(7 * IDS_PER_NODE + 42)
    table.passed(3 * IDS_PER_NODE + 99)
    expect(table.add(revocationOrder(), 'admin', 0).id).toBe(7 * IDS_PER_NODE + 100)
  })

  test('of one that ran alone are exchanged for such, and stay so after a restart', async () => {
    const alone = await opened(0)
    const old = alone.add(revocationOrder({ target: 'old' }), 'admin', 0)
    const channel = alone.add(revocationOrder({ kind: 'channel', target: 'c*' }), 'admin', 0)
    for (const record of [old, channel]) await alone.commit({ op: 'revoke', record })
    await closed(alone)
    const table = await opened(7)
    const { records, written } = table.renumber([old.id, channel.id, 77])
    expect(records).toEqual([
      { ...old, id: 7 * IDS_PER_NODE + 3 },
      { ...channel, id: 7 * IDS_PER_NODE + 4 },
    ])
    expect([...table.list()]).toEqual(records)
    expect(await written).toBe(true)
    await closed(table)
    expect([...(await opened(7)).list()]).toEqual(records)
  })
})
