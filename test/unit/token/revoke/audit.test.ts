import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import * as nodeFiles from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  AuditLog,
  type AuditEntry,
  type AuditFiles,
} from '../../../../server/token/revoke/audit.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { folderWith } from '../../../support/folder.ts'

let folder: string
let path: string
const logs: AuditLog[] = []
const clock = new FakeClock()

beforeEach(() => {
  folder = folderWith()
  path = join(folder, 'audit.log')
})

afterEach(async () => {
  for (const log of logs.splice(0)) await log.close()
})

async function opened(maxBytes = 1_000_000, files?: AuditFiles): Promise<AuditLog> {
  const log = new AuditLog({ path, clock, maxBytes: () => maxBytes }, files)
  logs.push(log)
  await log.open()
  return log
}

/** The file system, which notes writes and syncs of the log, and lets them fail. */
function recorded() {
  const calls: string[] = []
  const failing = { write: false, sync: false }
  const files: AuditFiles = {
    rename: nodeFiles.rename,
    open: async (...args: Parameters<AuditFiles['open']>) => {
      const handle = await nodeFiles.open(...args)
      const append = handle.appendFile.bind(handle)
      const sync = handle.sync.bind(handle)
      handle.appendFile = async (bytes) => {
        calls.push('write')
        if (!failing.write) return append(bytes)
        await append((bytes as Buffer).subarray(0, 20))
        throw new Error('ENOSPC')
      }
      handle.sync = async () => {
        calls.push('sync')
        if (failing.sync) throw new Error('EIO')
        await sync()
      }
      return handle
    },
  }
  return { files, calls, failing }
}

const entry = (id: number): AuditEntry => ({
  atMs: 1_700_000_000_000 + id,
  action: 'revoke',
  by: 'ops',
  address: '127.0.0.1:5',
  id,
  kind: 'sub',
  target: '42',
  options: 'BEFORE 5 TTL 9',
  reason: 'a "stolen" phone',
  message: '',
  hit: 2,
  durable: true,
})

describe('The audit log', () => {
  test('has a line of JSON for each act, its time as text in front', async () => {
    const log = await opened()
    await log.append(entry(1))
    expect(readFileSync(path, 'utf8')).toBe(
      '{"at":"2023-11-14T22:13:20.001Z","atMs":1700000000001,"action":"revoke","by":"ops",' +
        '"address":"127.0.0.1:5","id":1,"kind":"sub","target":"42","options":"BEFORE 5 TTL 9",' +
        '"reason":"a \\"stolen\\" phone","message":"","hit":2,"durable":true}\n',
    )
  })

  test('answers the newest entries first, also those of before the start', async () => {
    const first = await opened()
    await Promise.all([first.append(entry(1)), first.append(entry(2))])
    const log = await opened()
    await log.append(entry(3))
    expect(log.recent(2)).toEqual([entry(3), entry(2)])
    expect(log.recent(10, 1_700_000_000_002)).toEqual([entry(3), entry(2)])
    expect(log.recent(10).map(({ id }) => id)).toEqual([3, 2, 1])
  })

  test('is put aside when it is full, and two files are kept', async () => {
    const log = await opened(1_000)
    for (let id = 1; id <= 12; id++) await log.append(entry(id))
    expect(statSync(path).size).toBeLessThanOrEqual(1_000)
    expect(statSync(`${path}.1`).size).toBeLessThanOrEqual(1_000)
    const ids = (name: string): number[] =>
      readFileSync(name, 'utf8')
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as AuditEntry).id)
    expect([...ids(`${path}.1`), ...ids(path)]).toEqual([5, 6, 7, 8, 9, 10, 11, 12])
  })

  test('goes on after a line that was never finished', async () => {
    writeFileSync(path, `${JSON.stringify(entry(1))}\n{"at":"2023`)
    const log = await opened()
    await log.append(entry(2))
    expect(log.recent(9).map(({ id }) => id)).toEqual([2, 1])
    expect((await opened()).recent(9).map(({ id }) => id)).toEqual([2, 1])
  })

  test('is on disk when an entry is settled; entries that come together share one fsync', async () => {
    const { files, calls } = recorded()
    const log = await opened(undefined, files)
    calls.length = 0
    await log.append(entry(1))
    expect(calls).toEqual(['write', 'sync'])
    calls.length = 0
    await Promise.all([2, 3, 4, 5].map((id) => log.append(entry(id))))
    expect(calls.filter((call) => call === 'sync').length).toBeLessThanOrEqual(2)
    expect(calls.at(-1)).toBe('sync')
    expect((await opened()).recent(9).map(({ id }) => id)).toEqual([5, 4, 3, 2, 1])
  })

  test('is not settled where the fsync fails', async () => {
    const { files, failing } = recorded()
    const log = await opened(undefined, files)
    failing.sync = true
    await expect(log.append(entry(1))).rejects.toThrow('EIO')
    failing.sync = false
    await log.append(entry(2))
    expect(log.recent(9).map(({ id }) => id)).toEqual([2, 1])
  })

  test('goes on after a line that the disk took in part', async () => {
    const { files, failing } = recorded()
    const log = await opened(undefined, files)
    failing.write = true
    await expect(log.append(entry(1))).rejects.toThrow('ENOSPC')
    failing.write = false
    await log.append(entry(2))
    await log.append(entry(3))
    expect((await opened()).recent(9).map(({ id }) => id)).toEqual([3, 2, 1])
  })

  test('that cannot be written refuses to start', async () => {
    path = join(folder, 'missing', 'audit.log')
    await expect(opened()).rejects.toMatchObject({ code: 'ERR_DATA_DIR' })
  })
})

describe('A file that cannot be written', () => {
  test('gets what it missed by itself as soon as it can be written again', async () => {
    const log = await opened(10)
    await log.append(entry(1))
    // A folder in the place of the rotated file keeps it from being rotated.
    mkdirSync(join(`${path}.1`, 'full'), { recursive: true })
    await expect(log.append(entry(2))).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST|EPERM/)
    await expect(log.append(entry(3))).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST|EPERM/)
    expect(log.problem).toMatch(/^token-audit-file cannot be written \(E[A-Z]+\)$/)
    rmSync(`${path}.1`, { recursive: true })
    clock.advance(5_000)
    await vi.waitFor(() => expect(log.problem).toBeUndefined())
    await log.close()
    expect(clock.pendingTimers).toBe(0)
    const reopened = await opened()
    expect(reopened.recent(10).map(({ id }) => id)).toContain(3)
    expect(readFileSync(`${path}.1`, 'utf8')).toContain('"id":2')
  })
})
