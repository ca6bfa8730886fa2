import { ConfigError } from '../../../server/config/parse.ts'
import { loadConfig } from '../../../server/config/load.ts'
import type { LoadInput } from '../../../server/config/load.ts'
import { Config } from '../../../server/config/store.ts'
import { folderWith } from '../../support/folder.ts'

/** The configuration that sources give; nothing but defaults without any. */
export function configOf(input: Partial<LoadInput> = {}): Config {
  return new Config(loadConfig({ argv: [], env: {}, cwd: '/', ...input }))
}

/** The configuration that a file with this text gives. */
export function configOfFile(
  text: string,
  argv: readonly string[] = [],
  env: LoadInput['env'] = {},
): Config {
  return configOf({
    argv: ['respcast.conf', ...argv],
    env,
    cwd: folderWith({ 'respcast.conf': text }),
  })
}

/** The error with which loading fails. */
export function failureOf(load: () => unknown): ConfigError {
  try {
    load()
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  throw new Error('the configuration was accepted')
}
