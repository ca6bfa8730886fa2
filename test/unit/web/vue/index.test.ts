import { createApp, effectScope, ref } from 'vue'
import type { EffectScope } from 'vue'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RespcastClient } from '../../../../web/client/client.ts'
import { respcast, useChannel, useConnection, useRespcast } from '../../../../web/vue/index.ts'
import { TestServer } from '../../../../web/testing/index.ts'
import { memoryClient } from '../../../support/memory-client.ts'

let server: TestServer
let client: RespcastClient
let scope: EffectScope

beforeEach(() => {
  server = new TestServer()
  client = memoryClient(server.WebSocket)
  scope = effectScope()
})

afterEach(() => {
  scope.stop()
  client.close()
})

/** Runs in a scope of an application with the plugin, as the `setup` of a component. */
function setup<T>(run: () => T): T {
  const app = createApp({}).use(respcast(client))
  return app.runWithContext(() => scope.run(run) as T)
}

test('a channel is a ref: its state, and the last message', async () => {
  const news = setup(() => useChannel<string>('news', { codec: 'text' }))
  expect(news.value).toMatchObject({ status: 'pending', value: undefined })
  await expect.poll(() => news.value.status).toBe('live')
  server.publish('news', 'hello')
  await expect.poll(() => news.value.value?.data).toBe('hello')
})

test('another name starts over, and the old channel is left', async () => {
  const name = ref<string | undefined>()
  const room = setup(() => useChannel<string>(name, { codec: 'text' }))
  name.value = 'room:1'
  await expect.poll(() => server.subscribers('room:1')).toBe(1)
  server.publish('room:1', 'a')
  await expect.poll(() => room.value.value?.data).toBe('a')
  name.value = 'room:2'
  await expect.poll(() => server.subscribers('room:2')).toBe(1)
  expect(room.value.value).toBeUndefined()
  await expect.poll(() => server.subscribers('room:1'), { timeout: 3_000 }).toBe(0)
})

test('the end of its scope ends it', async () => {
  setup(() => useChannel('news'))
  await expect.poll(() => server.subscribers('news')).toBe(1)
  scope.stop()
  await expect.poll(() => server.subscribers('news'), { timeout: 3_000 }).toBe(0)
})

test('the client publishes, and its connection is a ref', async () => {
  const [state, publisher] = setup(() => [useConnection(), useRespcast()] as const)
  await expect.poll(() => state.value.status).toBe('online')
  expect(await publisher.publish('news', 'hello')).toBe(0)
  expect(server.published.map(({ channel }) => channel)).toEqual(['news'])
})

test('without the plugin it says so', () => {
  expect(() => createApp({}).runWithContext(() => useRespcast())).toThrow('plugin respcast(client)')
})
