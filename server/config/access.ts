import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { describeUser } from '../acl/describe.ts'
import type { UserTable } from '../acl/users.ts'
import type { Config } from './store.ts'
import type { Logger } from '../log.ts'

/** CONFIG REWRITE. @returns The error without its code, if any. */
export function rewriteConfigFile(
  config: Config,
  users: UserTable,
  log: Logger,
): string | undefined {
  if (config.file === undefined) return 'The server is running without a config file'
  try {
    const lines = config.text('aclfile') === '' ? users.list().map(describeUser) : []
    const text = readFileSync(config.file, 'latin1')
    const temporary = `${config.file}.tmp-${process.pid}`
    const usersText = lines.map((line) => line.replace(/^user /, ''))
    writeFileSync(temporary, config.rewrite(text, usersText), { encoding: 'latin1', flush: true })
    renameSync(temporary, config.file)
    return undefined
  } catch (error) {
    log.error({ err: error }, 'CONFIG REWRITE failed')
    return `Rewriting config file: ${(error as NodeJS.ErrnoException).code ?? 'failed'}`
  }
}
