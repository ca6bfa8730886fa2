import { expect, test } from 'vitest'
import { messageLimits } from '../../../server/http/websocket-route.ts'

test.each([
  [1_024, 1_024],
  [65_536, 1_024],
  [1_024 * 536, 1_024],
  [1_024 * 536 + 1, 1_025],
  [16_777_216, 31_301],
])('a message of at most %d bytes may arrive in %d chunks', (maxPayload, maxBufferedChunks) => {
  expect(messageLimits(maxPayload)).toEqual({ maxPayload, maxBufferedChunks })
})
