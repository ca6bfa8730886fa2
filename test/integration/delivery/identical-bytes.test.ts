import { expect, test } from 'vitest'
import { identicalBytes } from '../../measure/identical-bytes.ts'

test('every subscriber has the very bytes that were published, over RESP2, RESP3, WebSocket and compressed WebSocket', async () => {
  // `npm run measure` compares 100,000.
  expect(await identicalBytes(3_000, 5)).toEqual([])
})
