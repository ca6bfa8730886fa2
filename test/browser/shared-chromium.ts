import type { TestProject } from 'vitest/node'
import { canRunBrowser, serveChromium } from './chromium.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the browser that all files share; undefined where there is none. */
    chromium: string | undefined
  }
}

/** Starts one Chromium for all files of the project. @returns Ends it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const chromium = canRunBrowser ? await serveChromium() : undefined
  project.provide('chromium', chromium?.wsEndpoint())
  return async () => chromium?.close()
}
