import type { Clock } from '../../clock.ts'
import type { Config } from '../../config/store.ts'
import type { Logger } from '../../log.ts'
import { AuditLog } from './audit.ts'
import { RevocationTable } from './table.ts'

/** Revocations and the files in which they survive. */
export interface Revocations {
  readonly table: RevocationTable
  readonly audit: AuditLog
  /**
   * Reads what is in force.
   *
   * @param mustBeWritable Tokens can log in.
   * @throws RespcastError `ERR_DATA_DIR`: a file cannot be used.
   */
  open(mustBeWritable: boolean): Promise<void>
}

/** Builds the files of revocations in `dir`; none is touched before they are opened. */
export function createRevocations(config: Config, clock: Clock, log: Logger): Revocations {
  const path = config.path('token-log-file')
  const table = new RevocationTable({
    clock,
    path,
    onDurable: (isDurable, error) => {
      if (isDurable) log.info({ path }, 'revocations are durable again')
      else log.error({ err: error, path }, 'revocations are in force but not durable')
    },
  })
  const audit = new AuditLog({
    path: config.path('token-audit-file'),
    maxBytes: () => config.memory('token-audit-max'),
  })
  return {
    table,
    audit,
    open: async (mustBeWritable) => {
      await table.open(mustBeWritable)
      if (mustBeWritable) await audit.open()
      if (table.size > 0) log.info({ revocations: table.size }, 'revocations in force')
    },
  }
}
