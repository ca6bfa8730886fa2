import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import * as nodeFiles from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Clock } from '../../../../server/clock.ts'
import { RevocationTable } from '../../../../server/token/revoke/table.ts'
import type { RevocationOrder } from '../../../../server/token/revoke/revocation.ts'
import {
  decodeLog,
  encodeEntry,
  LOG_HEADER,
  type LogEntry,
  type LogFiles,
} from '../../../../server/token/revoke/log.ts'
import { revocationOrder } from '../../../support/tokens.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { folderWith } from '../../../support/folder.ts'

let folder: string
let path: string
const tables: RevocationTable[] = []

beforeEach(() => {
  folder = folderWith()
  path = join(folder, 'token.log')
})

afterEach(async () => {
  for (const table of tables.splice(0)) await table.close()
})

function order(target: string, changes: Partial<RevocationOrder> = {}): RevocationOrder {
  return revocationOrder({ target, beforeMs: 5, ...changes })
}

const clock = new FakeClock()
/** Told of every change between durable and not. */
let states: boolean[] = []
/** Told of every end of a log that was dropped. */
let dropped: object[] = []

function newTable(files?: LogFiles): RevocationTable {
  states = []
  dropped = []
  const table = new RevocationTable({
    clock,
    path,
    ...(files ? { files } : {}),
    onDurable: (isDurable) => states.push(isDurable),
    onUnfinished: (tail) => dropped.push(tail),
  })
  tables.push(table)
  return table
}

async function opened(files?: LogFiles): Promise<RevocationTable> {
  const table = newTable(files)
  await table.open(true)
  return table
}

async function revoke(table: RevocationTable, target: string, changes?: Partial<RevocationOrder>) {
  const record = table.add(order(target, changes), 'admin', 0)
  return table.commit({ op: 'revoke', record })
}

const lasting = (maxLifetimeSeconds: number) => ({
  alias: undefined,
  leewaySeconds: 5,
  maxLifetimeSeconds,
})

const targets = (table: RevocationTable): string[] => [...table.list()].map(({ target }) => target)

/** The revocations that a server that starts now has in force. */
async function recovered(): Promise<string[]> {
  const table = await opened()
  const found = targets(table)
  await table.close()
  return found
}

const RECORD: Extract<LogEntry, { op: 'revoke' }> = {
  op: 'revoke',
  record: { ...order('42'), id: 7, by: 'admin', atMs: 1, hit: 3 },
}

describe('A record of the log', () => {
  test('is a line of its length, its CRC-32 and JSON in ASCII', () => {
    expect(encodeEntry({ op: 'lift', id: 7 }).toString('latin1')).toBe(
      '00000014 20d82bba {"op":"lift","id":7}\n',
    )
    const bytes = encodeEntry({
      op: 'revoke',
      record: { ...RECORD.record, target: 'caf\u00c3\u00a9' },
    })
    expect(bytes.toString('latin1')).toContain('"caf\\u00c3\\u00a9"')
  })

  test('reads back as it was', () => {
    const entries: LogEntry[] = [
      { op: 'next', id: 7 },
      {
        ...RECORD,
        record: { ...RECORD.record, expiresAtMs: 9, scope: { kind: 'role', name: 'm' } },
      },
      { op: 'lift', id: 7 },
    ]
    const bytes = Buffer.concat([Buffer.from(LOG_HEADER), ...entries.map(encodeEntry)])
    expect(decodeLog(bytes, path)).toEqual({ entries, goodBytes: bytes.length })
  })
})

describe('A log that was cut off or damaged', () => {
  const first = encodeEntry({ op: 'revoke', record: { ...RECORD.record, id: 1, target: 'first' } })
  const last = encodeEntry({ op: 'revoke', record: { ...RECORD.record, id: 2, target: 'last' } })
  const whole = Buffer.concat([Buffer.from(LOG_HEADER), first, last])
  const lastAt = whole.length - last.length

  const read = (bytes: Buffer): (string | undefined)[] =>
    decodeLog(bytes, path).entries.map((entry) =>
      entry.op === 'revoke' ? entry.record.target : undefined,
    )

  test('at any byte of its last record has all the others', () => {
    for (let cut = lastAt; cut < whole.length; cut++) {
      expect(read(whole.subarray(0, cut))).toEqual(['first'])
    }
    expect(read(whole)).toEqual(['first', 'last'])
  })

  test('at any byte of its header is empty', () => {
    for (let cut = 0; cut < LOG_HEADER.length; cut++)
      expect(read(whole.subarray(0, cut))).toEqual([])
  })

  test('by one flipped bit in its last record is refused: that record was acknowledged', () => {
    for (let at = lastAt; at < whole.length; at++) {
      for (const bit of [1, 0x20, 0x80]) {
        const bytes = Buffer.from(whole)
        bytes[at] = (bytes[at] as number) ^ bit
        expect(() => read(bytes)).toThrow(`is damaged at byte ${lastAt}`)
      }
    }
  })

  test('at any byte of its last record, with zeros up to its old length, has all the others', () => {
    for (let cut = lastAt; cut < whole.length - 1; cut++) {
      const bytes = Buffer.from(whole)
      bytes.fill(0, cut)
      expect(read(bytes)).toEqual(['first'])
    }
  })

  test.each(['garbage', 'garbage\n', '\n', '\xff', '00000014 20d82bba {"op":"lift"}\n', '0000 '])(
    'by %j after its last record is refused',
    (garbage) => {
      const bytes = Buffer.concat([whole, Buffer.from(garbage, 'latin1')])
      expect(() => read(bytes)).toThrow(`is damaged at byte ${whole.length}`)
    },
  )

  test('says where it is damaged, and what to do', () => {
    const bytes = Buffer.concat([whole, Buffer.from('x')])
    expect(() => read(bytes)).toThrow(
      `token-log-file ${path} is damaged at byte ${whole.length}, and revocations may be lost. Restore it from a copy. ` +
        `To do without what follows: truncate -s ${whole.length} ${path}, start, and revoke again what has to be.`,
    )
  })

  test('reports the bytes that it drops, once', async () => {
    writeFileSync(path, whole.subarray(0, whole.length - 5))
    await (await opened()).close()
    expect(dropped).toEqual([{ offset: lastAt, bytes: last.length - 5 }])
    await (await opened()).close()
    expect(dropped).toEqual([])
  })

  test('before its last record is refused: what was acknowledged is lost', () => {
    for (let at = 0; at < lastAt; at++) {
      const bytes = Buffer.from(whole)
      bytes[at] = (bytes[at] as number) ^ 1
      expect(() => read(bytes)).toThrow(/token-log-file .* is (damaged at byte|something else)/)
    }
  })

  test('is written anew at start, so that the next record follows a whole one', async () => {
    for (let cut = lastAt; cut < whole.length; cut++) {
      writeFileSync(path, whole.subarray(0, cut))
      const table = await opened()
      expect(targets(table)).toEqual(['first'])
      expect(await revoke(table, 'next')).toBe(true)
      await table.close()
      expect(await recovered()).toEqual(['first', 'next'])
    }
  })

  test('does not mind what a write that was never finished left beside it', async () => {
    writeFileSync(path, whole)
    writeFileSync(`${path}.tmp-1`, 'half a log')
    clock.advance(1)
    const table = await opened()
    table.lift(1)
    expect(await table.commit({ op: 'lift', id: 1 })).toBe(true)
    await table.close()
    expect(await recovered()).toEqual(['last'])
    expect(readdirSync(folder)).toEqual(['token.log'])
  })

  test('that is some other file refuses to start and is left as it is', async () => {
    writeFileSync(path, 'user default on nopass\n'.repeat(3))
    await expect(opened()).rejects.toThrow(/is something else than a log/)
    expect(readFileSync(path, 'latin1')).toBe('user default on nopass\n'.repeat(3))
  })
})

describe('The log file', () => {
  test('holds what was revoked and lifted, in order, and ids are not given out twice', async () => {
    const table = await opened()
    await revoke(table, 'a')
    await revoke(table, 'b')
    table.lift(2)
    expect(await table.commit({ op: 'lift', id: 2 })).toBe(true)
    await table.close()
    const again = await opened()
    expect(targets(again)).toEqual(['a'])
    expect(again.add(order('c'), 'admin', 0).id).toBe(3)
  })

  test('keeps the next id when it is written anew', async () => {
    const table = await opened()
    await revoke(table, 'a')
    table.lift(1)
    await table.commit({ op: 'lift', id: 1 })
    await table.close()
    expect(await recovered()).toEqual([])
    expect((await opened()).add(order('b'), 'admin', 0).id).toBe(2)
  })

  test('leaves out channels whose revocation has ended, at start', async () => {
    const table = await opened()
    await revoke(table, 'a', { kind: 'channel', expiresAtMs: clock.wallMs() + 1_000 })
    await revoke(table, 'b')
    await table.close()
    const before = statSync(path).size
    clock.advance(2_000)
    expect(await recovered()).toEqual(['b'])
    expect(statSync(path).size).toBeLessThan(before)
  })

  test('remembers tokens whose revocation has ended, though it is in force no more', async () => {
    const table = await opened()
    const atMs = clock.wallMs()
    await revoke(table, 'a', { beforeMs: atMs, expiresAtMs: atMs + 1_000 })
    await table.close()
    clock.advance(2_000)
    expect(await recovered()).toEqual([])
    expect(await recovered()).toEqual([])
    const longer = new RevocationTable({ clock, path, terms: () => [lasting(60)] })
    tables.push(longer)
    await longer.open(true)
    expect(targets(longer)).toEqual(['a'])
  })

  test('is written anew once it has grown past its limit, by what is in force', async () => {
    const table = await opened()
    const message = 'x'.repeat(1_000)
    for (let i = 0; i < 1_100; i++) {
      const record = table.add(order('a', { message }), 'admin', 0)
      table.lift(record.id)
      await Promise.all([
        table.commit({ op: 'revoke', record }),
        table.commit({ op: 'lift', id: record.id }),
      ])
    }
    await revoke(table, 'kept')
    await table.close()
    expect(statSync(path).size).toBeLessThan(1_048_576)
    expect(await recovered()).toEqual(['kept'])
    expect(readdirSync(folder)).toEqual(['token.log'])
  })

  test('is not written anew while nearly all of it is in force, however large it is', async () => {
    const table = await opened()
    const { ino } = statSync(path)
    const message = 'x'.repeat(10_000)
    const records = Array.from({ length: 250 }, (_, at) =>
      table.add(order(`${at}`, { message }), 'admin', 0),
    )
    for (const record of records) await table.commit({ op: 'revoke', record })
    expect(statSync(path).size).toBeGreaterThan(2_097_152)
    expect(statSync(path).ino).toBe(ino)
  })

  test('has what changes while it is written anew, which takes several turns of the event loop', async () => {
    let nowMs = 0
    // Each look at the clock ends a slice.
    const slow: Clock = {
      wallMs: () => clock.wallMs(),
      monotonicMs: () => (nowMs += 10),
      after: (delayMs, callback) => clock.after(delayMs, callback),
      every: (periodMs, callback) => clock.every(periodMs, callback),
    }
    const table = new RevocationTable({ clock: slow, path })
    tables.push(table)
    await table.open(true)
    const records = Array.from({ length: 40 }, (_, at) => table.add(order(`${at}`), 'admin', 0))
    for (const record of records) await table.commit({ op: 'revoke', record })
    rmSync(path)
    const last = table.add(order('last'), 'admin', 0)
    const written = [table.commit({ op: 'revoke', record: last })]
    while (!readdirSync(folder).some((name) => name.includes('.tmp-'))) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    const meanwhile = table.add(order('meanwhile'), 'admin', 0)
    written.push(table.commit({ op: 'revoke', record: meanwhile }))
    for (const { id } of records.slice(1)) {
      table.lift(id)
      written.push(table.commit({ op: 'lift', id }))
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await Promise.all(written)).toEqual(written.map(() => true))
    await table.close()
    expect((await recovered()).toSorted()).toEqual(['0', 'last', 'meanwhile'])
  })

  test('shares one fsync among records that come together', async () => {
    let syncs = 0
    const table = await opened(broken({ sync: () => void syncs++ }))
    syncs = 0
    const done = await Promise.all(Array.from({ length: 50 }, (_, i) => revoke(table, `s${i}`)))
    expect(done.every(Boolean)).toBe(true)
    expect(syncs).toBeLessThanOrEqual(2)
    await table.close()
    expect(await recovered()).toHaveLength(50)
  })

  test('is read and not made where no token can log in', async () => {
    const table = newTable()
    await table.open(false)
    expect(readdirSync(folder)).toEqual([])
  })

  test('is left alone once another process has taken it over', async () => {
    let isOurs = true
    const table = new RevocationTable({
      clock,
      path,
      confirm: () => (isOurs ? Promise.resolve() : Promise.reject(new Error('taken over'))),
    })
    tables.push(table)
    await table.open(true)
    expect(await revoke(table, 'first')).toBe(true)
    const other = await opened()
    isOurs = false
    expect(await revoke(table, 'late')).toBe(false)
    expect(table.problem).toContain('not durable')
    expect(await revoke(other, 'second')).toBe(true)
    expect(await recovered()).toEqual(['first', 'second'])
  })

  test('gives no id twice, even if two processes write: the later one begins a block of its own', async () => {
    const first = await opened()
    await revoke(first, 'first')
    const second = newTable()
    await second.open(true, false, true)
    const ids = [first, second, first, second].map((table) => table.add(order('x'), 'admin', 0).id)
    expect(ids).toEqual([2, 1_001, 3, 1_002])
    const third = newTable()
    await third.open(true, false, true)
    expect(third.add(order('x'), 'admin', 0).id).toBe(2_001)
  })

  test('that cannot be written refuses to start', async () => {
    rmSync(folder, { recursive: true })
    await expect(opened()).rejects.toMatchObject({
      code: 'ERR_DATA_DIR',
      message: expect.stringMatching(
        /token-log-file .*token\.log cannot be written \(ENOENT\)/,
      ) as string,
    })
  })
})

/** The file system, with some calls changed. */
function broken(hooks: { sync?: () => void; write?: () => void }): LogFiles {
  return {
    ...nodeFiles,
    open: async (...args: Parameters<LogFiles['open']>) => {
      const handle = await nodeFiles.open(...args)
      const sync = handle.sync.bind(handle)
      const write = handle.write.bind(handle) as (...what: unknown[]) => Promise<never>
      handle.sync = async () => {
        hooks.sync?.()
        await sync()
      }
      handle.write = async (...what: unknown[]) => {
        hooks.write?.()
        return write(...what)
      }
      return handle
    },
  }
}

describe('A disk that fails', () => {
  test('at fsync leaves the revocation in force, and says that it is not durable', async () => {
    let fails = false
    const table = await opened(
      broken({
        sync: () => {
          if (fails) throw new Error('EIO')
        },
      }),
    )
    fails = true
    expect(await revoke(table, 'a')).toBe(false)
    expect(targets(table)).toEqual(['a'])
    expect(table.problem).toBe(
      'revocations are in force but not durable: token-log-file cannot be written (Error: EIO)',
    )
    expect(states).toEqual([false])
    fails = false
    clock.advance(5_000)
    await expect.poll(() => table.problem).toBe(undefined)
    expect(states).toEqual([false, true])
    await table.close()
    expect(await recovered()).toEqual(['a'])
  })

  test('is not believed after a failure: the next write is the whole log in a new file', async () => {
    let fails = false
    const table = await opened(
      broken({
        write: () => {
          if (fails) throw new Error('ENOSPC')
        },
      }),
    )
    await revoke(table, 'a')
    fails = true
    expect(await revoke(table, 'b')).toBe(false)
    fails = false
    const inode = statSync(path).ino
    expect(await revoke(table, 'c')).toBe(true)
    expect(statSync(path).ino).not.toBe(inode)
    await table.close()
    expect(await recovered()).toEqual(['a', 'b', 'c'])
  })

  test('that loses the file gets it again with everything in force', async () => {
    const table = await opened()
    await revoke(table, 'a')
    rmSync(path)
    expect(await revoke(table, 'b')).toBe(true)
    await table.close()
    expect(await recovered()).toEqual(['a', 'b'])
  })

  test('cannot be written while its folder is gone', async () => {
    const table = await opened()
    renameSync(folder, `${folder}-away`)
    rmSync(`${folder}-away`, { recursive: true })
    expect(await revoke(table, 'b')).toBe(false)
    expect(table.problem).toBeDefined()
  })
})
