import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { TestGateway } from '../support/server.ts'
import { complaintsOf } from './chromium.ts'

/** The operator of the tests: may do everything. */
export const ADMIN = ['admin', 'on', '>secret', '~*', '&*', '+@all'] as const

/** A role that tokens name. */
export const MEMBER = [
  'role:member',
  'off',
  'resetchannels',
  '-@all',
  '(resetchannels -@all +subscribe +psubscribe +ssubscribe &news:* &user:{sub}:*)',
  '(resetchannels -@all +publish +spublish &typing:{sub})',
] as const

/** A server, in this process or another one, with a listener for administrators on 127.0.0.1. */
type Administered = Pick<TestGateway, 'adminPort'>

/** The console in a browser, and what a test does with it. */
export class ConsolePage {
  readonly page: Page
  /** Errors that the page had: of its scripts, and of its policy. */
  readonly complaints: readonly string[]
  readonly #server: Administered

  constructor(page: Page, server: Administered) {
    this.page = page
    this.complaints = complaintsOf(page)
    this.#server = server
    page.setDefaultTimeout(15_000)
  }

  /** Opens the console, without logging in. */
  async open(): Promise<void> {
    await this.page.goto(`http://127.0.0.1:${this.#server.adminPort}/`)
  }

  async logIn(user = 'admin', password = 'secret'): Promise<void> {
    await this.open()
    await this.page.getByLabel('User').fill(user)
    await this.page.getByLabel('Password').fill(password)
    await this.page.getByRole('button', { name: 'Log in' }).click()
  }

  /** Goes to a view by its address, and shows it anew: what is open is closed first. */
  async goTo(view: string): Promise<void> {
    const { page } = this
    const dialogs = page.locator('dialog[open]')
    for (let open = await dialogs.count(); open > 0; open--) {
      await page.keyboard.press('Escape')
      await expect.poll(() => dialogs.count()).toBe(open - 1)
    }
    if (await page.getByTestId('log').isVisible()) await this.button('Close the log').click()
    const name = view.replace(/\?.*$/, '')
    if (await page.getByTestId(`view-${name}`).isVisible()) {
      await this.#show(name === 'publish' ? 'tail' : 'publish')
    }
    await this.#show(view)
  }

  async #show(view: string): Promise<void> {
    await this.page.evaluate(`location.hash = ${JSON.stringify(`#/${view}`)}`)
    await this.page.getByTestId(`view-${view.replace(/\?.*$/, '')}`).waitFor()
  }

  /** Waits until an element of that test id shows the text. */
  async waitFor(testId: string, text: string | RegExp): Promise<void> {
    await this.page.getByTestId(testId).filter({ hasText: text }).first().waitFor()
  }

  /** Notes each state of the connection from now on, however short. @returns Gives what has been noted. */
  async noteStates(): Promise<() => Promise<string[]>> {
    await this.page.evaluate(`
      const status = document.querySelector('[data-testid=status]')
      window.states = []
      new MutationObserver(() => window.states.push(status.dataset.status)).observe(status, { attributeFilter: ['data-status'] })
    `)
    return async () => this.page.evaluate<string[]>('window.states')
  }

  /** The row of a table. */
  row(key: string): ReturnType<Page['locator']> {
    return this.page.locator(`[role=row][data-key="${key}"]`)
  }

  button(name: string): ReturnType<Page['locator']> {
    return this.page.getByRole('button', { name, exact: true })
  }

  /** Commands that the log shows, newest first. */
  async loggedCommands(): Promise<string[]> {
    return this.page.getByTestId('log').locator('summary code').allTextContents()
  }

  /** Findings of axe that are serious or critical, each with its elements. */
  async seriousFindings(): Promise<string[]> {
    if (await this.page.evaluate('globalThis.axe === undefined')) {
      await this.page.evaluate(axe.source)
    }
    const { violations } = await this.page.evaluate<axe.AxeResults>(
      `axe.run({ resultTypes: ['violations'] })`,
    )
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  }

  /** The width that the page needs. Pixels. */
  async neededWidth(): Promise<number> {
    return Number(await this.page.evaluate('document.documentElement.scrollWidth'))
  }
}

/** Opens a tab for the console. */
export async function openConsole(
  browser: Browser,
  server: Administered,
  options: Parameters<Browser['newPage']>[0] = {},
): Promise<ConsolePage> {
  return new ConsolePage(await browser.newPage(options), server)
}
