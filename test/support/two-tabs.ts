import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import type { Browser } from 'playwright-core'
import { expect } from 'vitest'
import { startServer } from './server.ts'

const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' }

/**
 * Opens a built application in two tabs of one browser, and waits until both show what is published to `news`.
 *
 * @param folder What its web server serves: `index.html`, and whatever that loads.
 * @returns The number of WebSockets that the server has for the two.
 */
export async function connectionsOfTwoTabs(browser: Browser, folder: string): Promise<number> {
  let token = ''
  const web = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const path = join(folder, pathname === '/' ? 'index.html' : pathname)
    if (pathname === '/token') response.end(token)
    else if (!existsSync(path) || !statSync(path).isFile()) response.writeHead(404).end()
    else {
      response.setHeader('content-type', TYPES[extname(path)] ?? 'application/octet-stream')
      response.end(readFileSync(path))
    }
  })
  web.listen(0, '127.0.0.1')
  await once(web, 'listening')
  const origin = `http://127.0.0.1:${(web.address() as AddressInfo).port}`
  const server = await startServer({ directives: { 'ws-allowed-origins': origin } })
  const context = await browser.newContext()
  try {
    token = await server.mint('reader', { channels: ['news'] })
    const pages = [await context.newPage(), await context.newPage()]
    for (const page of pages) await page.goto(`${origin}/?server=${server.wsUrl}`)
    const titles = async (): Promise<string[]> => {
      void server.core.publish('channel', Buffer.from('news'), Buffer.from('heard'))
      return Promise.all(pages.map((page) => page.title()))
    }
    await expect.poll(titles, { timeout: 30_000, interval: 100 }).toEqual(['heard', 'heard'])
    return server.core.clients.size
  } finally {
    await context.close()
    await server.stop()
    web.closeAllConnections()
    web.close()
  }
}
