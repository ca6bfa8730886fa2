import { destination, pino, stdTimeFunctions, type Logger } from 'pino'
import { hexEscape } from '../shared/words.ts'

/** The server's log: pino, JSON lines. */
export type { Logger } from 'pino'

/** Redis' `loglevel` in pino's words. */
const LEVELS = {
  debug: 'trace',
  verbose: 'debug',
  notice: 'info',
  warning: 'warn',
  nothing: 'silent',
} as const

/** The words of the directive `loglevel`. */
type LogLevel = keyof typeof LEVELS

/**
 * Opens the log.
 *
 * @param file Path; empty for standard output.
 */
export function openLog(level: LogLevel, file: string): Logger {
  const options = {
    level: LEVELS[level],
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  return pino(options, destination({ dest: file === '' ? 1 : file, sync: true, mkdir: false }))
}

/** Changes the level of the log. */
export function setLogLevel(log: Logger, level: LogLevel): void {
  log.level = LEVELS[level]
}

/** A log that writes nothing. */
export function silentLog(): Logger {
  return pino({ level: 'silent' })
}

/** Most characters of a peer's words in a log line. */
const SHOWN_CHARACTERS = 256

/** Replaces a peer's words in the log under `hide-user-data-from-log`. */
const HIDDEN = '(hidden)'

/**
 * A peer's words for the log: controls escaped, cut.
 *
 * @param isHidden The directive `hide-user-data-from-log`.
 */
export function shown(text: string, isHidden = false): string {
  if (isHidden) return HIDDEN
  return text.slice(0, SHOWN_CHARACTERS).replace(/[\u0000-\u001f\u007f-\u009f]/g, hexEscape)
}
