import { join } from 'node:path'
import { asciiJson } from '../../server/ascii-json.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { KeptRegister, Position } from '../../server/control/journal.ts'
import { Ledger } from '../../server/control/ledger.ts'
import { IDS_PER_NODE } from '../../server/control/node.ts'
import type { SharedPart } from '../../server/control/part.ts'
import { isNewer, splitKey, type Register } from '../../server/control/register.ts'
import type { Revocation } from '../../server/token/revoke/revocation.ts'
import { RevocationTable } from '../../server/token/revoke/table.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { folderWith } from '../support/folder.ts'
import { keptOf } from '../support/kept-register.ts'
import { TestCore } from '../support/test-core.ts'
import { revocationOrder } from '../support/tokens.ts'

const NODE = 9 * IDS_PER_NODE

const record = (counter: number): Revocation => ({
  ...revocationOrder(
    counter % 2 === 0
      ? { kind: 'channel', target: `c${counter}*`, only: 'publish' }
      : { kind: 'kid', target: `k${counter}`, keys: [`t${counter}`] },
  ),
  id: NODE + counter,
  by: 'ops',
  atMs: 1,
  hit: 0,
})

const user = fc.record({
  key: fc.constantFrom('u:ann', 'u:bob', 'u:carl', 'u:default'),
  value: fc.option(
    fc.constantFrom(
      'on nopass ~* &* +@all',
      'off resetchannels -@all',
      'off resetchannels &a &b* -@all +subscribe',
      'on resetchannels &x -@all (resetchannels &y -@all +publish)',
    ),
    { nil: undefined },
  ),
})

const revocation = fc
  .record({ counter: fc.integer({ min: 1, max: 4 }), isLifted: fc.boolean() })
  .map(({ counter, isLifted }) => ({
    key: `r:${NODE + counter}`,
    value: isLifted ? undefined : asciiJson(record(counter)),
  }))

/** Edits of any gateways: some follow each other, some were made at the same time. */
const registers = fc
  .array(fc.tuple(fc.oneof(user, revocation), fc.integer({ min: 1, max: 4 })), { maxLength: 14 })
  .map((edits) =>
    edits.map(([edit, version], at): Register => {
      const uuid = ((at * 7919) % 104_729).toString(16).padStart(16, '0')
      return { ...edit, version, uuid }
    }),
  )

/** The registers cut into entries, in another order, some of them twice. */
const deliveries = registers.chain((all) =>
  fc.record({
    all: fc.constant(all),
    orders: fc.array(
      fc
        .shuffledSubarray([...all, ...all], { minLength: all.length * 2 })
        .chain((order) => fc.tuple(fc.constant(order), fc.integer({ min: 1, max: 4 }))),
      { minLength: 2, maxLength: 3 },
    ),
  }),
)

const newestOf = (all: readonly Register[], key: string): Register | undefined => {
  let newest: Register | undefined
  for (const each of all) if (each.key === key && isNewer(each, newest)) newest = each
  return newest
}

const CHANGE = { origin: undefined, atMs: 1, isLate: true }

/** Gives entries of so many registers to the parts of a gateway, as the control plane does. */
async function deliver(parts: readonly SharedPart[], order: readonly Register[], size: number) {
  const ledger = new Ledger()
  for (let at = 0; at < order.length; at += size) {
    // An entry has each register once.
    const entry = new Map<string, Register>()
    for (const each of order.slice(at, at + size)) {
      if (isNewer(each, entry.get(each.key))) entry.set(each.key, each)
    }
    const fresh = ledger.newer([...entry.values()]).filter((each) => ledger.take(each))
    for (const part of parts) {
      const group = fresh.filter(({ key }) => splitKey(key)[0] === part.prefix)
      for (const { key, value } of group) {
        if (value !== undefined) expect(part.accepts(splitKey(key)[1], value)).toBe(true)
      }
      await part.apply(group, CHANGE)
    }
  }
}

test('users and revocations are the same at all gateways, in whatever order the edits come, and however often', async () => {
  await fc.assert(
    fc.asyncProperty(deliveries, async ({ all, orders }) => {
      const states: unknown[] = []
      for (const [order, size] of orders) {
        const core = new TestCore()
        const parts = [core.sharedUsers, core.sharedRevocations]
        await deliver(parts, order, size)
        for (const { key } of all) {
          const [prefix, name] = splitKey(key)
          const value = newestOf(all, key)?.value
          const found = parts.find((part) => part.prefix === prefix)?.valueOf(name)
          // The user default cannot be deleted: the value before the deletion stays, or the built-in one.
          if (key !== 'u:default' || value !== undefined) expect(found).toBe(value)
        }
        const names = parts
          .flatMap((part) => [...part.names()])
          .filter((name) => name !== 'default')
        states.push(names.toSorted())
        const held = ['c2x', 'c4x', 'y'].map((channel) =>
          [...core.tokens.revocations.list()].some(
            ({ kind, target }) => kind === 'channel' && channel.startsWith(target.slice(0, 2)),
          ),
        )
        expect(held).toEqual(
          [2, 4]
            .map((counter) => newestOf(all, `r:${NODE + counter}`)?.value !== undefined)
            .concat(false),
        )
        await core.stop()
      }
      for (const state of states) expect(state).toEqual(states[0])
    }),
    { numRuns: 40 },
  )
}, 60_000)

test('what was applied is found again after any number of restarts, and each file can be read alone', async () => {
  await fc.assert(
    fc.asyncProperty(
      registers,
      fc.array(fc.boolean(), { maxLength: 14 }),
      async (all, restarts) => {
        const path = join(folderWith(), 'token.log')
        const ledger = new Ledger()
        const known = new Map<string, Register>()
        const open = async () => {
          const table = new RevocationTable({ clock: new FakeClock(), path, nodeNumber: () => 3 })
          await table.open(true)
          return table
        }
        let table = await open()
        let position: Position | undefined
        for (const [at, register] of all.entries()) {
          if (ledger.take(register)) {
            const { key, value } = register
            const id = Number(splitKey(key)[1])
            if (key.startsWith('r:')) {
              if (value === undefined) table.lift(id)
              else table.adopt(record(id - NODE))
            }
            known.set(key, register)
            position = { id: `${at}-1`, uuid: register.uuid, epoch: 'e' }
            expect(await table.journal.append([register], position)).toBe(true)
          }
          if (restarts[at] === true) {
            await table.close()
            table = await open()
          }
        }
        await table.close()
        table = await open()
        const { kept } = table.journal
        expect(kept.position).toEqual(position)
        const byKey = (one: KeptRegister, other: KeptRegister) => (one.key < other.key ? -1 : 1)
        expect(kept.registers.toSorted(byKey)).toEqual(
          [...known.values()].map(keptOf).toSorted(byKey),
        )
        const inForce = [...known.values()].flatMap(({ key, value }) =>
          key.startsWith('r:') && value !== undefined ? [value] : [],
        )
        expect([...table.list()].map(asciiJson).toSorted()).toEqual(inForce.toSorted())
        await table.close()
      },
    ),
    { numRuns: 40 },
  )
}, 60_000)
