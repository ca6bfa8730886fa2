import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { builtFolder } from '../../../server/http/server.ts'

test('a folder that was not built is not served', () => {
  expect(builtFolder('no-such-page')).toBeUndefined()
  // Sources lie there, and are nothing to be served.
  expect(builtFolder('../web')).toBeUndefined()
})

test('a folder of the build is found from the sources', () => {
  const built = join(import.meta.dirname, '../../../dist/client')
  expect(builtFolder('client')).toBe(existsSync(built) ? built : undefined)
})
