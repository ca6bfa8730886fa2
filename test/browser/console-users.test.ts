import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RawClient } from '../support/resp-client.ts'
import type { TestGateway } from '../support/server.ts'
import { Bed } from './bed.ts'
import { describeInChromium } from './chromium.ts'
import { MEMBER, openConsole } from './console-page.ts'
import type { ConsolePage } from './console-page.ts'

/** The rules that docs/console.md recommends for a user, as the words of its command. */
function documentedUser(name: string): string[] {
  const manual = readFileSync(new URL('../../docs/console.md', import.meta.url), 'utf8')
  const line = manual.split('\n').find((each) => each.startsWith(`ACL SETUSER ${name} `))
  return line?.split(' ') ?? []
}

describeInChromium('users for operators, as docs/console.md makes them', (browser) => {
  let bed: Bed
  let server: TestGateway
  let terminal: RawClient
  let console: ConsolePage

  beforeEach(async () => {
    bed = await Bed.start({ user: [[...MEMBER]], 'ws-path': '/live' })
    ;({ server, terminal } = bed)
    console = await openConsole(browser(), server)
  })

  afterEach(async () => {
    await console.page.close()
    await bed.stop()
  })

  async function logInAs(name: string): Promise<void> {
    expect(await bed.command(...documentedUser(name))).toBe('+OK\r\n')
    await console.logIn(name, 'long-and-random')
    await console.waitFor('status', `Online as ${name}`)
  }

  /** Goes to a view and waits until it shows what it is there for. */
  async function expectView(view: string, testId: string, text: string | RegExp): Promise<void> {
    await console.goTo(view)
    await console.waitFor(testId, text)
    expect(await console.page.getByTestId('problem').allTextContents()).toEqual([])
  }

  test('somebody who looks sees the views, and changes nothing', async () => {
    terminal.command('SUBSCRIBE', 'room:1')
    await terminal.takeUntil(':1\r\n')
    terminal.command('UNSUBSCRIBE')
    await terminal.takeUntil(':0\r\n')
    await logInAs('viewer')
    await expectView('overview', 'tiles', /Published\d/)
    await expectView('channels', 'view-channels', 'Nobody is subscribed.')
    await expectView('connections', 'view-connections', 'viewer')
    await expectView('revocations', 'view-revocations', 'Nothing is revoked.')
    await expectView('audit', 'view-audit', 'Nothing yet.')
    await expectView('configuration', 'view-configuration', 'acl-autosave')
    await expectView('health', 'readiness', 'Ready')
    await console.goTo('tokens')
    await console.page.getByTestId('token').fill(await server.mint('ada', { roles: ['member'] }))
    await console.button('Explain the token').click()
    await console.waitFor('explanation', 'jwt:ada')

    await console.goTo('users')
    await console.waitFor('problem', 'Not permitted.')
    await console.waitFor('problem', "'acl|list'")
    await console.goTo('tail')
    await console.button('Listen').click()
    await console.waitFor('tail-status', 'Refused')
    await console.goTo('revocations')
    await console.page.getByLabel('Subject', { exact: true }).fill('ada')
    await console.button('Preview').click()
    await console.waitFor('problem', "'token|revoke'")
  })

  test('somebody on call cuts connections, takes tokens back, and hears their channels', async () => {
    await logInAs('oncall')
    await console.goTo('connections')
    await console.page.getByRole('searchbox').fill('default')
    await console.page.locator('[role=row][data-key]').filter({ hasText: 'default' }).click()
    await console.button('Kill').click()
    await console.page.getByTestId('confirm').click()
    await terminal.closed

    await console.goTo('revocations')
    await console.page.getByLabel('Subject', { exact: true }).fill('ada')
    await console.page.getByTestId('revoke').click()
    await console.page.getByTestId('confirm').click()
    await console.button('Undo revocation 1').click()
    await console.page.getByTestId('confirm').click()
    await console.waitFor('notice', 'Revocation 1 undone')

    await console.goTo('tail')
    await console.page.getByLabel('Name', { exact: true }).fill('news:*')
    await console.button('Listen').click()
    await console.waitFor('tail-status', 'Listening to pattern news:*')
  })
})
