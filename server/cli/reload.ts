import { loadConfig, type LoadInput } from '../config/load.ts'
import type { Config } from '../config/store.ts'
import { RespcastError } from '../errors.ts'
import type { Logger } from '../log.ts'

/**
 * Reads the configuration again (SIGHUP): its file, and the environment and the command line as they were at start. What is live is
 * put in force, all of it or nothing; what is read at start only is named in the log. Key files and certificates are read again.
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
