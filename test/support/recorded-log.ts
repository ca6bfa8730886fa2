import { logTo, type Logger } from '../../server/log.ts'

/** One line of a log, as it was written. */
export interface LogLine {
  readonly level: string
  readonly msg: string
  readonly [field: string]: unknown
}

/** A log at its lowest level, and the lines that were written to it. */
export function recordedLog(): { readonly log: Logger; readonly lines: LogLine[] } {
  const lines: LogLine[] = []
  const log = logTo('debug', {
    write: (line) => void lines.push(JSON.parse(line) as LogLine),
  })
  return { log, lines }
}
