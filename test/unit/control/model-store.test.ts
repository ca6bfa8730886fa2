import { describe, expect, test } from 'vitest'
import type { Entry } from '../../../server/control/entry.ts'
import type { NodeRecord } from '../../../server/control/node.ts'
import type { CommitAnswer, LoggedEntry } from '../../../server/control/store.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { ENTRIES, ModelServer, type ModelGateway } from '../../support/model-store.ts'

const server = (): ModelServer => new ModelServer(new FakeClock())

function entryOf(
  uuid: string,
  ...keys: readonly (readonly [key: string, version: number])[]
): Entry {
  const id = uuid.padStart(16, '0')
  return {
    uuid: id,
    origin: { node: 'n', user: 'default', address: '127.0.0.1:1' },
    atMs: 1,
    registers: keys.map(([key, version]) => ({ key, version, uuid: id, value: uuid })),
    order: undefined,
  }
}

function recordOf(id: string, number = 3_000): NodeRecord {
  return {
    ...{ id, number, name: id, version: '1', startedAtMs: 0, clients: 0, sessions: 0 },
    ...{ addresses: { resp: '', http: '', admin: '' }, subscriptions: 0, applied: '' },
    ...{ isDraining: false, digests: { issuers: '', acl: '' }, parts: [] },
  }
}

/** A gateway that is connected, and the entries that it hears. */
function joined(at: ModelServer): { gateway: ModelGateway; heard: LoggedEntry[] } {
  const gateway = at.gateway()
  const heard: LoggedEntry[] = []
  gateway.line.attach({
    ...{ channels: [ENTRIES], refusal: undefined, problems: [] },
    ...{ up: () => {}, down: () => {}, listening: () => {}, deaf: () => {}, beforeRead: () => {} },
    message: (_channel, payload) => {
      const logged = gateway.store.readMessage(payload)
      if (logged !== undefined) heard.push(logged)
    },
  })
  gateway.connect()
  return { gateway, heard }
}

const edit = (gateway: ModelGateway, entry: Entry): Promise<CommitAnswer> =>
  gateway.store.commit({ entry, mode: 'edit' })

describe('the upstream in memory', () => {
  test('hands each commit to every gateway in one order, as a chain', async () => {
    const upstream = server()
    const [one, other] = [joined(upstream), joined(upstream)]
    await edit(one.gateway, entryOf('a', ['u:x', 1]))
    await edit(other.gateway, entryOf('b', ['u:x', 2]))
    expect(one.heard).toEqual(other.heard)
    expect(one.heard.map(({ entry }) => entry.uuid.at(-1))).toEqual(['a', 'b'])
    expect(one.heard[1]?.previous).toBe(one.heard[0]?.id)
    expect(upstream.log).toEqual(one.heard)
  })

  test('lets one of two edits of a version through', async () => {
    const upstream = server()
    const { gateway } = joined(upstream)
    const answers = await Promise.all([
      edit(gateway, entryOf('a', ['u:x', 1])),
      edit(gateway, entryOf('b', ['u:x', 1])),
    ])
    expect(answers.map(({ state }) => state)).toEqual(['committed', 'conflict'])
  })

  test('commits once what is committed again after a lost answer', async () => {
    const upstream = server()
    const { gateway, heard } = joined(upstream)
    gateway.store.losesAnswers = 1
    const entry = { ...entryOf('a'), order: { part: 'k', value: '' } }
    expect(await edit(gateway, entry)).toEqual({ state: 'unknown' })
    expect(await edit(gateway, entry)).toMatchObject({ state: 'committed', id: heard[0]?.id })
    expect(upstream.log).toHaveLength(1)
  })

  test('carries out what reached it before it was stopped, though nobody waits any more', async () => {
    const upstream = server()
    const { gateway } = joined(upstream)
    upstream.stop()
    const answer = edit(gateway, entryOf('a', ['u:x', 1]))
    gateway.cut()
    expect(await answer).toEqual({ state: 'unknown' })
    upstream.resume()
    await upstream.settled()
    expect(upstream.registers.get('u:x')?.version).toBe(1)
  })

  test('forgets at a failover what the replica did not have', async () => {
    const upstream = server()
    const { gateway } = joined(upstream)
    await edit(gateway, entryOf('a', ['u:x', 1]))
    const replica = upstream.copy()
    const { last } = upstream
    await edit(gateway, entryOf('b', ['u:x', 2]))
    upstream.failOver(replica)
    expect(upstream.last).toBe(last)
    expect(await gateway.store.readLog(last, 'a'.padStart(16, '0'))).toMatchObject({ entries: [] })
    expect(await gateway.store.readLog(`${last}0`, '')).toEqual({ state: 'gone' })
  })

  test('gives gateways the lowest numbers, which are free an hour after the lease', async () => {
    const upstream = server()
    const { gateway } = joined(upstream)
    const beat = async (id: string): Promise<unknown> => {
      const answer = await gateway.store.heartbeat(recordOf(id), 10_000)
      return 'number' in answer ? answer.number : answer
    }
    expect([await beat('a'), await beat('b'), await beat('a')]).toEqual([1, 2, 1])
    upstream.clock.advance(3_600_000)
    expect(await beat('b')).toBe(2)
    upstream.clock.advance(20_000)
    expect(await beat('c')).toBe(1)
  })

  test('keeps messages while the line is paused, and counts the pauses', async () => {
    const upstream = server()
    const { gateway, heard } = joined(upstream)
    gateway.line.pause()
    gateway.line.pause()
    await edit(gateway, entryOf('a', ['u:x', 1]))
    gateway.line.resume()
    expect(heard).toEqual([])
    gateway.line.resume()
    expect(heard).toHaveLength(1)
  })
})
