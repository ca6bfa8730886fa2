import type { BrowserContext, Page } from 'playwright-core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ServerOptions } from '../support/server.ts'
import { Bed } from './bed.ts'
import { describeInChromium } from './chromium.ts'

const ROLE = 'role:demo off resetchannels +subscribe +psubscribe +publish &news &room'.split(' ')

/** Notes of the page about its client. */
interface Notes {
  readonly states: string[]
  readonly heard: string[]
  readonly gaps: number[]
  readonly denied: string[]
  readonly revoked: string[]
  readonly statuses: Record<string, string>
}

describeInChromium('the client library in Chromium, when', (browser) => {
  let context: BrowserContext
  let bed: Bed
  let page: Page

  beforeEach(async () => {
    context = await browser().newContext()
    context.setDefaultTimeout(20_000)
    await serve()
  })

  afterEach(async () => {
    await context.close()
    await bed.stop()
  })

  async function serve(directives: ServerOptions['directives'] = {}): Promise<void> {
    bed = await Bed.start({ user: [ROLE], ...directives })
  }

  /** Opens a page whose client hears some channels; `app` is what it notes. */
  async function open(channels: readonly string[], options = ''): Promise<Page> {
    const token = await bed.server.mint('demo', { roles: ['demo'] })
    const opened = await context.newPage()
    await opened.goto(bed.server.url)
    await opened.evaluate(`import('/client/client.js').then(async ({ connect }) => {
      const client = connect('${bed.server.wsUrl}', {
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

  test('the server restarts: it comes back, hears again, and tells of the gap', async () => {
    page = await open(['news'])
    const port = String(bed.server.httpPort)
    await bed.stop()
    await expectUntil(
      `app.client.state.status === 'waiting' || app.client.state.status === 'connecting'`,
    )
    await serve({ 'http-port': port })
    await expectUntil(`app.notes.statuses.news === 'live' && app.notes.gaps.length === 1`)
    expect(await bed.publish('news', 'after')).toBe(1)
    await expectUntil(`app.notes.heard.length === 1`)
    const { gaps, heard } = await notes()
    expect(heard).toEqual(['news after'])
    expect(gaps[0]).toBeGreaterThan(0)
  })

  test('a role is edited: it keeps what it may have, and says what it lost', async () => {
    page = await open(['news', 'room'])
    await bed.command('ACL', 'SETUSER', 'role:demo', 'resetchannels', '&news')
    await expectUntil(`app.notes.denied.length === 1 && app.notes.statuses.news === 'live'`)
    expect(await bed.publish('news', 'kept')).toBe(1)
    expect(await bed.publish('room', 'lost')).toBe(0)
    await expectUntil(`app.notes.heard.length === 1`)
    expect(await notes()).toMatchObject({
      heard: ['news kept'],
      denied: ['room'],
      statuses: { news: 'live', room: 'denied' },
    })
    // And gets it back when the role does.
    await bed.command('ACL', 'SETUSER', 'role:demo', '&room')
    const token = await bed.server.mint('demo', { roles: ['demo'] })
    await page.evaluate(`app.client.authenticate('${token}')`)
    await expectUntil(`app.notes.statuses.room === 'live'`)
    expect(await bed.publish('room', 'back')).toBe(1)
  })

  test('the network goes and comes: it says so, and is online at once when there is one', async () => {
    page = await open(['news'], 'reconnect: { baseMs: 50, maxMs: 600_000 }')
    await context.setOffline(true)
    await bed.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await expectUntil(`app.client.state.status === 'offline'`)
    await context.setOffline(false)
    await expectUntil(`app.notes.statuses.news === 'live' && app.notes.gaps.length === 1`)
    expect(await bed.publish('news', 'again')).toBe(1)
  })

  test('the page is frozen in the background: it finds out when it wakes up', async () => {
    page = await open(['news'])
    const session = await context.newCDPSession(page)
    await session.send('Page.setWebLifecycleState', { state: 'frozen' })
    await bed.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
    expect(await bed.publish('news', 'missed')).toBe(0)
    await session.send('Page.setWebLifecycleState', { state: 'active' })
    await expectUntil(`app.notes.gaps.length === 1 && app.notes.statuses.news === 'live'`)
    expect(await bed.publish('news', 'heard')).toBe(1)
    await expectUntil(`app.notes.heard.length === 1`)
    expect((await notes()).heard).toEqual(['news heard'])
  })

  test('the page is busy for long: it is cut off instead of filling the server, and tells of the gap', async () => {
    await bed.stop()
    await serve({ 'client-output-buffer-limit': 'websocket 256kb 128kb 1' })
    page = await open(['news'])
    const busy = page.evaluate(
      `const end = performance.now() + 4000; while (performance.now() < end);`,
    )
    const payload = 'x'.repeat(60_000)
    for (let at = 0; at < 800; at++) await bed.publish('news', payload)
    await busy
    await expectUntil(`app.notes.gaps.length > 0 && app.notes.statuses.news === 'live'`)
    expect(await bed.publish('news', 'small')).toBe(1)
    await expectUntil(`app.notes.heard.length === 1`)
  })

  test('tabs share: there is one connection, each hears its own channels, and it outlives a tab', async () => {
    page = await open(['news'], `share: 'tabs'`)
    const other = await open(['news', 'room'], `share: 'tabs'`)
    expect(bed.server.core.clients.size).toBe(2)
    expect(await bed.publish('news', 'both')).toBe(1)
    expect(await bed.publish('room', 'one')).toBe(1)
    await expectUntil(`app.notes.heard.length === 1`)
    await expectUntil(`app.notes.heard.length === 2`, other)
    expect((await notes()).heard).toEqual(['news both'])
    expect((await notes(other)).heard).toEqual(['news both', 'room one'])

    await page.close()
    expect(await bed.publish('news', 'rest')).toBe(1)
    await expectUntil(`app.notes.heard.length === 3`, other)
    // The worker learns of the tab's end by its lock, and leaves only what nobody else wants.
    await other.evaluate(`app.client.call('PING')`)
    expect((await notes(other)).states).toEqual(['authenticating', 'online'])
  })

  test('tabs share, and the process of the tab with the worker dies: the others go on at once', async () => {
    // Were it not noticed at once, only a heartbeat would tell: none comes within the time of this test.
    page = await open(['news'], `share: 'tabs', heartbeatMs: 600_000`)
    const others = [
      await open(['news'], `share: 'tabs', heartbeatMs: 600_000`),
      await open(['room'], `share: 'tabs', heartbeatMs: 600_000`),
    ]
    expect(bed.server.core.clients.size).toBe(2)
    const session = await context.newCDPSession(page)
    const crashed = page.waitForEvent('crash')
    session.send('Page.crash').catch(() => undefined)
    await crashed
    for (const other of others) {
      await expectUntil(`app.notes.gaps.length === 1`, other)
      expect((await notes(other)).states).toEqual([
        'authenticating',
        'online',
        'waiting',
        'connecting',
        'authenticating',
        'online',
      ])
    }
    // They share a connection again.
    expect(bed.server.core.clients.size).toBe(2)
    expect(await bed.publish('news', 'after')).toBe(1)
    await expectUntil(`app.notes.heard.length === 1`, others[0])
  })

  test('tabs share, and the server restarts: all of them come back, over one connection', async () => {
    page = await open(['news'], `share: 'tabs'`)
    const other = await open(['room'], `share: 'tabs'`)
    const port = String(bed.server.httpPort)
    await bed.stop()
    await serve({ 'http-port': port })
    await expectUntil(`app.notes.statuses.news === 'live' && app.notes.gaps.length === 1`)
    await expectUntil(`app.notes.statuses.room === 'live' && app.notes.gaps.length === 1`, other)
    expect(bed.server.core.clients.size).toBe(2)
  })

  test('tabs cannot share, since the worker does not load: each has its own connection', async () => {
    await context.route('**/tabs-worker.js', (route) => route.abort())
    page = await open(['news'], `share: 'tabs'`)
    const other = await open(['news'], `share: 'tabs'`)
    expect(await bed.publish('news', 'both')).toBe(2)
    await expectUntil(`app.notes.heard.length === 1`)
    await expectUntil(`app.notes.heard.length === 1`, other)
  })

  test('nothing is heard: it can ask why', async () => {
    page = await open(['news'])
    expect(await page.evaluate(`app.client.why('news')`)).toBe('ok')
    expect(await page.evaluate(`app.client.why('secret')`)).toBe('channel')
  })

  test('it runs in a worker: there it is the same', async () => {
    const token = await bed.server.mint('demo', { roles: ['demo'] })
    // The worker is made of text, which the page's policy forbids.
    await context.close()
    context = await browser().newContext({ bypassCSP: true })
    page = await context.newPage()
    await page.goto(bed.server.url)
    const script = `import { connect } from '${bed.server.url}/client/client.js'
      const client = connect('${bed.server.wsUrl}', { token: '${token}', codec: 'text' })
      for await (const { data } of client.subscribe('news')) postMessage(data)`
    await page.evaluate(`globalThis.heard = []
      const url = URL.createObjectURL(new Blob([${JSON.stringify(script)}], { type: 'text/javascript' }))
      new Worker(url, { type: 'module' }).onmessage = ({ data }) => heard.push(data)`)
    await expect.poll(() => bed.publish('news', 'hello'), { timeout: 20_000 }).toBe(1)
    await expectUntil(`heard.includes('hello')`)
  })

  test('it is a plain script: it is a global', async () => {
    const token = await bed.server.mint('demo', { roles: ['demo'] })
    page = await context.newPage()
    await page.goto(bed.server.url)
    await page.addScriptTag({ url: '/client/client.global.js' })
    await page.evaluate(`globalThis.client = Respcast.connect('${bed.server.wsUrl}', {
      token: '${token}', share: 'tabs',
    })`)
    await expectUntil(`client.state.status === 'online'`)
  })
})
