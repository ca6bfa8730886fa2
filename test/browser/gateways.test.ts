import type { BrowserContext } from 'playwright-core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findProgram } from '../support/redis-servers.ts'
import { GatewayProcess } from '../support/topologies/gateway.ts'
import { startStandalone, type Standalone } from '../support/topologies/standalone.ts'
import { describeInChromium } from './chromium.ts'
import { ADMIN, ConsolePage } from './console-page.ts'

const PROGRAM = 'redis-server'

/** On a build machine a missing server is a failure. */
const isMissing = findProgram(PROGRAM) === undefined && process.env['CI'] !== 'true'

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
            ...['--upstream-control', 'yes', '--upstream-lease', '3', '--node-name', name],
            ...['--user', ...ADMIN],
          ],
        }),
      ),
    )
    console = new ConsolePage(await context.newPage(), gateways[0] as GatewayProcess)
    await console.logIn()
    await console.waitFor('status', 'Online as admin')
  })

  afterEach(async () => {
    if (isMissing) return
    await context.close()
    await Promise.all(gateways.map((gateway) => gateway.stop()))
    await upstream.stop()
  })

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
