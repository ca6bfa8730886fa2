import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canRunBrowser, launchChromium } from '../browser/chromium.ts'
import { connectRaw } from '../support/resp-client.ts'
import type { RawClient } from '../support/resp-client.ts'
import { startServer } from '../support/server.ts'
import type { TestGateway } from '../support/server.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const EXAMPLES = join(ROOT, 'web/examples')
const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' }

let server: TestGateway
let terminal: RawClient
/** The application's own web server: pages, the client library, and tokens. */
let web: Server
let origin: string
const files = new Map<string, string>()

beforeAll(async () => {
  web = createServer((request, response) => {
    void answer(request.url ?? '/').then(({ type, body }) => {
      response.setHeader('content-type', type)
      response.end(body)
    })
  })
  web.listen(0, '127.0.0.1')
  await once(web, 'listening')
  origin = `http://127.0.0.1:${(web.address() as AddressInfo).port}`
  server = await startServer({ directives: { 'ws-allowed-origins': origin } })
  terminal = await connectRaw(server.port)
})

afterAll(async () => {
  terminal?.destroy()
  web?.close()
  await server?.stop()
})

async function answer(path: string): Promise<{ type: string; body: string }> {
  if (path === '/token') {
    const token = await server.mint('reader', { channels: ['news:*', 'room:7'] })
    return { type: 'text/plain', body: token }
  }
  const type = TYPES[extname(path)] ?? 'application/octet-stream'
  return { type, body: files.get(path) ?? '' }
}

/** Publishes over TCP until somebody hears it. */
async function publish(channel: string, payload: string): Promise<void> {
  await expect
    .poll(
      async () => {
        terminal.command('PUBLISH', channel, Buffer.from(payload))
        return terminal.takeUntil('\r\n')
      },
      { timeout: 20_000, interval: 100 },
    )
    .toBe(':1\r\n')
}

test('the client library may be loaded by pages of every origin, and nothing else of the server', async () => {
  const names = ['client.js', 'client.global.js', 'tabs.js', 'tabs-worker.js', 'fallback.js']
  for (const name of names) {
    const { status, headers } = await fetch(`${server.url}/client/${name}`)
    expect([name, status]).toEqual([name, 200])
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin')
  }
  const { headers } = await fetch(server.url)
  expect(headers.get('access-control-allow-origin')).toBeNull()
})

describe('the Node.js subscriber', () => {
  let subscriber: ChildProcess

  afterAll(() => {
    subscriber?.kill('SIGKILL')
  })

  test('prints what it hears, and ends in good order', async () => {
    const token = await server.mint('worker', { channels: ['news'] })
    subscriber = spawn(
      process.execPath,
      [join(EXAMPLES, 'node-subscriber.mjs'), server.wsUrl, 'news'],
      { cwd: ROOT, env: { ...process.env, TOKEN: token }, stdio: ['ignore', 'pipe', 'pipe'] },
    )
    const lines: string[] = []
    const notices: string[] = []
    for (const [stream, list] of [
      [subscriber.stdout, lines],
      [subscriber.stderr, notices],
    ] as const) {
      if (stream) createInterface({ input: stream }).on('line', (line) => list.push(line))
    }
    await publish('news', 'grüße')
    await expect.poll(() => lines, { timeout: 10_000 }).toEqual(['news grüße'])
    const ended = once(subscriber, 'exit')
    subscriber.kill('SIGTERM')
    expect((await ended)[0]).toBe(0)
    expect(notices).toEqual(['authenticating ', 'online ', 'subscribed news', 'closed closed'])
  })
})

describe.runIf(canRunBrowser)('in a browser', () => {
  let browser: Browser
  let page: Page

  beforeAll(async () => {
    // The address that the page names is that of this test's server.
    browser = await launchChromium(
      `--host-resolver-rules=MAP localhost:8080 127.0.0.1:${server.httpPort}`,
    )
    page = await browser.newPage()
    page.setDefaultTimeout(20_000)
  })

  afterAll(async () => {
    await browser?.close()
  })

  test('the page without a bundler works as it stands, from another origin', async () => {
    const html = readFileSync(join(EXAMPLES, 'page.html'), 'utf8')
    expect(html.trimEnd().split('\n').length).toBeLessThanOrEqual(22)
    files.set('/page.html', html)
    await page.goto(`${origin}/page.html`)
    await publish('news:sport', '2 : 1')
    await page.getByText('news:sport: 2 : 1').waitFor()
  })

  test('the page without a bundler says why it stays empty, where its origin is not allowed', async () => {
    const stranger = await browser.newPage()
    const lines: string[] = []
    stranger.on('console', (message) => lines.push(message.text()))
    // The same web server by another name is another origin.
    await stranger.goto(`${origin.replace('127.0.0.1', 'localhost')}/page.html`)
    await expect.poll(() => lines.join('\n'), { timeout: 20_000 }).toContain('403')
  })

  test('the React app shows a room, and publishes to it', async () => {
    const outDir = mkdtempSync(join(tmpdir(), 'respcast-app-'))
    try {
      await build({
        root: join(EXAMPLES, 'react-app'),
        configFile: false,
        logLevel: 'error',
        define: { 'import.meta.env.VITE_RESPCAST_URL': JSON.stringify(server.wsUrl) },
        resolve: {
          alias: {
            'respcast/client': join(ROOT, 'web/client/index.ts'),
            'respcast/react': join(ROOT, 'web/react/index.ts'),
          },
        },
        oxc: { jsx: { runtime: 'automatic' } },
        build: {
          outDir,
          emptyOutDir: true,
          rolldownOptions: { output: { entryFileNames: 'app.js' } },
        },
      })
      files.set('/app.html', readFileSync(join(outDir, 'index.html'), 'utf8'))
      files.set('/app.js', readFileSync(join(outDir, 'app.js'), 'utf8'))
    } finally {
      rmSync(outDir, { recursive: true, force: true })
    }
    await page.goto(`${origin}/app.html`)
    await page.getByRole('status').filter({ hasText: 'online' }).waitFor()
    await publish('room:7', '{"text":"hello from TCP"}')
    await page.getByText('hello from TCP').waitFor()
    await page.getByLabel('Message').fill('hello from the page')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('listitem').filter({ hasText: 'hello from the page' }).waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
  })
})
