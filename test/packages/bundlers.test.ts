import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canRunBrowser, launchChromium } from '../browser/chromium.ts'
import { folderWith } from '../support/folder.ts'
import { installPacked, pageProgram, pinned, run } from '../support/packaged.ts'
import { connectionsOfTwoTabs } from '../support/two-tabs.ts'

const BUNDLERS = ['next@16.4.6', 'webpack@5.113.0']

/** A page of Next.js; it also shows that a server component may import the hooks. */
const LAYOUT = `
  import { RespcastProvider } from 'respcast-client/react'
  export const metadata = { title: typeof RespcastProvider }
  export default function Layout({ children }) {
    return <html><body>{children}</body></html>
  }
`

const PAGE = `
  'use client'
  import { useEffect } from 'react'
  import { useChannel } from 'respcast/react'
  export default function Page() {
    useEffect(() => void import('./program.js'), [])
    return <p>{typeof useChannel}</p>
  }
`

describe.runIf(canRunBrowser)('an application with `share: tabs` shares one connection', () => {
  let folder: string
  let browser: Browser

  beforeAll(async () => {
    folder = folderWith({}, afterAll)
    await installPacked(folder, [...BUNDLERS, ...pinned('react', 'react-dom')])
    for (const name of [...BUNDLERS, 'react@'].map((bundler) => bundler.split('@')[0] ?? '')) {
      const manifest = join(folder, 'node_modules', name, 'package.json')
      console.log(name, (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version)
    }
    browser = await launchChromium()
  })

  afterAll(async () => {
    await browser?.close()
  })

  test.each(['respcast/client', 'respcast-client'])('built by webpack with %s', async (library) => {
    const out = join(folder, 'webpack')
    writeFileSync(join(folder, 'main.js'), pageProgram(library))
    writeFileSync(
      join(folder, 'build.cjs'),
      `require('webpack')({
        mode: 'production',
        context: ${JSON.stringify(folder)},
        entry: './main.js',
        output: { path: ${JSON.stringify(out)}, publicPath: '/', clean: true },
      }, (error, stats) => {
        console.log(error ?? stats.toString('errors-warnings'))
        process.exitCode = error || stats.hasErrors() || stats.hasWarnings() ? 1 : 0
      })`,
    )
    await run(folder, process.execPath, ['build.cjs'])
    writeFileSync(
      join(out, 'index.html'),
      '<!doctype html><title>none</title><script src="/main.js"></script>',
    )
    expect(await connectionsOfTwoTabs(browser, out)).toBe(1)
  })

  test.each(['turbopack', 'webpack'])('built by Next.js with %s', async (bundler) => {
    const app = join(folder, 'app')
    const out = `out-${bundler}`
    mkdirSync(app, { recursive: true })
    writeFileSync(join(app, 'layout.jsx'), LAYOUT)
    writeFileSync(join(app, 'page.jsx'), PAGE)
    writeFileSync(join(app, 'program.js'), pageProgram('respcast/client'))
    writeFileSync(
      join(folder, 'next.config.mjs'),
      `export default { output: 'export', distDir: '${out}' }`,
    )
    const next = join(folder, 'node_modules/.bin/next')
    await run(folder, next, ['build', `--${bundler}`], {
      ...process.env,
      // The runner's own would have React's development build rendered.
      NODE_ENV: 'production',
      NEXT_TELEMETRY_DISABLED: '1',
    })
    expect(await connectionsOfTwoTabs(browser, join(folder, out))).toBe(1)
  })
})
