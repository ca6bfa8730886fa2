import { destination, pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino'
import { utf8Length } from '../shared/bytes.ts'
import { escapeInvisible } from '../shared/words.ts'
import type { Clock } from './clock.ts'
import { LogFile } from './log-file.ts'

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

/** A log that was opened by its name. */
interface OpenLog {
  readonly log: Logger
  /** Opens its file anew, as after a rotation; on standard output it does nothing. */
  readonly reopen: () => void
}

/**
 * Opens the log.
 *
 * @param file Path; empty for standard output.
 * @throws The system's error if the file cannot be opened.
 */
export function openLog(level: LogLevel, file: string, clock: Clock): OpenLog {
  if (file === '') {
    return { log: logTo(level, destination({ dest: 1, sync: true })), reopen: () => {} }
  }
  const target = new LogFile(file, clock)
  const log = logTo(level, target)
  const reopen = (): void => {
    try {
      target.reopen()
    } catch (error) {
      log.error({ err: error }, 'logfile cannot be reopened; the file before it is still written')
    }
  }
  return { log, reopen }
}

/** A log that writes its lines to `stream`, with every text of a field {@link shown}. */
export function logTo(level: LogLevel, stream: DestinationStream): Logger {
  const options = {
    level: LEVELS[level],
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }), log: shownFields },
  }
  return pino(options, stream)
}

/** Changes the level of the log. */
export function setLogLevel(log: Logger, level: LogLevel): void {
  log.level = LEVELS[level]
}

/** A log that writes nothing. */
export function silentLog(): Logger {
  return pino({ level: 'silent' })
}

/** Most bytes of a text in a log line, its mark included. */
const SHOWN_BYTES = 256

/** Ends a text that was cut. */
const CUT_MARK = '…'

/** Replaces a peer's words in the log under `hide-user-data-from-log`. */
const HIDDEN = '(hidden)'

/**
 * A text for the log: controls escaped, cut to 256 bytes of UTF-8 with a mark. Applied twice it changes nothing more.
 *
 * @param isHidden The directive `hide-user-data-from-log`.
 */
export function shown(text: string, isHidden = false): string {
  if (isHidden) return HIDDEN
  const escaped = escapeInvisible(text.slice(0, SHOWN_BYTES + 1))
  if (utf8Length(escaped) <= SHOWN_BYTES) return escaped
  let kept = ''
  let bytes = utf8Length(CUT_MARK)
  for (const character of escaped) {
    bytes += utf8Length(character)
    if (bytes > SHOWN_BYTES) break
    kept += character
  }
  return kept + CUT_MARK
}

/** The fields of a line with their texts {@link shown}. Errors stay as they are: they are the server's own. */
function shownFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string') result[name] = shown(value)
    else if (Array.isArray(value)) result[name] = value.map(shownItem)
    else result[name] = value
  }
  return result
}

function shownItem(item: unknown): unknown {
  return typeof item === 'string' ? shown(item) : item
}

/** A kind of line that peers can cause: its level, and its text. */
interface PeerLine {
  readonly level: 'warn' | 'info' | 'debug'
  readonly text: string
}

/**
 * Every line that a peer can cause, by kind. What administrators do, revocations and failures of the server itself are
 * never left out, so they are written to the {@link Logger}.
 */
export const PEER_LINES = {
  connectionRejected: { level: 'debug', text: 'connection rejected' },
  connectionRate: {
    level: 'warn',
    text: 'connections refused: one address opens them too fast (http-connection-rate-per-ip, tcp-connection-rate-per-ip)',
  },
  proxyHeader: {
    level: 'warn',
    text: 'connection refused: no PROXY header of a trusted proxy (proxy-protocol, trusted-proxies)',
  },
  handshakeFailed: { level: 'debug', text: 'TLS handshake failed' },
  originRefused: {
    level: 'warn',
    text: 'origin refused; to allow it add it to ws-allowed-origins',
  },
  listenerUndeclared: {
    level: 'warn',
    text: 'WebSocket refused: it came in beyond loopback, and http-bind says that the listener does not go there',
  },
  crossProtocol: {
    level: 'warn',
    text: 'HTTP, TLS or a PROXY header on a RESP port: a page in a browser may be trying to send commands, or a proxy needs proxy-protocol yes',
  },
  protocolError: { level: 'debug', text: 'protocol error' },
  tokenAccepted: { level: 'debug', text: 'token accepted' },
  tokenRefused: { level: 'info', text: 'token refused' },
  failedLogins: {
    level: 'warn',
    text: 'many failed logins from one address; further ones wait for auth-failure-delay',
  },
  outputLimit: { level: 'warn', text: 'client closed for overcoming of output buffer limits' },
  evicted: { level: 'info', text: 'evicting client' },
  upstreamRefusesPublish: { level: 'warn', text: 'the upstream refuses a publish' },
  upstreamRefusesSubscription: { level: 'warn', text: 'the upstream refuses a subscription' },
  patternsWidened: {
    level: 'warn',
    text: 'upstream-max-covers: patterns are widened upstream, or no longer',
  },
  clientClosed: { level: 'debug', text: 'client closed' },
} as const satisfies Record<string, PeerLine>

/** One of {@link PEER_LINES}. */
type PeerLineName = keyof typeof PEER_LINES

/** The fields of a line that a peer causes. */
export type PeerFields = Readonly<Record<string, string | number | undefined>>

/** Most lines of one kind in a period. */
const LINES = 10

/** The first period of a kind, in ms; and the period after one that left lines out. */
const PERIOD_MS = 1_000
const FLOOD_PERIOD_MS = 10_000

/** What is known of a kind in its current period. */
interface Period {
  /** Monotonic milliseconds. */
  startMs: number
  lengthMs: number
  written: number
  leftOut: number
}

/**
 * The lines that peers cause, sampled by kind: ten in a second, and while there are more, ten in every ten seconds. A
 * period that left lines out ends with one line that says how many.
 */
export class PeerLog {
  readonly #log: Logger
  readonly #clock: Clock
  readonly #periods = new Map<PeerLineName, Period>()

  constructor(log: Logger, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  /** @param fields Called only if the line is written. */
  write(name: PeerLineName, fields: () => PeerFields): void {
    const { level, text } = PEER_LINES[name]
    if (!this.#log.isLevelEnabled(level)) return
    const period = this.#periodOf(name)
    if (period.written < LINES) {
      period.written++
      this.#log[level](shownFields(fields()), text)
    } else if (period.leftOut++ === 0) {
      const restMs = period.startMs + period.lengthMs - this.#clock.monotonicMs()
      this.#clock.after(restMs, () => this.#end(name, period))
    }
  }

  /** Says what was left out until now: the server stops. */
  flush(): void {
    for (const [name, period] of this.#periods) this.#end(name, period)
  }

  #periodOf(name: PeerLineName): Period {
    const nowMs = this.#clock.monotonicMs()
    const current = this.#periods.get(name)
    const isOver = !current || nowMs >= current.startMs + current.lengthMs
    // A period that left lines out ends by its timer, however late that is.
    if (current && (!isOver || current.leftOut > 0)) return current
    return this.#begin(name, PERIOD_MS)
  }

  #begin(name: PeerLineName, lengthMs: number): Period {
    const period = { startMs: this.#clock.monotonicMs(), lengthMs, written: 0, leftOut: 0 }
    this.#periods.set(name, period)
    return period
  }

  #end(name: PeerLineName, period: Period): void {
    const { leftOut, startMs } = period
    if (leftOut === 0) return
    period.leftOut = 0
    const { level, text } = PEER_LINES[name]
    const seconds = Math.round((this.#clock.monotonicMs() - startMs) / 100) / 10
    this.#log[level]({ like: text, leftOut, seconds }, 'more lines of this kind were left out')
    this.#begin(name, FLOOD_PERIOD_MS)
  }
}
