import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import * as asyncFiles from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  removeLeftovers,
  replaceFile,
  replaceFileLater,
  SECRET_MODE,
  SharedWrites,
  type Files,
} from '../../server/files.ts'
import { folderWith } from '../support/folder.ts'

let folder = ''
let path = ''

beforeEach(() => {
  folder = folderWith()
  path = join(folder, 'users.acl')
})

const modeOf = (file: string): number => statSync(file).mode & 0o777
const content = Buffer.from('new \xff', 'latin1')

const later = (file: string, bytes: Buffer): Promise<void> => replaceFileLater(file, bytes)
const atOnce = async (file: string, bytes: Buffer): Promise<void> =>
  replaceFile(file, bytes, SECRET_MODE)

describe.each([
  ['at once', atOnce],
  ['later', later],
])('A file with secrets that is replaced %s', (_when, replace) => {
  test('is made for its owner only, with nothing left beside it', async () => {
    await replace(path, content)
    expect(readFileSync(path)).toEqual(content)
    expect(modeOf(path)).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['users.acl'])
  })

  test('takes the place of the old one, whoever could read that', async () => {
    writeFileSync(path, 'a much longer old content', { mode: 0o644 })
    await replace(path, content)
    expect(readFileSync(path)).toEqual(content)
    expect(modeOf(path)).toBe(0o600)
  })

  test('is whole, though many replace it at once', async () => {
    const contents = Array.from({ length: 20 }, (_, at) => Buffer.alloc(10_000, at))
    await Promise.all(contents.map((each) => replace(path, each)))
    const [byte = 0] = readFileSync(path)
    expect(readFileSync(path)).toEqual(contents[byte])
    expect(readdirSync(folder)).toEqual(['users.acl'])
  })

  test('is refused in the place of a folder, which stays', async () => {
    mkdirSync(path)
    await expect(replace(path, content)).rejects.toThrow(/EISDIR|EEXIST|ENOTEMPTY|EPERM/)
    expect(readdirSync(folder)).toEqual(['users.acl'])
    expect(lstatSync(path).isDirectory()).toBe(true)
  })

  test('is refused in a folder that does not exist', async () => {
    await expect(replace(join(folder, 'none', 'a'), content)).rejects.toThrow(/ENOENT/)
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('A file that is replaced', () => {
  test('keeps its permissions', async () => {
    writeFileSync(path, 'old')
    for (const mode of [0o640, 0o664, 0o600]) {
      chmodSync(path, mode)
      replaceFile(path, content)
      expect(modeOf(path)).toBe(mode)
      await replaceFileLater(path, Buffer.from('later'), undefined, 'kept')
      expect([modeOf(path), readFileSync(path, 'latin1')]).toEqual([mode, 'later'])
    }
  })

  test('is the one that a symbolic link names, which stays', () => {
    const target = join(folder, 'target')
    writeFileSync(target, 'old')
    symlinkSync('target', path)
    replaceFile(path, content)
    expect(lstatSync(path).isSymbolicLink()).toBe(true)
    expect(readFileSync(target)).toEqual(content)
    expect(readdirSync(folder).toSorted()).toEqual(['target', 'users.acl'])
  })
})

test('What interrupted replacements left is removed, and nothing else', async () => {
  for (const name of [
    'users.acl',
    'users.acl.tmp-1',
    'users.acl.tmp-2',
    'users.acl.old',
    'a.tmp-1',
  ]) {
    writeFileSync(join(folder, name), '')
  }
  await removeLeftovers(path)
  expect(readdirSync(folder).toSorted()).toEqual(['a.tmp-1', 'users.acl', 'users.acl.old'])
})

describe('A file that is replaced later', () => {
  /** A file system in which one step of a write fails. */
  function failing(step: 'write' | 'sync' | 'rename'): Files {
    const error = Object.assign(new Error('no space'), { code: 'ENOSPC' })
    return {
      ...asyncFiles,
      rename: async (from, to) => {
        if (step === 'rename') throw error
        await asyncFiles.rename(from, to)
      },
      open: async (file, flags, mode) => {
        const handle = await asyncFiles.open(file, flags, mode)
        if (step !== 'rename') handle[step] = () => Promise.reject(error)
        return handle
      },
    }
  }

  test.each(['write', 'sync', 'rename'] as const)('stays whole when %s fails', async (step) => {
    writeFileSync(path, 'old')
    await expect(replaceFileLater(path, content, failing(step))).rejects.toThrow('no space')
    expect(readFileSync(path, 'utf8')).toBe('old')
    expect(readdirSync(folder)).toEqual(['users.acl'])
  })
})

describe('Writes of one file that are asked for', () => {
  test('come one at a time; those that come during one share the next', async () => {
    const begun: number[] = []
    const ends: (() => void)[] = []
    const writes = new SharedWrites(async () => {
      const number = begun.length
      begun.push(number)
      await new Promise<void>((resolve) => ends.push(resolve))
      return number
    })
    const next = () => new Promise((resolve) => void setImmediate(resolve))
    const first = writes.request()
    expect(writes.isBusy).toBe(true)
    await next()
    const others = [writes.request(), writes.request(), writes.request()]
    await next()
    expect(begun).toEqual([0])
    ends[0]?.()
    expect(await first).toBe(0)
    await next()
    expect(begun).toEqual([0, 1])
    ends[1]?.()
    expect(await Promise.all(others)).toEqual([1, 1, 1])
    await writes.settled()
    expect(writes.isBusy).toBe(false)
  })
})
