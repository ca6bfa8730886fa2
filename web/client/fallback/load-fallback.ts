import type { Environment } from '../environment.ts'

/** Loads `fallback.js`, which only clients with `transports: ['websocket', 'sse']` need. Never rejects. */
export const loadFallback: NonNullable<Environment['fallBack']> = (...args) =>
  import('./fallback.ts')
    .then(({ fallBack }) => fallBack(...args))
    // A file is missing: WebSockets may work as well.
    .catch(() => undefined)
