import type { BrowserContext, Page } from 'playwright-core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findProgram } from '../support/redis-servers.ts'
import { GatewayProcess } from '../support/topologies/gateway.ts'
import { startStandalone, type Standalone } from '../support/topologies/standalone.ts'
import { complaintsOf, describeInChromium } from './chromium.ts'
import { ADMIN, ConsolePage } from './console-page.ts'

const PROGRAM = 'redis-server'

/** On a build machine a missing server is a failure. */
const isMissing = findProgram(PROGRAM) === undefined && process.env['CI'] !== 'true'

/** Longest start and end of all processes, on a busy machine. */
const PATIENCE_MS = 60_000

const READER = 'role:reader off resetchannels -@all +subscribe &news &weather'

describeInChromium('an operator at one gateway, and a page at another one', (browser) => {
  let upstream: Standalone
  let gateways: GatewayProcess[] = []
  let context: BrowserContext
  let console: ConsolePage

  beforeEach(async () => {
    if (isMissing) return
    context = await browser().newContext({ viewport: { width: 1200, height: 800 } })
    upstream = await startStandalone({ program: PROGRAM })
    gateways = await Promise.all(
      ['left', 'right'].map((name) =>
        GatewayProcess.start({
          upstream: upstream.url,
          directives: [
            ...['--upstream-control', 'yes', '--upstream-lease', '5', '--node-name', name],
            ...['--user', ...ADMIN, '--user', ...READER.split(' ')],
          ],
        }),
      ),
    )
    console = new ConsolePage(await context.newPage(), gateways[0] as GatewayProcess)
    await console.logIn()
    await console.waitFor('status', 'Online as admin')
  }, PATIENCE_MS)

  afterEach(async () => {
    if (isMissing) return
    await context.close()
    await Promise.all(gateways.map((gateway) => gateway.stop()))
    await upstream.stop()
  }, PATIENCE_MS)

  /** Opens the page of the other gateway with a token of the role, subscribed to `news`. */
  async function openReader(): Promise<{ page: Page; complaints: readonly string[] }> {
    const right = gateways[1] as GatewayProcess
    const page = await context.newPage()
    page.setDefaultTimeout(20_000)
    const complaints = complaintsOf(page)
    const token = await right.mint('ann', { roles: ['reader'] })
    await page.goto(`http://${new URL(right.wsUrl).host}/#token=${token}`)
    await page.locator('[data-testid=subscription][data-name=news][data-state=live]').waitFor()
    return { page, complaints }
  }

  async function see(page: Page, testId: string, text: string): Promise<void> {
    await page.getByTestId(testId).filter({ hasText: text }).first().waitFor()
  }

  test.skipIf(isMissing)(
    'a channel that the operator takes from a role closes the page with 4403 permissions-changed, and it shows why',
    async () => {
      const { page, complaints } = await openReader()
      await upstream.node.ask('PUBLISH', 'news', 'before')
      await see(page, 'message', 'before')

      await console.goTo('users?name=role:reader')
      const rules = console.page.getByTestId('rules')
      const withNews = await rules.inputValue()
      expect(withNews).toContain('&news')
      await rules.fill(withNews.replace('&news', ''))
      await console.waitFor('rule-check', 'The server takes these rules.')
      await console.page.getByTestId('save-user').click()
      await console.waitFor('affected', 'at this gateway')
      await console.page.getByTestId('confirm').click()
      await console.waitFor('notice', 'role:reader saved')
      // It was saved when all had confirmed: from now on nothing gets through.
      await upstream.node.ask('PUBLISH', 'news', 'secret now')

      await see(page, 'notice', 'Connection ended: permissions-changed (4403)')
      await see(page, 'notice', 'Subscription to channel news denied: NOPERM')
      await page.locator('[data-testid=subscription][data-name=news][data-state=denied]').waitFor()
      await see(page, 'status', 'Online')
      expect(await page.getByTestId('message').allTextContents()).toHaveLength(1)
      expect([...console.complaints, ...complaints]).toEqual([])
    },
  )

  test.skipIf(isMissing)(
    'the operator sees both gateways, goes to the console of the other one, and is told when they are cut off',
    async () => {
      await console.goTo('gateways')
      await console.waitFor('gateway-totals', '2 gateways')
      const left = console.page.getByRole('row').filter({ hasText: 'left' })
      const right = console.page.getByRole('row').filter({ hasText: 'right' })
      await left.filter({ hasText: 'this one' }).filter({ hasText: 'serving' }).waitFor()
      await right.filter({ hasText: 'serving' }).waitFor()
      expect(await console.page.getByTestId('gateway-warning').count()).toBe(0)

      await console.goTo('connections')
      await console.waitFor('local-note', 'Connections of this gateway only.')
      await console.page.getByTestId('local-note').getByRole('link').click()

      const opened = context.waitForEvent('page')
      await right.getByRole('link', { name: 'right' }).click()
      const other = await opened
      await other.getByLabel('Password').waitFor()
      expect(new URL(other.url()).port).toBe(String(gateways[1]?.adminPort))
      await other.close()

      await upstream.node.kill()
      await console.waitFor('gateway-warning', 'This gateway is fenced')
      await console.waitFor('gateway-warning', 'right is fenced or gone')
      await console.goTo('overview')
      await console.waitFor('gateway-warning', 'This gateway is fenced')
      await upstream.node.start()
      await console.page.getByTestId('gateway-warning').waitFor({ state: 'detached' })
      expect(console.complaints).toEqual([])
    },
  )
})
