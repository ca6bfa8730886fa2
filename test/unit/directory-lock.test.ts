import {
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DirectoryLock, foldersOf } from '../../server/directory-lock.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { folderWith } from '../support/folder.ts'

let folder = ''
let clock = new FakeClock()
let locks: DirectoryLock[] = []

beforeEach(() => {
  folder = folderWith()
  clock = new FakeClock()
})

afterEach(() => {
  for (const lock of locks.splice(0)) lock.release()
})

/** A process that would use the folder. @param during Happens at each look at the holder. */
function contender(during: () => void = () => {}): DirectoryLock & { looks?: number } {
  const lock: DirectoryLock & { looks?: number } = new DirectoryLock({
    folder,
    clock,
    sleep: async () => {
      lock.looks = (lock.looks ?? 0) + 1
      during()
    },
  })
  locks.push(lock)
  return lock
}

const lockFile = (number: number): string => join(folder, `respcast.lock.${number}`)

/** The lock of this process, with some of its fields changed: that of another one. */
async function lockOfAnother(changes: object): Promise<void> {
  const lock = contender()
  await lock.take()
  const holder: object = JSON.parse(readFileSync(lockFile(1), 'utf8'))
  lock.release()
  writeFileSync(lockFile(1), JSON.stringify({ ...holder, ...changes }))
}

describe('A directory', () => {
  test('is held by one process: another is refused and told who holds it', async () => {
    await contender().take()
    const lock = contender()
    const refusal = await lock.take().catch((error: unknown) => error)
    expect(refusal).toMatchObject({ name: 'RespcastError', code: 'ERR_DIR_IN_USE' })
    expect(String(refusal)).toContain(`${folder} is in use by process ${process.pid} on `)
    expect(String(refusal)).toContain('which has held it since 2023-11-14T22:13:20.000Z')
    expect(() => lock.takeNow()).toThrow('is in use by process')
    expect(lock.isHeld).toBe(false)
    expect(lock.looks).toBeUndefined()
  })

  test('is free for the next one after its holder has let it go', async () => {
    for (const number of [1, 2, 3]) {
      const lock = contender()
      await lock.take()
      expect(readdirSync(folder)).toEqual([`respcast.lock.${number}`])
      expect(lock.tookOver).toBe(number === 1)
      lock.release()
      expect(lock.isHeld).toBe(false)
    }
  })

  test.each([
    ['a process that has ended', { pid: 2 ** 22 + 1 }],
    ['an earlier process with the same PID', { start: '1' }],
  ])('is taken over at once from %s', async (_name, changes) => {
    await lockOfAnother(changes)
    const lock = contender()
    await lock.take()
    expect(lock.looks).toBeUndefined()
    expect(lock.tookOver).toBe(true)
    expect(readdirSync(folder)).toEqual(['respcast.lock.2'])
  })

  test.each([
    ['in another container', { namespace: 'pid:[1]' }],
    ['on another machine, or before a restart of this one', { boot: 'another' }],
    ['that left an unfinished file', { pid: 'x' }],
  ])(
    'of a process %s is taken over when that shows no life for 8 seconds',
    async (_name, changes) => {
      await lockOfAnother(changes)
      const lock = contender()
      await lock.take()
      expect(lock.looks).toBe(8_000 / 250)
      expect(lock.tookOver).toBe(true)
    },
  )

  test.each([
    ['forwards', 1],
    ['back', -1],
  ])(
    'is refused as soon as its distant holder touches its file, with a clock that is set %s',
    async (_name, sign) => {
      await lockOfAnother({ boot: 'another' })
      let looks = 0
      const touch = (): void => {
        const seconds = statSync(lockFile(1)).mtimeMs / 1000 + sign * 1e6
        if (++looks === 8) utimesSync(lockFile(1), seconds, seconds)
      }
      const lock = contender(touch)
      await expect(lock.take()).rejects.toThrow('is in use by process')
      expect(lock.looks).toBe(8)
      expect(() => contender().takeNow()).toThrow('is in use by process')
    },
  )

  test('that two watch at once is taken over by one of them', async () => {
    await lockOfAnother({ boot: 'another' })
    const others = [contender(), contender(), contender()]
    const results = await Promise.allSettled(others.map((lock) => lock.take()))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(others.filter(({ isHeld }) => isHeld)).toHaveLength(1)
  })

  test('names files that are no locks of its own as they please', async () => {
    for (const name of ['respcast.lock.', 'respcast.lock.x', 'respcast.lock.007']) {
      writeFileSync(join(folder, name), '')
    }
    await contender().take()
    expect(readdirSync(folder)).toContain('respcast.lock.1')
  })

  test('that does not exist cannot be locked', async () => {
    rmSync(folder, { recursive: true })
    await expect(contender().take()).rejects.toMatchObject({
      code: 'ERR_DATA_DIR',
      message: expect.stringContaining('cannot be locked (ENOENT)'),
    })
  })
})

describe('A holder', () => {
  test('shows every two seconds that it lives', async () => {
    await contender().take()
    const times = [1, 2, 3].map(() => {
      clock.advance(2_000)
      return statSync(lockFile(1)).mtimeMs
    })
    expect(times).toEqual([2_000, 4_000, 6_000].map((ms) => 1_700_000_000_000 + ms))
  })

  test('may write while it holds the directory', async () => {
    const lock = contender()
    await lock.take()
    await expect(lock.confirm()).resolves.toBeUndefined()
    expect(lock.problem).toBeUndefined()
  })

  test('that was suspended until another took over writes nothing any more', async () => {
    const lock = contender()
    await lock.take()
    rmSync(lockFile(1))
    writeFileSync(lockFile(2), readFileSync(join(import.meta.dirname, 'files.test.ts')))
    await expect(lock.confirm()).rejects.toMatchObject({ code: 'ERR_DIR_IN_USE' })
    expect(lock.problem).toContain('was taken over by another server')
    await expect(lock.confirm()).rejects.toMatchObject({ code: 'ERR_DIR_IN_USE' })
  })

  test('learns of that without writing', async () => {
    const lock = contender()
    await lock.take()
    rmSync(lockFile(1))
    writeFileSync(lockFile(2), '')
    clock.advance(2_000)
    expect(lock.problem).toContain('was taken over by another server')
  })

  test('holds a directory that is gone for a while, and writes nothing meanwhile', async () => {
    const lock = contender()
    await lock.take()
    rmSync(folder, { recursive: true })
    await expect(lock.confirm()).rejects.toMatchObject({ code: 'ENOENT' })
    clock.advance(2_000)
    expect(lock.problem).toBeUndefined()
    mkdirSync(folder)
    await expect(lock.confirm()).resolves.toBeUndefined()
    await expect(contender().take()).rejects.toMatchObject({ code: 'ERR_DIR_IN_USE' })
    clock.advance(2_000)
    expect(statSync(lockFile(1)).mtimeMs).toBe(1_700_000_004_000)
  })

  test('makes its file again if somebody has removed it', async () => {
    const lock = contender()
    await lock.take()
    rmSync(lockFile(1))
    await expect(lock.confirm()).resolves.toBeUndefined()
    await expect(contender().take()).rejects.toMatchObject({ code: 'ERR_DIR_IN_USE' })
    rmSync(lockFile(1))
    clock.advance(2_000)
    expect(readdirSync(folder)).toEqual(['respcast.lock.1'])
    expect(lock.problem).toBeUndefined()
  })
})

test('Folders of files are named once, whatever way leads there', () => {
  const other = folderWith()
  symlinkSync(folder, join(other, 'link'))
  expect(foldersOf([join(folder, 'a'), '', join(other, 'link', 'b'), join(other, 'a')])).toEqual([
    realpathSync(folder),
    realpathSync(other),
  ])
})
