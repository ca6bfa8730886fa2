import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { build } from 'vite'
import type { Plugin, Rolldown } from 'vite'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { Bed } from './bed.ts'
import { describeInChromium } from './chromium.ts'

const WEB = fileURLToPath(new URL('../../web/', import.meta.url))

/** A page that shows a channel, or another component of the same channel, or nothing; `app` drives it. */
const APP = `
  import { createElement as h, StrictMode, useState } from 'react'
  import { createRoot } from 'react-dom/client'
  import { connect } from '${WEB}client/index.ts'
  import { RespcastProvider, useChannel, useConnection, useRespcast } from '${WEB}react/index.ts'

  const sent = []
  class Recording extends WebSocket {
    send(bytes) {
      sent.push(new TextDecoder().decode(bytes).replaceAll(/[*$]\\d+\\r\\n/g, '').trim().replaceAll('\\r\\n', ' '))
      super.send(bytes)
    }
  }
  const app = { sent, renders: 0, gaps: 0 }
  globalThis.app = app
  globalThis.start = (url, token) => {
    app.client = connect(url, {
      token, codec: 'text', WebSocket: Recording, reconnect: { baseMs: 50, maxMs: 100 },
    })
    createRoot(document.body).render(
      h(StrictMode, undefined, h(RespcastProvider, { client: app.client }, h(Switch))),
    )
  }

  function Switch() {
    const [view, show] = useState('first')
    app.show = show
    const { status } = useConnection()
    const client = useRespcast()
    app.isSame = client === app.client
    return h('main', undefined,
      h('p', { id: 'connection' }, status),
      view === 'first' && h(Lines, { key: 'first', name: 'news' }),
      view === 'second' && h(Lines, { key: 'second', name: 'news' }),
      view === 'other' && h(Lines, { key: 'first', name: 'room' }),
      view === 'secret' && h(Lines, { key: 'secret', name: 'secret' }),
    )
  }

  function Lines({ name }) {
    const { status, value, denial } = useChannel(name, {
      initial: 0,
      reduce: (count) => count + 1,
      onGap: () => app.gaps++,
    })
    app.renders++
    return h('p', { id: 'channel' }, name + ' ' + status + ' ' + value + ' ' + (denial?.code ?? ''))
  }
`

/** Bundles the page: one script. */
async function bundle(): Promise<string> {
  const virtual: Plugin = {
    name: 'app',
    resolveId: (id) => (id === 'app' ? '\0app.js' : undefined),
    load: (id) => (id === '\0app.js' ? APP : undefined),
  }
  const result = (await build({
    root: WEB,
    configFile: false,
    logLevel: 'error',
    plugins: [virtual],
    // Development: only there StrictMode mounts everything twice.
    mode: 'development',
    define: { 'process.env.NODE_ENV': '"development"' },
    build: {
      write: false,
      minify: false,
      rolldownOptions: { input: 'app', output: { format: 'iife', codeSplitting: false } },
    },
  })) as Rolldown.RolldownOutput
  return result.output[0].code
}

describeInChromium('the hooks in React, in StrictMode', (browser) => {
  let bed: Bed
  let page: Page
  let script: string

  beforeAll(async () => {
    script = await bundle()
  })

  beforeEach(async () => {
    bed = await Bed.start()
    const { server } = bed
    page = await browser().newPage({ bypassCSP: true })
    await page.clock.install()
    await page.goto(server.url)
    await page.evaluate(`document.body.replaceChildren()`)
    await page.addScriptTag({ content: script })
    const token = await server.mint('demo', { channels: ['news', 'room'] })
    await page.evaluate(`start('${server.wsUrl}', '${token}')`)
  })

  afterEach(async () => {
    await page.close()
    await bed.stop()
  })

  /** Waits until the page shows a text. */
  async function expectText(id: string, text: string): Promise<void> {
    await expect
      .poll(() => page.evaluate(`document.getElementById('${id}')?.textContent`), {
        timeout: 20_000,
      })
      .toBe(text)
  }

  async function subscriptions(): Promise<string[]> {
    const sent = await page.evaluate<string[]>('app.sent')
    return sent.filter((command) => command.includes('SUBSCRIBE'))
  }

  /** Publishes over TCP in one piece. */
  async function publish(channel: string, count: number): Promise<void> {
    for (let at = 0; at < count; at++) bed.terminal.command('PUBLISH', channel, String(at))
    await bed.terminal.take(count * ':1\r\n'.length)
  }

  test('a component that is mounted twice subscribes once, and hears each message once', async () => {
    await expectText('channel', 'news live 0 ')
    await expectText('connection', 'online')
    await publish('news', 1)
    await expectText('channel', 'news live 1 ')
    await page.clock.fastForward(2000)
    expect(await subscriptions()).toEqual(['SUBSCRIBE news'])
    expect(await page.evaluate('app.isSame')).toBe(true)
  })

  test('a component in the place of another one of the same channel causes no traffic', async () => {
    await expectText('channel', 'news live 0 ')
    await page.evaluate(`app.show('second')`)
    await expectText('channel', 'news live 0 ')
    await page.clock.fastForward(2000)
    await publish('news', 1)
    await expectText('channel', 'news live 1 ')
    expect(await subscriptions()).toEqual(['SUBSCRIBE news'])
  })

  test('another name begins anew, and the old one is left a second later', async () => {
    await expectText('channel', 'news live 0 ')
    await publish('news', 3)
    await expectText('channel', 'news live 3 ')
    await page.evaluate(`app.show('other')`)
    await expectText('channel', 'room live 0 ')
    expect(await subscriptions()).toEqual(['SUBSCRIBE news', 'SUBSCRIBE room'])
    await expect
      .poll(subscriptions, { timeout: 5000 })
      .toEqual(['SUBSCRIBE news', 'SUBSCRIBE room', 'UNSUBSCRIBE news'])
  })

  test('messages that come together are rendered together', async () => {
    await expectText('channel', 'news live 0 ')
    const before = await page.evaluate<number>('app.renders')
    await publish('news', 1000)
    await expectText('channel', 'news live 1000 ')
    expect((await page.evaluate<number>('app.renders')) - before).toBeLessThan(500)
  })

  test('a connection that is lost shows, and the gap is told', async () => {
    await expectText('channel', 'news live 0 ')
    await bed.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await expect.poll(() => page.evaluate('app.gaps'), { timeout: 20_000 }).toBe(1)
    await expectText('channel', 'news live 0 ')
    await expectText('connection', 'online')
  })

  test('a channel that is refused says so', async () => {
    await expectText('channel', 'news live 0 ')
    await page.evaluate(`app.show('secret')`)
    await expectText('channel', 'secret denied 0 NOPERM')
  })
})
