import { describe, expect, test } from 'vitest'
import {
  encodeEntry,
  encodeMessage,
  unsignedRow,
  type LogRow,
} from '../../../server/control/codec.ts'
import type { CommitRequest } from '../../../server/control/control.ts'
import type { LoggedEntry } from '../../../server/control/store.ts'
import { FakePart, Fleet, type FleetGateway } from '../../support/control-fleet.ts'
import { ENTRIES } from '../../support/model-store.ts'

const messageOf = (row: LogRow): Buffer => Buffer.from(encodeMessage(row), 'latin1')

function rowOf({ id, previous, entry }: LoggedEntry): LogRow {
  return unsignedRow(id, previous, encodeEntry(entry))
}

/** Two gateways, and an entry that both have applied. */
async function two(): Promise<{
  readonly fleet: Fleet
  readonly one: FleetGateway
  readonly other: FleetGateway
  readonly row: LogRow
}> {
  const fleet = new Fleet()
  const [one, other] = (await fleet.of(2)) as [FleetGateway, FleetGateway]
  await fleet.commit(one, [{ key: 'u:a', value: 'first' }], { order: { part: 'u', value: 'go' } })
  return { fleet, one, other, row: rowOf(fleet.server.log.at(-1) as LoggedEntry) }
}

async function publish({ server }: Fleet, ...messages: readonly Buffer[]): Promise<void> {
  for (const message of messages) server.publish(ENTRIES, message)
  await server.settled()
}

describe('An entry that comes again', () => {
  test('as it was changes nothing, and is not counted: it may have been read from the log before', async () => {
    const { fleet, other, row } = await two()
    await publish(fleet, messageOf(row), messageOf(row))
    expect(other.users.obeyed).toEqual(['go'])
    expect(other.control.figures.rejected.get('replayed')).toBeUndefined()
  })

  test('at another place changes nothing, and is counted', async () => {
    const { fleet, other, row } = await two()
    await fleet.commit(other, [{ key: 'u:a', value: 'second' }])
    await publish(fleet, messageOf({ ...row, previous: fleet.server.last, id: '9-9' }))
    expect(other.users.values.get('a')).toBe('second')
    expect(other.users.obeyed).toEqual(['go'])
    expect(other.control.figures.rejected.get('replayed')).toBe(1)
  })

  test('after a restart takes no newer value back, and the next one is in force at once', async () => {
    const { fleet, one, other, row } = await two()
    await fleet.commit(one, [{ key: 'u:a', value: 'second' }])
    const again = await fleet.add({ disk: fleet.kill(other) })
    await publish(fleet, messageOf({ ...row, previous: fleet.server.last, id: '9-9' }))
    expect(again.users.values.get('a')).toBe('second')
    await fleet.commit(one, [{ key: 'u:a', value: 'third' }])
    expect(again.users.values.get('a')).toBe('third')
    expect(again.control.problems).toEqual([])
  })
})

describe('What is no entry', () => {
  test('is left out wherever a message is cut off, and counted', async () => {
    const { fleet, one, other } = await two()
    const [{ entry }] = fleet.server.log.slice(-1) as [LoggedEntry]
    const registers = [{ key: 'u:a', version: 9, uuid: 'f'.repeat(16), value: 'forged' }]
    const forged = { ...entry, uuid: 'f'.repeat(16), registers }
    const message = messageOf(rowOf({ id: '9-9', previous: fleet.server.last, entry: forged }))
    const cuts = Array.from({ length: message.length - 1 }, (_, end) =>
      message.subarray(0, end + 1),
    )
    await publish(fleet, ...cuts)
    expect(other.users.values.get('a')).toBe('first')
    expect(other.control.figures.rejected.get('broken')).toBe(cuts.length)
    await fleet.commit(one, [{ key: 'u:a', value: 'second' }])
    expect(other.users.values.get('a')).toBe('second')
  })
})

describe('An entry that this version does not know', () => {
  const on = (...keys: readonly string[]): CommitRequest['changes'] =>
    keys.map((key) => ({ key, value: 'on' }))
  const cases: readonly {
    readonly what: string
    readonly changes: CommitRequest['changes']
    readonly more?: Partial<CommitRequest>
  }[] = [
    { what: 'a register of an unknown part', changes: on('u:a', 'x:a') },
    {
      what: 'a value that its part does not accept',
      changes: [...on('u:a'), { key: 'u:b', value: 'new thing' }],
    },
    {
      what: 'an order to an unknown part',
      changes: on('u:a'),
      more: { order: { part: 'x', value: 'go' } },
    },
    {
      what: 'an order that its part does not understand',
      changes: on('u:a'),
      more: { order: { part: 'u', value: 'new order' } },
    },
  ]

  test.each(cases)(
    '$what: is not applied in part, not confirmed, and lets the gateway be fenced',
    async ({ changes, more }) => {
      const fleet = new Fleet()
      const [newer, older] = (await fleet.of(2)) as [FleetGateway, FleetGateway]
      newer.control.share(new FakePart('x'))
      older.users.unknown = 'new'
      const outcome = await fleet.commit(newer, changes, more)
      expect(outcome).toMatchObject({ state: 'committed', confirmed: [], isHere: true })
      expect(outcome).toHaveProperty('missing.0.name', 'gateway-2')
      expect(older.users.values.size + older.users.obeyed.length).toBe(0)
      await fleet.commit(newer, [{ key: 'u:c', value: 'on' }])
      expect(older.users.values.has('c')).toBe(false)
      expect(older.control.problems).toEqual([
        expect.stringMatching(/^upstream-namespace: entry .* upgrade this gateway$/),
      ])
      expect(older.control.figures.rejected.get('unknown')).toBe(1)
      await fleet.pass(10_000)
      expect(older.control.refusal).toMatch(/^TRYAGAIN /)
      expect(newer.control.refusal).toBeUndefined()
    },
  )

  test('keeps a gateway that starts from serving, by the log and by the registers', async () => {
    for (const isTrimmed of [false, true]) {
      const fleet = new Fleet()
      const [newer, older] = (await fleet.of(2)) as [FleetGateway, FleetGateway]
      newer.control.share(new FakePart('x'))
      const disk = fleet.kill(older)
      await fleet.commit(newer, [{ key: 'x:a', value: 'on' }])
      if (isTrimmed) fleet.server.trim(0)
      const again = await fleet.add({ disk })
      await fleet.pass(2_000)
      expect(again.control.refusal).toMatch(/^TRYAGAIN /)
      expect(again.control.problems[0]).toMatch(/^upstream-namespace: .* upgrade this gateway$/)
    }
  })
})
