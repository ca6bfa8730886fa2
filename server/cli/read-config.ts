import { loadConfig } from '../config/load.ts'
import { Config } from '../config/store.ts'
import { prepareDevProfile, type DevProfile } from './dev-profile.ts'

/**
 * Reads the configuration of file, environment and command line; where there is none, that of the development profile.
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
  return { config: new Config(loadConfig({ ...input, argv: dev.argv })), dev }
}
