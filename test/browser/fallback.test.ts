import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer } from '../support/server.ts'
import type { TestGateway } from '../support/server.ts'
import { describeInChromium } from './chromium.ts'

describeInChromium('the client library where WebSockets are blocked', (browser) => {
  let server: TestGateway
  let page: Page
  const requested: string[] = []

  beforeAll(async () => {
    server = await startServer()
    page = await browser().newPage()
    page.on('request', (request) => requested.push(new URL(request.url()).pathname))
    // As by a proxy that knows no upgrades: a WebSocket that never opens.
    await page.addInitScript(`
      const Real = WebSocket
      globalThis.blocked = 0
      globalThis.WebSocket = class extends Real {
        constructor(url, protocols) {
          globalThis.blocked++
          super(url.replace('/ws', '/nothing-here'), protocols)
        }
      }
    `)
    await page.goto(server.url)
  })

  afterAll(async () => {
    await page?.close()
    await server?.stop()
  })

  test('falls back to server-sent events, and loads the code for it only then', async () => {
    const token = await server.mint('42', { channels: ['room:*'] })
    const seen = await page.evaluate(`import('/client/client.js').then(async (Respcast) => {
      const client = Respcast.connect('${server.wsUrl}', {
        token: '${token}', transports: ['websocket', 'sse'], codec: 'text', reconnect: { baseMs: 20, maxMs: 50 },
      })
      const heard = []
      await client.subscribe('room:7', (message) => heard.push(message.text())).ready
      const receivers = await client.publish('room:7', 'grüße')
      while (heard.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
      const { user } = client.identity
      client.close()
      return { blocked, receivers, heard, user }
    })`)
    expect(seen).toEqual({ blocked: 2, receivers: 1, heard: ['grüße'], user: 'jwt:42' })
    expect(requested).toContain('/client/fallback.js')
    expect(requested).toContain('/events')
    expect(requested).toContain('/publish/room%3a7')
  })

  test('loads nothing of it without transports', async () => {
    requested.length = 0
    const token = await server.mint('42', { channels: ['room:*'] })
    const status = await page.evaluate(`import('/client/client.js').then(async (Respcast) => {
      const client = Respcast.connect('${server.wsUrl}', { token: '${token}', reconnect: { baseMs: 5, maxMs: 5 } })
      await new Promise((resolve) => setTimeout(resolve, 300))
      const { status } = client.state
      client.close()
      return status
    })`)
    expect(['connecting', 'waiting']).toContain(status)
    expect(requested).not.toContain('/client/fallback.js')
  })
})
