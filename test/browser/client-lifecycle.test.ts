import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connectRaw } from '../support/resp-client.ts'
import type { RawClient } from '../support/resp-client.ts'
import { startServer } from '../support/server.ts'
import type { ServerOptions, TestGateway } from '../support/server.ts'
import { canRunBrowser, launchChromium } from './chromium.ts'

const ROLE = 'role:demo off resetchannels +subscribe +psubscribe +publish &news &room'.split(' ')

/** What the page notes about its client. */
interface Notes {
  readonly states: string[]
  readonly heard: string[]
  readonly gaps: number[]
  readonly denied: string[]
  readonly revoked: string[]
  readonly statuses: Record<string, string>
}

describe.runIf(canRunBrowser)('the client library in Chromium, when', () => {
  let browser: Browser
  let context: BrowserContext
  let server: TestGateway
  let terminal: RawClient
  let page: Page

  beforeAll(async () => {
    browser = await launchChromium()
  })

  afterAll(async () => {
    await browser?.close()
  })

  beforeEach(async () => {
    context = await browser.newContext()
    context.setDefaultTimeout(20_000)
    await serve()
  })

  afterEach(async () => {
    await context.close()
    terminal.destroy()
    await server.stop()
  })

  async function serve(directives: ServerOptions['directives'] = {}): Promise<void> {
    server = await startServer({ directives: { user: [ROLE], ...directives } })
    terminal = await connectRaw(server.port)
  }

  /** Opens a page whose client hears some channels; `app` is what it notes. */
  async function open(channels: readonly string[], options = ''): Promise<Page> {
    const token = await server.mint('demo', { roles: ['demo'] })
    const opened = await context.newPage()
    await opened.goto(server.url)
    await opened.evaluate(`import('/client/client.js').then(async ({ connect }) => {
      const client = connect('${server.wsUrl}', {
        token: '${token}', reconnect: { baseMs: 50, maxMs: 200 }, probeTimeoutMs: 1000, ${options}
      })
      const notes = { states: [], heard: [], gaps: [], denied: [], revoked: [], statuses: {} }
      globalThis.app = { client, notes }
      client.on('state', ({ status }) => notes.states.push(status))
      client.on('gap', ({ spanMs }) => notes.gaps.push(spanMs))
      client.on('denied', ({ name }) => notes.denied.push(name))
      client.on('revoked', ({ channel }) => notes.revoked.push(channel))
      for (const name of ${JSON.stringify(channels)}) {
        const subscription = client.subscribe(name, (message) => {
          if (message.payload.length < 100) notes.heard.push(name + ' ' + message.text())
        })
        subscription.addEventListener('status', ({ detail }) => { notes.statuses[name] = detail })
        await subscription.ready
      }
    })`)
    return opened
  }

  async function notes(of: Page = page): Promise<Notes> {
    return of.evaluate<Notes>('app.notes')
  }

  /** Waits until something is so in the page. */
  async function expectUntil(condition: string, of: Page = page): Promise<void> {
    await expect
      .poll(() => of.evaluate(condition), { timeout: 20_000, message: condition })
      .toBe(true)
  }

  /** Publishes over TCP. @returns The number of receivers. */
  async function publish(channel: string, payload: string): Promise<number> {
    terminal.command('PUBLISH', channel, payload)
    return Number((await terminal.takeUntil('\r\n')).slice(1))
  }

  async function command(...args: string[]): Promise<string> {
    terminal.command(...args)
    return terminal.takeUntil('\r\n')
  }

  test('the server restarts: it comes back, hears again, and tells of the gap', async () => {
    page = await open(['news'])
    const port = String(server.httpPort)
    terminal.destroy()
    await server.stop()
    await expectUntil(
      `app.client.state.status === 'waiting' || app.client.state.status === 'connecting'`,
    )
    await serve({ 'http-port': port })
    await expectUntil(`app.notes.statuses.news === 'live' && app.notes.gaps.length === 1`)
    expect(await publish('news', 'after')).toBe(1)
    await expectUntil(`app.notes.heard.length === 1`)
    const { gaps, heard } = await notes()
    expect(heard).toEqual(['news after'])
    expect(gaps[0]).toBeGreaterThan(0)
  })

  test('a role is edited: it keeps what it may have, and says what it lost', async () => {
    page = await open(['news', 'room'])
    await command('ACL', 'SETUSER', 'role:demo', 'resetchannels', '&news')
    await expectUntil(`app.notes.denied.length === 1 && app.notes.statuses.news === 'live'`)
    expect(await publish('news', 'kept')).toBe(1)
    expect(await publish('room', 'lost')).toBe(0)
    await expectUntil(`app.notes.heard.length === 1`)
    expect(await notes()).toMatchObject({
      heard: ['news kept'],
      denied: ['room'],
      statuses: { news: 'live', room: 'denied' },
    })
    // And gets it back when the role does.
    await command('ACL', 'SETUSER', 'role:demo', '&room')
    const token = await server.mint('demo', { roles: ['demo'] })
    await page.evaluate(`app.client.authenticate('${token}')`)
    await expectUntil(`app.notes.statuses.room === 'live'`)
    expect(await publish('room', 'back')).toBe(1)
  })

  test('the network goes and comes: it says so, and is online at once when there is one', async () => {
    page = await open(['news'], 'reconnect: { baseMs: 50, maxMs: 600_000 }')
    await context.setOffline(true)
    await command('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await expectUntil(`app.client.state.status === 'offline'`)
    await context.setOffline(false)
    await expectUntil(`app.notes.statuses.news === 'live' && app.notes.gaps.length === 1`)
    expect(await publish('news', 'again')).toBe(1)
  })

  test('the page is frozen in the background: it finds out when it wakes up', async () => {
    page = await open(['news'])
    const session = await context.newCDPSession(page)
    await session.send('Page.setWebLifecycleState', { state: 'frozen' })
    await command('CLIENT', 'KILL', 'TYPE', 'pubsub')
    expect(await publish('news', 'missed')).toBe(0)
    await session.send('Page.setWebLifecycleState', { state: 'active' })
    await expectUntil(`app.notes.gaps.length === 1 && app.notes.statuses.news === 'live'`)
    expect(await publish('news', 'heard')).toBe(1)
    await expectUntil(`app.notes.heard.length === 1`)
    expect((await notes()).heard).toEqual(['news heard'])
  })

  test('the page is busy for long: it is cut off instead of filling the server, and tells of the gap', async () => {
    terminal.destroy()
    await server.stop()
    await serve({ 'client-output-buffer-limit': 'websocket 256kb 128kb 1' })
    page = await open(['news'])
    const busy = page.evaluate(
      `const end = performance.now() + 4000; while (performance.now() < end);`,
    )
    const payload = 'x'.repeat(60_000)
    for (let at = 0; at < 800; at++) await publish('news', payload)
    await busy
    await expectUntil(`app.notes.gaps.length > 0 && app.notes.statuses.news === 'live'`)
    expect(await publish('news', 'small')).toBe(1)
    await expectUntil(`app.notes.heard.length === 1`)
  })

  test('tabs share: there is one connection, each hears its own channels, and it outlives a tab', async () => {
    page = await open(['news'], `share: 'tabs'`)
    const other = await open(['news', 'room'], `share: 'tabs'`)
    expect(server.core.clients.size).toBe(2)
    expect(await publish('news', 'both')).toBe(1)
    expect(await publish('room', 'one')).toBe(1)
    await expectUntil(`app.notes.heard.length === 1`)
    await expectUntil(`app.notes.heard.length === 2`, other)
    expect((await notes()).heard).toEqual(['news both'])
    expect((await notes(other)).heard).toEqual(['news both', 'room one'])

    await page.close()
    expect(await publish('news', 'rest')).toBe(1)
    await expectUntil(`app.notes.heard.length === 3`, other)
    // The worker learns of the tab's end by its lock, and leaves only what nobody else wants.
    await other.evaluate(`app.client.call('PING')`)
    expect((await notes(other)).states).toEqual(['authenticating', 'online'])
  })

  test('tabs share, and the server restarts: all of them come back, over one connection', async () => {
    page = await open(['news'], `share: 'tabs'`)
    const other = await open(['room'], `share: 'tabs'`)
    const port = String(server.httpPort)
    terminal.destroy()
    await server.stop()
    await serve({ 'http-port': port })
    await expectUntil(`app.notes.statuses.news === 'live' && app.notes.gaps.length === 1`)
    await expectUntil(`app.notes.statuses.room === 'live' && app.notes.gaps.length === 1`, other)
    expect(server.core.clients.size).toBe(2)
  })

  test('tabs cannot share, since the worker does not load: each has its own connection', async () => {
    await context.route('**/tabs-worker.js', (route) => route.abort())
    page = await open(['news'], `share: 'tabs'`)
    const other = await open(['news'], `share: 'tabs'`)
    expect(await publish('news', 'both')).toBe(2)
    await expectUntil(`app.notes.heard.length === 1`)
    await expectUntil(`app.notes.heard.length === 1`, other)
  })

  test('nothing is heard: it can ask why', async () => {
    page = await open(['news'])
    expect(await page.evaluate(`app.client.why('news')`)).toBe('ok')
    expect(await page.evaluate(`app.client.why('secret')`)).toBe('channel')
  })

  test('it runs in a worker: there it is the same', async () => {
    const token = await server.mint('demo', { roles: ['demo'] })
    // The worker is made of text, which the page's policy forbids.
    await context.close()
    context = await browser.newContext({ bypassCSP: true })
    page = await context.newPage()
    await page.goto(server.url)
    const script = `import { connect } from '${server.url}/client/client.js'
      const client = connect('${server.wsUrl}', { token: '${token}', codec: 'text' })
      for await (const { data } of client.subscribe('news')) postMessage(data)`
    await page.evaluate(`globalThis.heard = []
      const url = URL.createObjectURL(new Blob([${JSON.stringify(script)}], { type: 'text/javascript' }))
      new Worker(url, { type: 'module' }).onmessage = ({ data }) => heard.push(data)`)
    await expect.poll(() => publish('news', 'hello'), { timeout: 20_000 }).toBe(1)
    await expectUntil(`heard.includes('hello')`)
  })

  test('it is a plain script: it is a global', async () => {
    const token = await server.mint('demo', { roles: ['demo'] })
    page = await context.newPage()
    await page.goto(server.url)
    await page.addScriptTag({ url: '/client/client.global.js' })
    await page.evaluate(`globalThis.client = Respcast.connect('${server.wsUrl}', {
      token: '${token}', share: 'tabs',
    })`)
    await expectUntil(`client.state.status === 'online'`)
  })
})
