import type { Environment } from '../environment.ts'

/**
 * Loads `tabs.js`, which only clients with `share: 'tabs'` need, and shares a socket by it.
 *
 * The environment of the worker must not lead here: a worker that refers to the file that starts it has bundlers go in circles.
 */
export const loadTabs: NonNullable<Environment['shareTabs']> = (...args) =>
  import('./tabs.ts')
    .then(({ shareTabs }) => shareTabs(...args))
    // A file is missing, or the browser does not let it run: a connection of its own works as well.
    .catch(() => undefined)
