import { systemClock } from '../clock.ts'
import { Core } from '../core.ts'
import { silentLog } from '../log.ts'
import type { Fetch } from '../token/verify/key-fetch.ts'
import { readConfig } from './read-config.ts'

/**
 * Runs something in a core without listeners, as a server with this configuration would have it; without a configuration that
 * of the development profile.
 *
 * @param argv `[file] [--directive value ...]`
 * @param fetchKeys Gets key sets from URLs.
 * @throws RespcastError The configuration cannot be used.
 */
export async function withOfflineCore<T>(
  argv: readonly string[],
  run: (core: Core) => T | Promise<T>,
  fetchKeys: Fetch = (url, init) => fetch(url, init),
): Promise<T> {
  const core = new Core({
    config: readConfig(argv).config,
    clock: systemClock,
    log: silentLog(),
    fetch: fetchKeys,
    random: Math.random,
    atEndOfTurn: () => {},
    shutdown: () => {},
  })
  try {
    await core.start({ readOnly: true })
    return await run(core)
  } finally {
    core.stop()
  }
}
