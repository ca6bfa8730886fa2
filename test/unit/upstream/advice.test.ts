import { expect, test } from 'vitest'
import type { RespValue } from '../../../shared/resp/types.ts'
import { adviceOnOutputLimit } from '../../../server/upstream/advice.ts'

function reply(limits: string): RespValue {
  return { type: 'map', entries: [['client-output-buffer-limit', limits]] }
}

test.each([
  'normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60',
  'pubsub 268435456 8388608 60',
  'pubsub 33554432 0 0',
])('%s would end the link of a gateway that is slow for a moment', (limits) => {
  expect(adviceOnOutputLimit(reply(limits))).toContain(
    "CONFIG SET client-output-buffer-limit 'pubsub",
  )
})

test.each(['pubsub 0 0 0', 'normal 1 1 1 pubsub 268435456 134217728 60'])(
  '%s is enough',
  (limits) => {
    expect(adviceOnOutputLimit(reply(limits))).toBeUndefined()
  },
)

test('a user who may not read it is not told', () => {
  expect(adviceOnOutputLimit({ type: 'error', message: 'NOPERM no' })).toBeUndefined()
  expect(adviceOnOutputLimit({ type: 'map', entries: [] })).toBeUndefined()
})
