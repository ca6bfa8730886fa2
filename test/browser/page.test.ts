import type { Page } from 'playwright-core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RawClient } from '../support/resp-client.ts'
import type { TestGateway } from '../support/server.ts'
import { Bed } from './bed.ts'
import { complaintsOf, describeInChromium } from './chromium.ts'

const ROLE =
  'role:demo off resetchannels +subscribe +psubscribe +ssubscribe +publish +spublish &news &room:* &shard'.split(
    ' ',
  )

describeInChromium('the page in Chromium', (browser) => {
  let bed: Bed
  let server: TestGateway
  let terminal: RawClient
  let page: Page
  let complaints: string[]

  beforeEach(async () => {
    bed = await Bed.start({ user: [ROLE] })
    ;({ server, terminal } = bed)
    page = await browser().newPage()
    page.setDefaultTimeout(10_000)
    complaints = complaintsOf(page)
  })

  afterEach(async () => {
    await page.close()
    await bed.stop()
  })

  /** Waits until an element of that test id shows the text. */
  async function see(testId: string, text: string): Promise<void> {
    await page.getByTestId(testId).filter({ hasText: text }).first().waitFor()
  }

  async function openWithToken(): Promise<void> {
    const token = await server.mint('demo', { roles: ['demo'] })
    await page.goto(`${server.url}/#token=${token}`)
    await see('status', 'Online')
    await live('channel', 'news')
  }

  /** Waits until the server has confirmed a subscription. */
  async function live(kind: string, name: string): Promise<void> {
    const row = `[data-testid=subscription][data-kind="${kind}"][data-name="${name}"]`
    await page.locator(`${row}[data-state=live]`).waitFor()
  }

  async function subscribe(kind: string, name: string): Promise<void> {
    await page.getByLabel('Kind').selectOption(kind)
    await page.getByLabel('Name').fill(name)
    await page.getByLabel('Name').press('Enter')
  }

  test('a token in the address logs in, leaves the address, and the first message shows', async () => {
    await openWithToken()
    expect(page.url()).toBe(`${server.url}/`)
    await see('user', 'jwt:demo')
    await see('time-left', 'left')
    expect(await bed.publish('news', 'hello')).toBe(1)
    await see('message', 'hello')
    expect(complaints).toEqual([])
  })

  test('a token can be pasted', async () => {
    await page.goto(server.url)
    await see('status', 'Not connected')
    await page.getByLabel('Token').fill(await server.mint('demo', { roles: ['demo'] }))
    await page.getByTestId('connect').click()
    await see('status', 'Online')
    expect(await page.getByTestId('token').inputValue()).toBe('')
    await live('channel', 'news')
  })

  test('a token that is not accepted is reported with the reason', async () => {
    await page.goto(`${server.url}/#token=not.a.token`)
    await see('status', 'Denied')
    await see('status-reason', 'unauthorized (4401)')
    expect(await page.getByTestId('token').isVisible()).toBe(true)
  })

  test('patterns and shard channels are heard, and can be left', async () => {
    await openWithToken()
    await subscribe('pattern', 'room:*')
    await live('pattern', 'room:*')
    await subscribe('shard', 'shard')
    await live('shard', 'shard')
    await bed.publish('room:7', 'to the room')
    await see('message', 'room:7')
    await see('message', 'by room:*')
    terminal.command('SPUBLISH', 'shard', 'to the shard')
    await see('message', 'to the shard')
    await terminal.takeUntil(':1\r\n')

    await page.getByRole('button', { name: 'Unsubscribe from pattern room:*' }).click()
    await page
      .locator('[data-testid=subscription][data-kind=pattern]')
      .waitFor({ state: 'detached' })
    await expect.poll(() => bed.publish('room:7', 'gone')).toBe(0)
    expect(complaints).toEqual([])
  })

  test('what the page publishes reaches a RESP subscriber, byte for byte', async () => {
    await openWithToken()
    terminal.command('SUBSCRIBE', 'room:1')
    await terminal.takeUntil(':1\r\n')
    await page.getByLabel('Channel', { exact: true }).fill('room:1')
    await page.getByLabel('Message', { exact: true }).fill('grüße')
    await page.getByLabel('Message', { exact: true }).press('Enter')
    await see('publish-result', 'Published to 1 receiver')
    expect(await terminal.takeUntil('\r\n')).toBe(
      '*3\r\n$7\r\nmessage\r\n$6\r\nroom:1\r\n$7\r\ngr\xc3\xbc\xc3\x9fe\r\n',
    )
    await page.getByLabel('Channel', { exact: true }).fill('secret')
    await page.getByTestId('publish').click()
    await see('publish-result', 'NOPERM')
  })

  test('a name that is not allowed is refused with the reason', async () => {
    await openWithToken()
    await subscribe('channel', 'secret')
    await see('notice', 'channel secret denied: NOPERM')
    expect(await page.getByTestId('subscription').count()).toBe(1)
  })

  test('a permission that is taken away closes with 4403, and the channel stays denied', async () => {
    await openWithToken()
    expect(await bed.command('ACL', 'SETUSER', 'role:demo', 'resetchannels')).toBe('+OK\r\n')
    await see('notice', 'permissions-changed (4403)')
    await see('notice', 'channel news denied: NOPERM')
    await see('status', 'Online')
    await page.locator('[data-testid=subscription][data-name=news][data-state=denied]').waitFor()
    await subscribe('pattern', 'room:*')
    await see('notice', 'pattern room:* denied: NOPERM')
    expect(await bed.publish('news', 'secret now')).toBe(0)
  })

  test('a lost connection comes back with its subscriptions, and says what may be missing', async () => {
    await openWithToken()
    expect(await bed.command('CLIENT', 'KILL', 'TRANSPORT', 'websocket')).toBe(':1\r\n')
    await see('notice', 'Gap: messages of the last')
    await see('status', 'Online')
    expect(await bed.publish('news', 'back again')).toBe(1)
    await see('message', 'back again')
  })

  test('a paused feed keeps messages back, and binary payloads show as hex', async () => {
    await openWithToken()
    await page.getByTestId('pause').click()
    await bed.publish('news', '\x00\xff')
    await page.getByRole('button', { name: 'Resume (1 new)' }).waitFor()
    expect(await page.getByTestId('message').count()).toBe(0)
    await page.getByTestId('pause').click()
    await see('message', '00 ff')
    await page.getByTestId('clear').click()
    expect(await page.getByTestId('message').count()).toBe(0)
  })

  test('the feed keeps the newest 200 messages', async () => {
    await openWithToken()
    for (let at = 1; at <= 250; at++) terminal.command('PUBLISH', 'news', `message ${at} of 250`)
    await see('message', 'message 250 of 250')
    await see('feed-count', '250')
    expect(await page.getByTestId('message').count()).toBe(200)
    expect(await page.getByTestId('message').last().textContent()).toContain('message 51 of 250')
  })

  test('a phone needs no sideways scrolling', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await openWithToken()
    await bed.publish('news', 'a-word-without-a-break'.repeat(20))
    await see('message', 'a-word')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
  })
})
