import type { BrowserContext, Page } from 'playwright-core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findProgram } from '../support/redis-servers.ts'
import { GatewayProcess } from '../support/topologies/gateway.ts'
import { startStandalone, type Standalone } from '../support/topologies/standalone.ts'
import { complaintsOf, describeInChromium } from './chromium.ts'

/** On a build machine a missing server is a failure. */
const isMissing = findProgram('valkey-server') === undefined && process.env['CI'] !== 'true'

/** The page of the server at one gateway. */
interface Opened {
  readonly page: Page
  readonly complaints: readonly string[]
}

describeInChromium('two pages at two gateways of one Valkey', (browser) => {
  let upstream: Standalone
  let gateways: GatewayProcess[] = []
  let context: BrowserContext

  beforeEach(async () => {
    if (isMissing) return
    context = await browser().newContext({ viewport: { width: 900, height: 700 } })
    context.setDefaultTimeout(20_000)
    upstream = await startStandalone()
    gateways = await Promise.all([1, 2].map(() => GatewayProcess.start({ upstream: upstream.url })))
  })

  afterEach(async () => {
    if (isMissing) return
    await context.close()
    await Promise.all(gateways.map((gateway) => gateway.stop()))
    await upstream.stop()
  })

  /** Opens the page of a gateway, logged in and subscribed to `news`. */
  async function open(gateway: GatewayProcess, sub: string): Promise<Opened> {
    const page = await context.newPage()
    const complaints = complaintsOf(page)
    const { host } = new URL(gateway.wsUrl)
    await page.goto(`http://${host}/#token=${await gateway.mint(sub)}`)
    await page.locator('[data-testid=subscription][data-name=news][data-state=live]').waitFor()
    await page.evaluate('globalThis.wasLoadedOnce = true')
    return { page, complaints }
  }

  async function publish({ page }: Opened, payload: string): Promise<string> {
    const result = page.getByTestId('publish-result')
    const field = page.getByTestId('publish-payload')
    await field.fill(payload)
    await field.press('Enter')
    await expect.poll(() => result.textContent()).not.toBe('')
    return (await result.textContent()) ?? ''
  }

  async function see({ page }: Opened, testId: string, text: string): Promise<void> {
    await page.getByTestId(testId).filter({ hasText: text }).first().waitFor()
  }

  test.skipIf(isMissing)(
    'the Valkey is killed and comes back: both tell of the gap, and go on without a reload',
    async () => {
      const pages = [
        await open(gateways[0] as GatewayProcess, 'ann'),
        await open(gateways[1] as GatewayProcess, 'ben'),
      ] as const
      expect(await publish(pages[0], 'before')).toBe('Published to 2 receivers')
      for (const opened of pages) await see(opened, 'message', 'before')

      await upstream.node.kill()
      // Nothing is queued for a better time, and nothing is said to have arrived.
      await expect.poll(() => publish(pages[1], 'lost')).toContain('TRYAGAIN')
      await upstream.node.start()
      for (const opened of pages) await see(opened, 'notice', 'Gap: messages of the last')

      // Both subscriptions are in force again, whoever publishes.
      expect(await publish(pages[1], 'after')).toBe('Published to 2 receivers')
      await upstream.node.ask('PUBLISH', 'news', 'from a backend')
      for (const opened of pages) {
        await see(opened, 'message', 'after')
        await see(opened, 'message', 'from a backend')
        expect(await opened.page.evaluate('globalThis.wasLoadedOnce')).toBe(true)
        expect(await opened.page.getByTestId('message').filter({ hasText: 'lost' }).count()).toBe(0)
        // The connection to the gateway stayed: no notice is about anything else than a gap.
        const others = opened.page.getByTestId('notice').filter({ hasNotText: 'Gap' })
        expect(await others.count()).toBe(0)
        expect(opened.complaints).toEqual([])
      }
    },
  )
})
