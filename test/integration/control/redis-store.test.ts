import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Entry } from '../../../server/control/entry.ts'
import type { NodeRecord } from '../../../server/control/node.ts'
import { RedisStore } from '../../../server/control/redis-store.ts'
import { isNewer, type Register } from '../../../server/control/register.ts'
import { NO_SIGNATURE, signatureBy, type Signature } from '../../../server/control/signature.ts'
import type { CommitAnswer, Heartbeat, LogTail } from '../../../server/control/store.ts'
import { keySlot } from '../../../shared/key-slot.ts'
import { DirectLine } from '../../support/direct-line.ts'
import { opener } from '../../support/opened.ts'
import { findProgram } from '../../support/redis-servers.ts'
import { waitUntil } from '../../support/topologies/ask-node.ts'
import { startCluster } from '../../support/topologies/cluster.ts'
import { Node } from '../../support/topologies/node.ts'
import { wholeState } from '../../support/whole-state.ts'

const open = opener()
const TAG = '{respcast:test}'
const KEY = Buffer.from('k'.repeat(32))
let uuids = 0

const newUuid = (): string => (++uuids).toString(16).padStart(16, '0')

function entryOf(registers: readonly Omit<Register, 'uuid'>[], more: Partial<Entry> = {}): Entry {
  const uuid = newUuid()
  return {
    uuid,
    origin: { node: 'n1', user: 'caf\xe9\x00', address: '127.0.0.1:1' },
    atMs: 1_700_000_000_000,
    registers: registers.map((register) => ({ ...register, uuid })),
    order: undefined,
    ...more,
  }
}

const user = (version: number, value = 'on', name = 'x'): Entry =>
  entryOf([{ key: `u:${name}`, version, value }])

const deleted = (version: number): Entry => entryOf([{ key: 'u:x', version, value: undefined }])

function recordOf(id: string, number = 3_000): NodeRecord {
  return {
    ...{ id, number, name: id, version: '1', startedAtMs: 5, clients: 1, sessions: 2 },
    ...{ addresses: { resp: 'a:1', http: 'a:2', admin: '' }, subscriptions: 3, applied: '1-0' },
    ...{ isDraining: true, digests: { issuers: 'i', acl: 'a' }, parts: ['u', 'r'] },
  }
}

describe.each(['valkey-server', 'redis-server'] as const)('the keys at a %s', (program) => {
  describe.skipIf(findProgram(program) === undefined && process.env['CI'] !== 'true')('', () => {
    let node: Node

    beforeAll(async () => {
      node = await Node.start({ program })
    }, 30_000)
    afterAll(() => node?.stop())
    beforeEach(() => node.ask('FLUSHALL'))

    function connect(): DirectLine {
      const line = new DirectLine(node.port)
      open.onEnd(() => line.close())
      return line
    }

    function storeOn(line: DirectLine, signature: Signature = NO_SIGNATURE): RedisStore {
      return new RedisStore({ line, namespace: 'test', signature, user: 'gateway' })
    }

    const newStore = (signature?: Signature): RedisStore => storeOn(connect(), signature)

    const edit = (store: RedisStore, entry: Entry): Promise<CommitAnswer> =>
      store.commit({ entry, mode: 'edit' })

    const merge = (store: RedisStore, entry: Entry): Promise<CommitAnswer> =>
      store.commit({ entry, mode: 'merge' })

    async function idOf(answer: Promise<CommitAnswer>): Promise<string> {
      const found = await answer
      if (found.state !== 'committed') throw new Error(JSON.stringify(found))
      return found.id
    }

    async function stateOf(
      store: RedisStore,
    ): Promise<Extract<Awaited<ReturnType<typeof wholeState>>, { state: 'read' }>> {
      const found = await wholeState(store)
      if (found.state !== 'read') throw new Error(JSON.stringify(found))
      return found
    }

    async function tailOf(
      store: RedisStore,
      after = '',
      uuid = '',
    ): Promise<Extract<LogTail, { state: 'whole' }>> {
      const found = await store.readLog(after, uuid)
      if (found.state !== 'whole') throw new Error(JSON.stringify(found))
      return found
    }

    async function beat(
      store: RedisStore,
      id: string,
      number?: number,
      leaseMs = 10_000,
    ): Promise<Heartbeat> {
      const found = await store.heartbeat(recordOf(id, number), leaseMs)
      if ('state' in found) throw new Error(JSON.stringify(found))
      return found
    }

    test('a commit is in the log, in the state and in the channel', async () => {
      const store = newStore()
      const listener = connect()
      await listener.listen('SUBSCRIBE', `${TAG}:ctl`)
      const first = user(1, 'on ~\xff')
      const order = { part: 'k', value: '{"id":1}' }
      const second = { ...deleted(2), order }
      const ids = [await idOf(edit(store, first)), await idOf(edit(store, second))]
      const logged = [
        { id: ids[0], previous: '', entry: first },
        { id: ids[1], previous: ids[0], entry: second },
      ]
      await listener.answer('PING')
      const payloads = listener.pushes
        .slice(1)
        .map(({ items }) => Buffer.from(items[2] as Uint8Array))
      expect(payloads.map((payload) => store.readMessage(payload))).toEqual(logged)
      expect(await tailOf(store)).toMatchObject({
        ...{ entries: logged, last: ids[1], lastUuid: second.uuid },
      })
      expect(await stateOf(store)).toMatchObject({
        ...{ last: ids[1], lastUuid: second.uuid, registers: second.registers },
      })
    })

    test('of many edits of one version one is committed, and no version is left out', async () => {
      const stores = Array.from({ length: 8 }, () => newStore())
      let committed = 0
      for (let version = 1; version <= 50; version++) {
        const answers = await Promise.all(stores.map((store) => edit(store, user(version))))
        const states = answers.map(({ state }) => state).sort()
        expect(states).toEqual(['committed', ...Array.from({ length: 7 }, () => 'conflict')])
        committed++
      }
      const { entries } = await tailOf(stores[0] as RedisStore)
      expect(entries).toHaveLength(committed)
      expect(entries.map(({ entry }) => entry.registers[0]?.version)).toEqual(
        Array.from({ length: 50 }, (_, at) => at + 1),
      )
    })

    test('an edit of several registers changes all of them or none', async () => {
      const store = newStore()
      await edit(store, user(1, 'on', 'a'))
      const both = entryOf([
        { key: 'u:a', version: 1, value: 'off' },
        { key: 'u:b', version: 1, value: 'off' },
      ])
      expect(await edit(store, both)).toEqual({ state: 'conflict', keys: ['u:a'] })
      expect((await stateOf(store)).registers.map(({ key }) => key)).toEqual(['u:a'])
    })

    test('a deletion is kept, so that neither an edit nor a merge brings the old value back', async () => {
      const store = newStore()
      const old = user(1)
      await edit(store, old)
      await edit(store, deleted(2))
      expect(await merge(store, { ...old, uuid: newUuid() })).toMatchObject({ id: '' })
      expect(await edit(store, user(1))).toMatchObject({ state: 'conflict' })
      expect((await stateOf(store)).registers).toMatchObject([{ version: 2, value: undefined }])
    })

    const counted = async (name: string): Promise<number> =>
      (await node.ask('XLEN', `${TAG}:${name}`)) as number

    test.each(['edit', 'merge'] as const)(
      'an %s whose answer was lost is committed once, and said to be',
      async (mode) => {
        const line = connect()
        const store = storeOn(line)
        await edit(store, user(1, 'on', 'other'))
        const entry = { ...user(1), order: { part: 'k', value: '' } }
        const lost = store.commit({ entry, mode })
        line.lose()
        expect(await lost).toEqual({ state: 'unknown' })
        await waitUntil('it is carried out', async () => (await counted('log')) === 2)
        expect(await idOf(store.commit({ entry, mode }))).toBe((await tailOf(store)).last)
        expect(await counted('log')).toBe(2)
      },
    )

    test('a retry is committed although another edit has come after it', async () => {
      const line = connect()
      const store = storeOn(line)
      const entry = user(1)
      const lost = edit(store, entry)
      line.lose()
      await lost
      await waitUntil('it is carried out', async () => (await counted('log')) === 1)
      const { last } = await tailOf(store)
      await edit(newStore(), user(2))
      expect(await idOf(edit(store, entry))).toBe(last)
    })

    test('an edit that is there already is committed again without a second entry', async () => {
      const entry = user(1)
      const id = await idOf(edit(newStore(), entry))
      expect(await idOf(edit(newStore(), entry))).toBe(id)
      expect(await counted('log')).toBe(1)
    })

    test('a merge writes what is newer, whatever the order, and leaves the rest', async () => {
      const states: (readonly Register[])[] = []
      const registers = [3, 1, 2].map((version) => ({ key: 'u:x', version, value: `v${version}` }))
      const entries = registers.map((register) => entryOf([register]))
      const twin = entryOf([{ key: 'u:x', version: 3, value: 'twin' }])
      for (const order of [
        entries,
        entries.toReversed(),
        [...entries.slice(1), twin, ...entries],
      ]) {
        await node.ask('FLUSHALL')
        const store = newStore()
        for (const entry of [...order, twin]) await merge(store, entry)
        states.push((await stateOf(store)).registers)
      }
      expect(states[0]).toMatchObject([{ value: 'twin' }])
      expect(states[1]).toEqual(states[0])
      expect(states[2]).toEqual(states[0])
    })

    test('a merge with nothing newer writes no entry, one with an order does', async () => {
      const store = newStore()
      const entry = user(1)
      await merge(store, entry)
      expect(await idOf(merge(store, { ...entry, uuid: newUuid() }))).toBe('')
      expect(await counted('log')).toBe(1)
      const order = { part: 'k', value: '' }
      expect(await idOf(merge(store, { ...entry, uuid: newUuid(), order }))).not.toBe('')
    })

    test('the log behind an entry is read in pages, by its id and its uuid', async () => {
      const store = newStore()
      const entries = Array.from({ length: 250 }, (_, at) => user(at + 1))
      const ids = await Promise.all(entries.map((entry) => idOf(edit(store, entry))))
      for (const from of [0, 49, 149, 248]) {
        const tail = await tailOf(store, ids[from], entries[from]?.uuid)
        expect(tail.entries.map(({ id }) => id)).toEqual(ids.slice(from + 1))
      }
      expect((await tailOf(store)).entries).toHaveLength(250)
      const end = await tailOf(store, ids[249], entries[249]?.uuid)
      expect(end).toMatchObject({ entries: [], last: ids[249], lastUuid: entries[249]?.uuid })
      expect(await store.readLog(ids[3] ?? '', newUuid())).toEqual({ state: 'gone' })
      expect(await store.readLog('1-0', newUuid())).toEqual({ state: 'gone' })
    })

    test('a log that was trimmed, cut open or lost is gone, and the state is not', async () => {
      const store = newStore()
      const entries = [user(1), user(2), user(3), user(4)]
      const ids: string[] = []
      for (const entry of entries) ids.push(await idOf(edit(store, entry)))
      const [first, second, third, fourth] = ids as [string, string, string, string]
      const from = (at: number): Promise<unknown> =>
        store.readLog(ids[at] ?? '', entries[at]?.uuid ?? '')
      await node.ask('XDEL', `${TAG}:log`, third)
      expect(await from(0)).toEqual({ state: 'gone' })
      await node.ask('XTRIM', `${TAG}:log`, 'MAXLEN', '1')
      expect(await from(0)).toEqual({ state: 'gone' })
      expect(await store.readLog('', '')).toEqual({ state: 'gone' })
      expect(await from(3)).toMatchObject({ state: 'whole', entries: [] })
      await node.ask('XDEL', `${TAG}:log`, fourth)
      expect(await from(3)).toEqual({ state: 'gone' })
      await node.ask('DEL', `${TAG}:log`)
      expect(await from(3)).toEqual({ state: 'gone' })
      expect([first, second]).toHaveLength(2)
      expect(await stateOf(store)).toMatchObject({ last: fourth, registers: [{ version: 4 }] })
    })

    test('keys that were lost are made anew, as another epoch', async () => {
      const store = newStore()
      expect(await stateOf(store)).toMatchObject({ epoch: '', last: '', registers: [] })
      const { epoch } = await beat(store, 'a')
      expect(await beat(store, 'a')).toMatchObject({ epoch, last: '' })
      const id = await idOf(edit(store, user(1)))
      expect(await beat(store, 'a')).toMatchObject({ epoch, last: id })
      await node.ask('FLUSHALL')
      const again = await idOf(merge(store, user(2)))
      const { epoch: newEpoch, last } = await beat(store, 'a', 1)
      expect(last).toBe(again)
      expect(newEpoch).toMatch(/^[0-9a-f]{16}$/)
      expect(newEpoch).not.toBe(epoch)
    })

    test('a namespace of another format is left alone', async () => {
      const store = newStore()
      await node.ask('HSET', `${TAG}:state`, 'format', '2', 'epoch', 'e')
      const problem =
        "upstream-namespace: 'test' was written by a version that this one does not know (format 2): upgrade this gateway, or name another namespace"
      expect(await edit(store, user(1))).toEqual({ state: 'refused', problem })
      for (const answer of [
        await store.heartbeat(recordOf('a'), 1_000),
        await wholeState(store),
        await store.readLog('', ''),
      ]) {
        expect(answer).toEqual({ state: 'failed', problem })
      }
      expect(await node.ask('KEYS', '*')).toHaveLength(1)
    })

    test('gateways get the lowest number that is free, and keep it', async () => {
      const store = newStore()
      expect((await beat(store, 'a')).number).toBe(1)
      expect((await beat(store, 'b')).number).toBe(2)
      expect((await beat(store, 'c', 7)).number).toBe(7)
      expect((await beat(store, 'd', 2)).number).toBe(3)
      await store.leave('a')
      expect((await beat(store, 'b')).number).toBe(2)
      expect((await beat(store, 'e')).number).toBe(1)
    })

    test('a heartbeat tells of all gateways, with what is left of their leases', async () => {
      const store = newStore()
      await beat(store, 'a', undefined, 60_000)
      const { nodes, timeMs } = await beat(store, 'b', undefined, 5_000)
      expect(nodes.map(({ record }) => record)).toEqual([recordOf('b', 2), recordOf('a', 1)])
      expect(nodes[0]?.leaseLeftMs).toBe(5_000)
      expect(nodes[1]?.leaseLeftMs).toBeGreaterThan(20_000)
      const [seconds] = (await node.ask('TIME')) as readonly Uint8Array[]
      expect(Math.abs(timeMs / 1_000 - Number(Buffer.from(seconds ?? []).toString()))).toBeLessThan(
        30,
      )
      const answer = await edit(store, user(1))
      expect(answer).toMatchObject({
        nodes: expect.arrayContaining([
          { record: recordOf('a', 1), leaseLeftMs: expect.any(Number) },
          { record: recordOf('b', 2), leaseLeftMs: expect.any(Number) },
        ]),
      })
    })

    test('a number is free an hour after its lease has lapsed, not before', async () => {
      const store = newStore()
      const { timeMs } = await beat(store, 'a')
      const lapse = (id: string, number: number, agoMs: number): Promise<unknown> =>
        node.ask('HSET', `${TAG}:nodes`, id, `${number} ${timeMs - agoMs} {}`)
      await lapse('young', 2, 3_500_000)
      await lapse('old', 3, 3_700_000)
      const { number, nodes } = await beat(store, 'b')
      expect(number).toBe(3)
      expect(nodes.map(({ record }) => record.id).sort()).toEqual(['a', 'b', 'young'])
      expect(nodes.find(({ record }) => record.id === 'young')?.leaseLeftMs).toBeLessThan(
        -3_000_000,
      )
    })

    test('the number that lapsed first is given again when none is free, and nobody who lives loses his', async () => {
      const store = newStore()
      const { timeMs } = await beat(store, 'a')
      const fields = Array.from({ length: 2_046 }, (_, at) => {
        const endsMs = at === 1_000 ? timeMs - 2_000 : at === 2_000 ? timeMs - 1_000 : timeMs + 1e9
        return [`n${at}`, `${at + 2} ${endsMs} {}`]
      })
      await node.ask('HSET', `${TAG}:nodes`, ...fields.flat())
      const { number, nodes } = await beat(store, 'b')
      expect(number).toBe(1_002)
      expect(nodes).toHaveLength(2_047)
      expect((await beat(store, 'c')).number).toBe(2_002)
      expect(await store.heartbeat(recordOf('d'), 1_000)).toEqual({
        state: 'failed',
        problem:
          "upstream-namespace: 'test' has as many gateways as there are numbers: name another namespace",
      })
    })

    test('a record that nobody can read still stands for a gateway', async () => {
      const store = newStore()
      const { timeMs } = await beat(store, 'a')
      await node.ask('HSET', `${TAG}:nodes`, 'b', `2 ${timeMs + 60_000} {"name":7,`)
      const { nodes } = await beat(store, 'a')
      expect(nodes[1]?.record).toMatchObject({ id: 'b', number: 2, name: 'b', parts: [] })
    })

    test('the state is right that is read while commits go on', async () => {
      const writers = Array.from({ length: 4 }, () => newStore())
      const reader = newStore()
      const wide = (version: number): Entry[] =>
        Array.from({ length: 4 }, (_, part) =>
          entryOf(
            Array.from({ length: 1_000 }, (__, at) => ({
              ...{ key: `r:${part * 1_000 + at}`, version, value: `v${version}` },
            })),
          ),
        )
      const commitAll = (version: number): Promise<string[]> =>
        Promise.all(wide(version).map((entry, at) => idOf(edit(writers[at] as RedisStore, entry))))
      await commitAll(1)
      const progress = { version: 1, reads: 0 }
      const writing = (async () => {
        while (progress.version < 10) {
          await commitAll(progress.version + 1)
          progress.version++
        }
      })()
      while (progress.version < 10) {
        const { last, lastUuid, registers } = await stateOf(reader)
        const newest = new Map(registers.map((register) => [register.key, register]))
        expect(newest.size).toBe(4_000)
        const { entries } = await tailOf(reader, last, lastUuid)
        for (const { entry } of entries) {
          for (const register of entry.registers) {
            if (isNewer(register, newest.get(register.key))) newest.set(register.key, register)
          }
        }
        const lowest = Math.min(...[...newest.values()].map(({ version }) => version))
        const highest = Math.max(...[...newest.values()].map(({ version }) => version))
        expect(highest - lowest).toBeLessThanOrEqual(1)
        progress.reads++
      }
      await writing
      expect(progress.reads).toBeGreaterThan(0)
      const { registers } = await stateOf(reader)
      expect(registers.every(({ version }) => version === 10)).toBe(true)
    }, 60_000)

    test('a state whose answers are lost is not taken for a small one', async () => {
      const line = connect()
      const store = storeOn(line)
      await edit(store, user(1))
      line.afterAsk = ([command]) => void (command === 'HSCAN' && line.lose())
      expect(await wholeState(store)).toEqual({ state: 'failed', problem: undefined })
    })

    describe('with a key', () => {
      const signature = signatureBy([KEY])

      test('what another key or nobody signed is not taken, and is counted by reason', async () => {
        const [signed, unsigned, other] = [
          newStore(signature),
          newStore(),
          newStore(signatureBy([Buffer.alloc(32, 1)])),
        ]
        const entry = user(1, 'on', 'a')
        await edit(signed, entry)
        await edit(unsigned, user(1, 'on', 'b'))
        await edit(other, user(1, 'on', 'c'))
        const last = user(1, 'on', 'd')
        const lastId = await idOf(edit(signed, last))
        const tail = await tailOf(signed)
        expect(tail.entries.map((logged) => logged.entry)).toEqual([entry, last])
        expect(tail.last).toBe(lastId)
        expect(signed.rejected).toEqual(
          new Map([
            ['unsigned', 1],
            ['forged', 1],
          ]),
        )
        const { registers } = await stateOf(signed)
        expect(registers.map(({ key }) => key).sort()).toEqual(['u:a', 'u:d'])
        expect(signed.rejected).toEqual(
          new Map([
            ['unsigned', 2],
            ['forged', 2],
          ]),
        )
      })

      test('the log ends where an entry is that is not taken', async () => {
        const store = newStore(signature)
        await edit(store, user(1))
        const unsigned = user(1, 'on', 'y')
        const id = await idOf(edit(newStore(), unsigned))
        const { entries, last, lastUuid } = await tailOf(store)
        expect(entries).toHaveLength(1)
        expect({ last, lastUuid }).toEqual({ last: id, lastUuid: unsigned.uuid })
      })

      test('a line that nobody signed stops neither an edit nor a merge', async () => {
        const store = newStore(signature)
        const entry = user(1)
        await edit(newStore(), entry)
        await merge(store, entry)
        expect((await stateOf(store)).registers).toEqual(entry.registers)
        await edit(newStore(), user(2, 'forged'))
        await node.ask('HSET', `${TAG}:state`, 'u:y', '99 ffffffffffffffff 1-1 - "forged"')
        await idOf(edit(store, user(2, 'mine')))
        await idOf(edit(store, user(5, 'mine too', 'y')))
        const { registers } = await stateOf(store)
        expect(registers.map(({ value = '' }) => value).sort()).toEqual(['mine', 'mine too'])
      })

      test('edits of one version still exclude each other', async () => {
        const store = newStore(signature)
        await edit(store, user(1))
        expect(await edit(store, user(1))).toEqual({ state: 'conflict', keys: ['u:x'] })
        expect(await idOf(merge(store, user(1)))).not.toBe('')
        expect(await edit(store, user(3))).toEqual({ state: 'conflict', keys: ['u:x'] })
      })

      test('a register is not taken for another one, nor for one of another namespace', async () => {
        const store = newStore(signature)
        await edit(store, user(1, 'on', 'a'))
        const [line] = (await node.ask('HMGET', `${TAG}:state`, 'u:a')) as readonly Uint8Array[]
        await node.ask('HSET', `${TAG}:state`, 'u:b', Buffer.from(line ?? []).toString('latin1'))
        const { registers } = await stateOf(store)
        expect(registers.map(({ key }) => key)).toEqual(['u:a'])
        expect(store.rejected).toEqual(new Map([['forged', 1]]))
        await node.ask('COPY', `${TAG}:state`, '{respcast:other}:state')
        const [one] = [
          new RedisStore({ line: connect(), namespace: 'other', signature, user: 'g' }),
        ]
        expect((await stateOf(one)).registers).toEqual([])
      })
    })

    test('who lacks a permission is told the directive and what to grant', async () => {
      await node.ask(
        'ACL',
        'SETUSER',
        'gateway',
        'on',
        'nopass',
        '~{respcast:test}:*',
        '+evalsha',
        '+eval',
        '+auth',
        '+hello',
      )
      const line = connect()
      await line.answer('AUTH', 'gateway', '')
      const store = storeOn(line)
      const answer = await store.heartbeat(recordOf('a'), 1_000)
      const advice =
        'At the upstream: ACL SETUSER gateway ~{respcast:test}:* &{respcast:test}:* +eval +evalsha +time'
      expect(answer).toMatchObject({ state: 'failed', problem: expect.stringContaining(advice) })
      expect(answer).toMatchObject({ problem: expect.stringContaining("upstream-user: 'gateway'") })
      expect(await edit(store, user(1))).toMatchObject({
        state: 'refused',
        problem: expect.stringContaining(advice),
      })
      const granted = /ACL SETUSER gateway (.*)$/.exec((answer as { problem: string }).problem)
      await node.ask('ACL', 'SETUSER', 'gateway', ...(granted?.[1] ?? '').split(' '))
      await beat(store, 'a')
      await idOf(edit(store, user(1)))
      await idOf(merge(store, { ...user(5), order: { part: 'k', value: '' } }))
      await tailOf(store)
      await stateOf(store)
      await store.leave('a')
      expect(await node.ask('HLEN', `${TAG}:nodes`)).toBe(0)
      expect(await store.makeDurable({ replicas: 0 }, 10)).toBe(true)
    })

    test.each(['-publish', 'resetchannels', '-xadd', '-hgetall'])(
      'a commit that is refused in part is not in the log: %s',
      async (rule) => {
        await node.ask('ACL', 'SETUSER', 'half', 'on', 'nopass', '~*', '&*', '+@all')
        const line = connect()
        await line.answer('AUTH', 'half', '')
        const store = storeOn(line)
        await idOf(edit(store, user(1)))
        await node.ask('ACL', 'SETUSER', 'half', rule)
        const problem = expect.stringMatching(/^upstream-user: .* At the upstream: ACL SETUSER /)
        expect(await edit(store, user(2, 'off'))).toMatchObject({ state: 'refused', problem })
        const whole = newStore()
        expect((await tailOf(whole)).entries).toHaveLength(1)
        expect((await stateOf(whole)).registers).toMatchObject([{ version: 1, value: 'on' }])
      },
    )

    test('a full memory refuses neither a lease nor a revocation', async () => {
      const store = newStore()
      await node.ask('CONFIG', 'SET', 'maxmemory', '1')
      try {
        expect(await beat(store, 'a')).toMatchObject({ number: 1 })
        expect(await edit(store, user(1))).toMatchObject({ state: 'committed' })
      } finally {
        await node.ask('CONFIG', 'SET', 'maxmemory', '0')
      }
    })

    test('an upstream that may not write for want of replicas has written nothing, and is named', async () => {
      const store = newStore()
      await node.ask('CONFIG', 'SET', 'min-replicas-to-write', '1')
      try {
        expect(await edit(store, user(1))).toEqual({ state: 'unknown' })
        expect(await store.heartbeat(recordOf('a'), 1_000)).toMatchObject({
          ...{ state: 'failed', problem: expect.stringContaining('NOREPLICAS') },
        })
      } finally {
        await node.ask('CONFIG', 'SET', 'min-replicas-to-write', '0')
      }
      expect(await node.ask('EXISTS', `${TAG}:state`)).toBe(0)
    })

    test('keys of another type are left alone, and named', async () => {
      const store = newStore()
      await node.ask('SET', `${TAG}:state`, 'x')
      const problem = expect.stringMatching(/^upstream: the control plane is refused .*WRONGTYPE/)
      expect(await edit(store, user(1))).toMatchObject({ state: 'refused', problem })
      expect(await wholeState(store)).toMatchObject({ state: 'failed', problem })
    })

    test('replicas that are missing are no durability, and an entry is not lost by asking', async () => {
      const store = newStore()
      await edit(store, user(1))
      expect(await store.makeDurable({ replicas: 1 }, 20)).toBe(false)
      expect(store.durabilityProblem).toBeUndefined()
      expect(await store.makeDurable({ replicas: 1 }, 0)).toBe(false)
    })

    test('an upstream that has no append-only file is named with a remedy', async () => {
      const store = newStore()
      expect(await store.makeDurable('aof', 100)).toBe(false)
      expect(store.durabilityProblem).toMatch(/^upstream-durability: .*set 'appendonly yes' there/)
    })
  })
})

describe.skipIf(findProgram('valkey-server') === undefined && process.env['CI'] !== 'true')(
  'keys elsewhere',
  () => {
    test('an append-only file is waited for', async () => {
      const node = await Node.start({ directives: ['--appendonly', 'yes'] })
      open.onEnd(() => node.stop())
      const line = new DirectLine(node.port)
      open.onEnd(() => line.close())
      const store = new RedisStore({ line, namespace: 'test', signature: NO_SIGNATURE, user: 'g' })
      await store.commit({ entry: user(1), mode: 'edit' })
      expect(await store.makeDurable('aof', 5_000)).toBe(true)
      expect(store.durabilityProblem).toBeUndefined()
    })

    test('all keys and the shard channel of a cluster are in one slot', async () => {
      const cluster = await startCluster()
      open.onEnd(() => cluster.stop())
      const owner = await cluster.ownerOf(keySlot(`${TAG}:log`))
      const line = new DirectLine(owner.port, 'SPUBLISH')
      open.onEnd(() => line.close())
      const listener = new DirectLine(owner.port)
      open.onEnd(() => listener.close())
      await listener.listen('SSUBSCRIBE', `${TAG}:ctl`)
      const store = new RedisStore({ line, namespace: 'test', signature: NO_SIGNATURE, user: 'g' })
      await store.heartbeat(recordOf('a'), 1_000)
      const entry = user(1)
      await store.commit({ entry, mode: 'edit' })
      await listener.answer('PING')
      const [, push] = listener.pushes
      expect(store.readMessage(Buffer.from(push?.items[2] as Uint8Array))?.entry).toEqual(entry)
      expect(await wholeState(store)).toMatchObject({ registers: entry.registers })
    }, 60_000)
  },
)
