import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RespcastClient } from '../../../../web/client/client.ts'
import { channel, connection } from '../../../../web/svelte/index.ts'
import { TestServer } from '../../../../web/testing/index.ts'
import { memoryClient } from '../../../support/memory-client.ts'

let server: TestServer
let client: RespcastClient

beforeEach(() => {
  server = new TestServer()
  client = memoryClient(server.WebSocket)
})

afterEach(() => client.close())

test('a channel follows the store contract of Svelte: its state, and the value made of the messages', async () => {
  const news = channel(client, 'news', {
    codec: 'text',
    initial: [] as string[],
    reduce: (lines, message: { data: string }) => [...lines, message.data],
  })
  const seen: (readonly [string, readonly string[]])[] = []
  const end = news.subscribe(({ status, value }) => void seen.push([status, value]))
  expect(seen).toEqual([['pending', []]])
  await expect.poll(() => server.subscribers('news')).toBe(1)
  server.publish('news', 'a')
  server.publish('news', 'b')
  await expect.poll(() => seen.at(-1)).toEqual(['live', ['a', 'b']])
  end()
  await expect.poll(() => server.subscribers('news'), { timeout: 3_000 }).toBe(0)
})

test('the connection is a store', async () => {
  server.closeAll()
  await expect.poll(() => client.state.status).toBe('waiting')
  const states: string[] = []
  const end = connection(client).subscribe(({ status }) => void states.push(status))
  await expect.poll(() => states.at(-1)).toBe('online')
  end()
  client.close()
  expect([states[0], states.at(-1)]).toEqual(['waiting', 'online'])
})
