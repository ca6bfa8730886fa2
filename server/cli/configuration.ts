import { systemClock } from '../clock.ts'
import { loadConfig, type LoadInput } from '../config/load.ts'
import { Config } from '../config/store.ts'
import { Core } from '../core.ts'
import { RespcastError } from '../errors.ts'
import { silentLog, type Logger } from '../log.ts'
import type { Fetch } from '../token/verify/key-fetch.ts'
import { prepareDevProfile, type DevProfile } from './dev-profile.ts'

/**
 * Reads the configuration of file, environment and command line; without one, or with nothing but an upstream, that of the
 * development profile.
 *
 * @param argv `[file] [--directive value ...]`
 * @throws RespcastError The configuration cannot be used.
 */
export function readConfig(argv: readonly string[]): {
  readonly config: Config
  readonly dev: DevProfile | undefined
} {
  const input = { env: process.env, cwd: process.cwd() }
  const loaded = loadConfig({ ...input, argv })
  if (loaded.isConfigured) return { config: new Config(loaded), dev: undefined }
  const dev = prepareDevProfile(input.cwd)
  return { config: new Config(loadConfig({ ...input, argv: [...dev.argv, ...argv] })), dev }
}

/**
 * Reads the configuration again (SIGHUP): its file, and the environment and the command line as they were at start. Live directives are
 * put in force, all of them or none; those that are read at start only are named in the log. Key files and certificates are
 * read again.
 */
export function reloadConfiguration(config: Config, log: Logger, input: LoadInput): void {
  if (config.file === undefined) {
    log.warn('there is no configuration file to read again')
    return
  }
  let reloaded
  try {
    reloaded = config.reload(loadConfig(input))
  } catch (error) {
    if (!(error instanceof RespcastError)) throw error
    reloaded = error.message
  }
  if (typeof reloaded === 'string') {
    log.error({ reason: reloaded }, 'the configuration was not read again: nothing was changed')
    return
  }
  const { changed, atNextStart } = reloaded
  log.info({ changed }, 'the configuration was read again')
  if (atNextStart.length > 0) {
    log.warn({ directives: atNextStart }, 'directives that differ count from the next start on')
  }
}

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
    await core.stop()
  }
}
