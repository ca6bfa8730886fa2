import { expect, test } from 'vitest'
import type { Client } from '../../../server/client/client.ts'
import { WriteQueue } from '../../../server/delivery/write-queue.ts'

const client = (id: number): Client => ({ id }) as unknown as Client

test('A write queue gives clients out in the order in which they came, however many come meanwhile', () => {
  const queue = new WriteQueue()
  expect([queue.isEmpty, queue.shift()]).toEqual([true, undefined])
  let came = 0
  let taken = 0
  // It never runs empty here, so that its front has to be given back on the way.
  for (let i = 0; i < 10; i++) queue.push(client(came++))
  for (let round = 0; round < 30_000; round++) {
    queue.push(client(came++))
    expect(queue.shift()?.id).toBe(taken++)
  }
  while (!queue.isEmpty) expect(queue.shift()?.id).toBe(taken++)
  expect(taken).toBe(came)
  queue.push(client(7))
  expect(queue.shift()?.id).toBe(7)
})
