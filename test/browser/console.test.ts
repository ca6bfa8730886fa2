import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { RawClient } from '../support/resp-client.ts'
import type { TestGateway } from '../support/server.ts'
import { SOME_LINKS, withUpstream } from '../support/upstream-state.ts'
import { Bed } from './bed.ts'
import { describeInChromium } from './chromium.ts'
import { ADMIN, MEMBER, openConsole } from './console-page.ts'
import type { ConsolePage } from './console-page.ts'

describeInChromium('the console in Chromium', (browser) => {
  let bed: Bed
  let server: TestGateway
  let terminal: RawClient
  let console: ConsolePage

  async function start(): Promise<void> {
    bed = await Bed.start({ user: [[...ADMIN], [...MEMBER]] })
    ;({ server, terminal } = bed)
    console = await openConsole(browser(), server)
  }

  async function stop(): Promise<void> {
    await console.page.close()
    await bed.stop()
  }

  /** One server and one console, logged in, for the tests of a block. */
  function shareConsole(): void {
    beforeAll(async () => {
      await start()
      await console.logIn()
      await console.waitFor('status', 'Online')
    })
    afterEach(() => bed.closeSockets())
    afterAll(stop)
  }

  describe('login', () => {
    beforeEach(start)
    afterEach(stop)

    test('an ACL user with a password logs in, and the password stands nowhere', async () => {
      await console.logIn()
      await console.waitFor('status', 'Online as admin')
      await console.waitFor('tiles', 'Published')
      await console.page.keyboard.press('l')
      expect(await console.loggedCommands()).toContain('AUTH admin (password)')
      const kept = await console.page.evaluate(
        'JSON.stringify([document.documentElement.outerHTML, location.href, {...localStorage}, {...sessionStorage}])',
      )
      expect(kept).not.toContain('secret')
      expect(console.complaints).toEqual([])
    })

    test('a wrong password is refused with the reason, at once', async () => {
      await console.logIn('admin', 'guess')
      await console.waitFor('login-problem', 'The server does not accept this user and password.')
      await console.page.getByLabel('Password').fill('secret')
      await console.button('Log in').click()
      await console.waitFor('status', 'Online as admin')
    })

    test('logging out closes the connection, and reloading the page logs out', async () => {
      await console.logIn()
      await console.waitFor('status', 'Online')
      await console.button('Log out').click()
      await console.page.getByLabel('Password').waitFor()
      await expect.poll(() => server.core.clients.size).toBe(1)
      expect(await console.page.getByLabel('Password').inputValue()).toBe('')
    })

    test('a connection that is lost comes back by itself, logged in', async () => {
      await console.logIn()
      await console.waitFor('status', 'Online')
      const states = await console.noteStates()
      terminal.command('CLIENT', 'KILL', 'USER', 'admin')
      await terminal.takeUntil(':1\r\n')
      await expect.poll(states, { timeout: 15_000 }).toContain('online')
      expect((await states()).slice(0, -1)).not.toEqual([])
      await console.waitFor('status', 'Online as admin')
    })
  })

  describe('connections', () => {
    shareConsole()

    test('a connection is found, opened, and killed once that is confirmed', async () => {
      const ada = await bed.subscribe('ada', 'news:sport')
      const bob = await bed.subscribe('bob', 'news:sport')
      await console.goTo('connections')
      await console.page.getByRole('searchbox').fill('jwt:ada')
      const row = console.page.locator('[role=row][data-key]').filter({ hasText: 'jwt:ada' })
      await row.getByText('websocket').click()
      const details = console.page.getByRole('dialog')
      await details.getByText('news:sport').waitFor()
      await details.getByText('jwt-sub').waitFor()
      await console.button('Kill').click()
      await console.waitFor('commands', /^CLIENT KILL ID \d+$/)
      expect(ada.isClosed).toBe(false)
      await console.page.getByTestId('confirm').click()
      await ada.closed
      await console.waitFor('notice', '1 connection killed')
      expect(bob.isClosed).toBe(false)
    })

    test('several are chosen and killed at once', async () => {
      const victims = await Promise.all(
        ['ada', 'bob'].map((name) => bed.subscribe(name, 'news:sport')),
      )
      await console.goTo('connections')
      await console.page.getByRole('searchbox').fill('jwt:')
      await console.page.getByText('2 of 4').waitFor()
      await console.page.getByLabel('Choose all that are shown').check()
      await console.button('Kill 2').click()
      await console.page.getByTestId('confirm').click()
      await Promise.all(victims.map((victim) => victim.closed))
      await console.waitFor('notice', '2 connections killed')
      expect(terminal.isClosed).toBe(false)
    })

    test('the console cannot kill itself', async () => {
      await console.goTo('connections')
      await console.page.getByRole('searchbox').fill('admin')
      await console.page.locator('[role=row][data-key]').filter({ hasText: 'admin' }).click()
      await console.page.getByText('This is the console itself.').waitFor()
      expect(await console.button('Kill').isDisabled()).toBe(true)
    })
  })

  describe('users and roles', () => {
    shareConsole()

    test('taking a channel out of a role cuts those who hold it, and nobody else', async () => {
      const ada = await bed.subscribe('ada', 'news:sport')
      const bob = await bed.subscribe('bob', 'user:bob:inbox')
      await console.goTo('users')
      await console.row('role:member').getByText('role:member').click()
      const rules = console.page.getByTestId('rules')
      await rules.fill((await rules.inputValue()).replace('&news:*', '&news:world'))
      await console.waitFor('rule-check', 'The server takes these rules.')
      await console.page.getByTestId('save-user').click()
      await console.waitFor('affected', '2 live connections')
      await console.page.getByLabel('Changes').getByText('&news:world').waitFor()
      expect(ada.isClosed).toBe(false)
      await console.page.getByTestId('confirm').click()
      expect(await ada.closed).toMatchObject({ code: 4403 })
      await console.waitFor('notice', 'role:member saved')
      expect(bob.isClosed).toBe(false)
    })

    test('rules that the server would refuse are refused while they are typed', async () => {
      await console.goTo('users?name=role:member')
      await console.page.getByTestId('rules').fill('off +nosuchcommand')
      await console.waitFor('problem', 'nosuchcommand')
      await console.page.getByTestId('rules').fill('off &news:* +subscribe &user:{nosuch}')
      await console.waitFor('problem', '{nosuch}')
    })

    test('a user is made, asked about, and deleted', async () => {
      await console.goTo('users')
      await console.button('New').click()
      await console.page.getByLabel('Name', { exact: true }).fill('backend')
      await console.page.getByTestId('rules').fill('on >word resetchannels &jobs:*\n-@all +publish')
      await console.page.getByTestId('save-user').click()
      await console.waitFor('commands', 'ACL SETUSER backend reset on >(password) resetchannels')
      await console.page.getByTestId('confirm').click()
      await console.row('backend').waitFor()
      terminal.command('AUTH', 'backend', 'word')
      await terminal.takeUntil('+OK\r\n')

      const box = console.page.locator('form').filter({ hasText: 'Dry run' })
      await box.getByLabel('User').fill('backend')
      await box.getByLabel('Command').fill('publish jobs:1 payload')
      await console.button('Dry run').click()
      await console.waitFor('dry-run', 'OK')
      await box.getByLabel('Command').fill('publish other payload')
      await console.button('Dry run').click()
      await console.waitFor('dry-run', "has no permissions to access the 'other' channel")

      await console.row('backend').getByText('backend').click()
      await console.button('Delete').click()
      await console.waitFor('affected', '1 live connection')
      await console.page.getByTestId('confirm').click()
      await terminal.closed
      await console.row('backend').waitFor({ state: 'detached' })
    })
  })

  describe('tokens', () => {
    shareConsole()

    test('a token is explained: who, what it may do, and why not', async () => {
      const token = await server.mint('ada', { roles: ['member'], deny: ['news:secret'] })
      await console.goTo('tokens')
      await console.page.getByTestId('token').fill(token)
      await console.button('Explain the token').click()
      await console.waitFor('explanation', 'This token logs in')
      await console.waitFor('explanation', 'jwt:ada')
      await console.waitFor('explanation', '&user:ada:*')
      await console.page.getByLabel('Channel or pattern').fill('news:secret')
      await console.button('Ask').click()
      await console.waitFor('verdicts', 'deny news:secret')
      await console.page.getByLabel('Channel or pattern').fill('news:sport')
      await console.button('Ask').click()
      await console.waitFor('verdicts', 'by &news:* of role member')
      const verdicts = console.page.getByTestId('verdicts')
      expect(await verdicts.locator('[data-allowed=true]').count()).toBe(2)
      expect(await verdicts.locator('[data-command=publish]').textContent()).toContain('refused')

      await console.page.keyboard.press('Escape')
      await console.button('Log').click()
      const logged = await console.loggedCommands()
      expect(logged).toContain('TOKEN EXPLAIN (token)')
      expect(logged.join('\n')).not.toContain(token)
    })

    test('a token that is refused says what is wrong with it', async () => {
      const token = await server.mint('ada', {}, { lifetimeSeconds: -60 })
      await console.goTo('tokens')
      await console.page.getByTestId('token').fill(token)
      await console.button('Explain the token').click()
      await console.waitFor('explanation', 'This token is refused')
      await console.waitFor('explanation', 'expired')
    })

    test('a revocation is previewed, confirmed, listed, and undone', async () => {
      const ada = await bed.subscribe('ada', 'news:sport')
      const bob = await bed.subscribe('bob', 'news:sport')
      await console.goTo('revocations')
      await console.page.getByLabel('Subject', { exact: true }).fill('ada')
      await console.page.getByLabel('Reason, for the audit log').fill('left the company')
      await console.button('Preview').click()
      await console.waitFor('preview', '1 live connection affected')
      await console.waitFor('preview', 'jwt:ada')
      expect(ada.isClosed).toBe(false)

      await console.page.getByTestId('revoke').click()
      await console.waitFor('commands', 'TOKEN REVOKE SUB ada REASON "left the company"')
      await console.page.getByTestId('confirm').click()
      expect(await ada.closed).toMatchObject({ code: 4403 })
      await console.waitFor('notice', 'Revoked; it hit 1 live connection')
      expect(bob.isClosed).toBe(false)

      await console.row('1').getByText('ada').waitFor()
      await console.button('Undo revocation 1').click()
      await console.page.getByTestId('confirm').click()
      await console.row('1').waitFor({ state: 'detached' })
      await bed.subscribe('ada', 'news:sport')

      await console.goTo('audit')
      await console.page.getByText('unrevoke').waitFor()
      await console.page.getByText('left the company').first().waitFor()
    })

    test('channels are taken back from one subject', async () => {
      const ada = await bed.subscribe('ada', 'news:sport')
      await console.goTo('revocations')
      await console.page.getByLabel('Revoke', { exact: true }).selectOption('CHANNEL')
      await console.page.getByLabel('Channel pattern').fill('news:*')
      await console.page.getByLabel('From whom').selectOption('SUB')
      await console.page.getByLabel('Name', { exact: true }).fill('ada')
      await console.waitFor('commands', 'TOKEN REVOKE CHANNEL news:* FOR SUB ada TTL 3600')
      await console.page.getByTestId('revoke').click()
      await console.waitFor('affected', '1 live connection')
      await console.page.getByTestId('confirm').click()
      expect(await ada.closed).toMatchObject({ code: 4403 })
    })
  })

  describe('messages', () => {
    shareConsole()

    test('what is published in the console reaches a subscriber and the tail', async () => {
      const ada = await bed.subscribe('ada', 'news:sport')
      await console.goTo('tail')
      await console.page.getByLabel('Name', { exact: true }).fill('news:*')
      await console.button('Listen').click()
      await console.waitFor('tail-status', 'Listening to pattern news:*')
      await console.goTo('publish')
      await console.page.getByLabel('Name', { exact: true }).fill('news:sport')
      await console.page.getByLabel('Message', { exact: true }).fill('{"goals":2}')
      await console.page
        .getByTestId('view-publish')
        .getByText('Publish', { exact: true })
        .last()
        .click()
      await console.waitFor('published', '2 receivers')
      await ada.takeUntil('news:sport\r\n$11\r\n{"goals":2}\r\n')

      await console.goTo('tail')
      await console.waitFor('message', '{"goals":2}')
      await console.button('Hex').click()
      await console.waitFor('message', '7b 22 67 6f 61 6c 73 22 3a 32 7d')
      await console.button('JSON').click()
      await console.waitFor('message', '"goals": 2')
      await console.button('Stop').click()
      expect(console.complaints).toEqual([])
    })

    test('a tail is bounded, pauses, and stops', async () => {
      await console.goTo('tail')
      await console.button('Listen').click()
      await console.waitFor('tail-status', 'Listening')
      for (let at = 1; at <= 300; at++)
        terminal.command('PUBLISH', 'news:a', `message ${at} of 300`)
      await terminal.take(300 * ':1\r\n'.length)
      await console.waitFor('message', 'message 300 of 300')
      await console.waitFor('tail-count', '300, the newest 200 are kept')
      expect(await console.page.getByTestId('message').count()).toBe(200)

      await console.button('Pause').click()
      await bed.publish('news:a', 'while paused')
      await console.button('Resume (1 new)').click()
      await console.waitFor('message', 'while paused')

      await console.button('Stop').click()
      await expect.poll(() => server.core.registry.patternCount).toBe(0)
    })

    test('a channel is tailed from the list of channels, whatever its bytes', async () => {
      terminal.command('SUBSCRIBE', '\xff\x00')
      await terminal.takeUntil(':1\r\n')
      await console.goTo('channels')
      await console.button(String.raw`Tail \xff\x00`).click()
      await console.waitFor('tail-status', String.raw`Listening to channel \xff\x00`)
      await expect
        .poll(() => [...server.core.registry.subscribersOf('channel', '\xff\x00')].length)
        .toBe(2)
    })
  })

  describe('server', () => {
    shareConsole()

    test('a live directive is changed, and one of the start is not', async () => {
      await console.goTo('configuration')
      await console.page.getByRole('searchbox').fill('ws-max-subscriptions')
      await console.row('ws-max-subscriptions').click()
      await console.page.getByTestId('directive-value').fill('99')
      await console.waitFor('commands', 'CONFIG SET ws-max-subscriptions 99')
      await console.button('Set').click()
      await console.row('ws-max-subscriptions').getByText('99').waitFor()
      expect(server.core.config.integer('ws-max-subscriptions')).toBe(99)

      await console.goTo('configuration?name=port')
      await console.page.getByText('It is read at start').waitFor()
    })

    test('health shows what /readyz says, and INFO', async () => {
      await console.goTo('health')
      await console.waitFor('readiness', 'Ready')
      await console.page.getByText('respcast_version').waitFor({ state: 'attached' })
      expect(await console.page.getByTestId('upstream').count()).toBe(0)
    })

    test('the overview warns while the upstream is not ready, and no longer', async () => {
      const { core } = server
      const { backplane } = core
      const put = (problems: readonly string[]): void =>
        void Object.assign(core, {
          backplane: withUpstream({ links: SOME_LINKS, problems })(core.registry),
        })
      put(['2 of 3 names are not confirmed'])
      await console.goTo('overview')
      await console.waitFor('upstream-warning', '2 of 3 names are not confirmed')
      await console.page.getByRole('link', { name: 'Its links' }).click()
      await console.waitFor('upstream', /subscriber127\.0\.0\.1:6379up/)
      await console.waitFor('upstream', /command\[::1\]:6379down/)
      put([])
      await console.goTo('overview')
      await console.waitFor('tiles', 'Published')
      await expect.poll(() => console.page.getByTestId('upstream-warning').count()).toBe(0)
      Object.assign(core, { backplane })
    })
  })

  describe('the page', () => {
    shareConsole()

    test('the keyboard leads everywhere', async () => {
      await console.page.keyboard.press('?')
      await console.waitFor('shortcuts', 'Token inspector')
      await console.page.keyboard.press('Escape')
      await console.page.keyboard.press('g')
      await console.page.keyboard.press('u')
      await console.page.getByTestId('view-users').waitFor()
      await console.page.keyboard.press('/')
      await console.page.keyboard.type('member')
      await console.page.getByText('1 of 3').waitFor()
      await console.page.getByRole('grid').focus()
      await console.page.keyboard.press('Enter')
      await console.page.getByTestId('rules').waitFor()
    })

    test('a view begins at its head, in a low window too', async () => {
      await console.page.setViewportSize({ width: 1_200, height: 420 })
      await console.goTo('configuration')
      await console.row('acl-autosave').waitFor()
      expect(await console.page.evaluate('scrollY')).toBe(0)
      expect(await console.page.evaluate('document.activeElement.textContent')).toBe(
        'Configuration',
      )
    })

    test('a table of 10,000 channels is scrolled, filtered and sorted, with few rows in the page', async () => {
      const names = Array.from(
        { length: 10_000 },
        (_name, at) => `room:${String(at).padStart(5, '0')}`,
      )
      terminal.command('SUBSCRIBE', ...names)
      await terminal.takeUntil(':10000\r\n')
      await console.goTo('channels')
      await console.page.getByText('10,000').first().waitFor()
      const rows = console.page.locator('[role=row][data-key]')
      expect(await rows.count()).toBeLessThan(60)
      await console.page.getByRole('grid').focus()
      await console.page.keyboard.press('End')
      await console.row('room:09999').waitFor()
      await console.page.getByRole('searchbox').fill('room:0777')
      await console.page.getByText('10 of 10,000').waitFor()
      await console.button('Channel').click()
      await console.row('room:07770').waitFor()
    })
  })
})
