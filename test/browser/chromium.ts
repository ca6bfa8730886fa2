import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium } from 'playwright-core'
import type { Browser, BrowserServer, LaunchOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, inject } from 'vitest'

/** The browser that `CHROMIUM_PATH` names, else the first `chromium` on PATH; undefined if there is none. */
function findChromium(): string | undefined {
  const named = process.env['CHROMIUM_PATH']
  if (named !== undefined && named !== '') return named
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.map((folder) => join(folder, 'chromium')).find((path) => isExecutable(path))
}

/** Browser tests run where there is a browser. On a build machine (`CI=true`) a missing one is a failure. */
export const canRunBrowser = findChromium() !== undefined || process.env['CI'] === 'true'

/** Starts Chromium without a window. Close it, whatever happens. @param args More of its command line. */
export async function launchChromium(...args: readonly string[]): Promise<Browser> {
  const options = chromiumOptions()
  return chromium.launch({ ...options, args: [...(options.args ?? []), ...args] })
}

/** Starts a Chromium that several processes share. Close it, whatever happens. */
export async function serveChromium(): Promise<BrowserServer> {
  return chromium.launchServer(chromiumOptions())
}

function chromiumOptions(): LaunchOptions {
  const executablePath = findChromium()
  if (executablePath === undefined) {
    throw new Error('There is no Chromium: install it, or name it in CHROMIUM_PATH')
  }
  return {
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
  }
}

/**
 * Tests in Chromium. They are skipped where there is none.
 *
 * @param tests Registers them; `browser` gives the browser while they run.
 */
export function describeInChromium(name: string, tests: (browser: () => Browser) => void): void {
  const address = inject('chromium')
  describe.skipIf(address === undefined)(name, () => {
    let browser: Browser
    beforeAll(async () => {
      browser = await chromium.connect(address ?? '')
    })
    afterAll(async () => {
      await browser?.close()
    })
    tests(() => browser)
  })
}

/** Collects the errors of a page: uncaught ones, and those of its console, such as violations of its policy. */
export function complaintsOf(page: Page): string[] {
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  return complaints
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
