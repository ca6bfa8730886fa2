import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { describeUser } from '../acl/describe.ts'
import type { UserTable } from '../acl/users.ts'
import type { ConfigAccess } from '../command/context.ts'
import type { Config } from './store.ts'
import { setLogLevel, type Logger } from '../log.ts'

/** CONFIG for commands, and what follows from a directive beyond its own part. */
export function configAccess(config: Config, users: UserTable, log: Logger): ConfigAccess {
  config.onChange(['requirepass'], (settings) => {
    users.requirePassword(settings.text('requirepass'))
    return undefined
  })
  config.onChange(['loglevel'], (settings) => {
    setLogLevel(log, settings.choice('loglevel'))
    return undefined
  })
  return {
    get: (patterns) => config.get(patterns),
    set: (pairs) => config.set(pairs.map(([name, value]) => [name, value] as const)),
    rewrite: () => {
      if (config.file === undefined) return 'The server is running without a config file'
      try {
        const lines = config.text('aclfile') === '' ? users.list().map(describeUser) : []
        const text = readFileSync(config.file, 'latin1')
        const temporary = `${config.file}.tmp-${process.pid}`
        const usersText = lines.map((line) => line.replace(/^user /, ''))
        writeFileSync(temporary, config.rewrite(text, usersText), {
          encoding: 'latin1',
          flush: true,
        })
        renameSync(temporary, config.file)
        return undefined
      } catch (error) {
        log.error({ err: error }, 'CONFIG REWRITE failed')
        return `Rewriting config file: ${(error as NodeJS.ErrnoException).code ?? 'failed'}`
      }
    },
  }
}
