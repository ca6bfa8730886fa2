import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { warmUp } from '../../../server/cli/warm-up.ts'

/** Folders of temporary files are made here until the test ends. */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'respcast-'))
  vi.stubEnv('TMPDIR', folder)
  onTestFinished(() => {
    vi.unstubAllEnvs()
    rmSync(folder, { recursive: true })
  })
  return folder
}

const log = { debug: vi.fn<() => void>() }
const listeners = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length

test('A rehearsal executes commands of browsers and backends, and leaves nothing behind', async () => {
  const folder = temporaryFolder()
  const before = listeners()
  expect(await warmUp(log)).toBeGreaterThan(100)
  expect(readdirSync(folder)).toEqual([])
  await vi.waitFor(() => expect(listeners()).toBe(before))
})

test('Where nothing can be rehearsed, the log says why', async () => {
  vi.stubEnv('TMPDIR', join(temporaryFolder(), 'missing'))
  expect(await warmUp(log)).toBe(0)
  expect(log.debug).toHaveBeenCalledWith(
    { reason: expect.stringContaining('ENOENT') as string },
    'nothing was rehearsed',
  )
})
