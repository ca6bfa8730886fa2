import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock.ts'
import type { Request } from '../../resp/request.ts'
import { REDACTED } from './monitor.ts'
import type { Command } from '../spec.ts'

/** How much of a command is kept. */
const KEPT_ARGUMENTS = 32
const KEPT_BYTES = 128

/** One slow command. */
export interface SlowLogEntry {
  readonly id: number
  /** Seconds since 1970. */
  readonly atSeconds: number
  readonly microseconds: number
  /** Byte strings, cut. */
  readonly args: readonly string[]
  readonly address: string
  readonly clientName: string
}

/** Directives of the slow log; changed under it at run time. */
export interface SlowLogSettings {
  /** `slowlog-log-slower-than` in microseconds; negative is off. */
  slowerThan: number
  /** `slowlog-max-len`. */
  maxLength: number
}

/** Commands that took long, newest first (SLOWLOG). */
export class SlowLog {
  readonly #settings: SlowLogSettings
  #entries: SlowLogEntry[] = []
  #nextId = 0

  readonly #clock: Clock

  constructor(settings: SlowLogSettings, clock: Clock) {
    this.#settings = settings
    this.#clock = clock
  }

  get length(): number {
    return this.#entries.length
  }

  /** Keeps a command if it took as long as the directive says. */
  note(client: Client, command: Command, request: Request, microseconds: number): void {
    const { slowerThan } = this.#settings
    if (slowerThan < 0 || microseconds < slowerThan) return
    if (command.spec.flags.includes('skip_slowlog')) return
    const { maxLength } = this.#settings
    if (maxLength > 0) {
      this.#entries.unshift({
        id: this.#nextId++,
        atSeconds: Math.floor(this.#clock.wallMs() / 1000),
        microseconds: Math.floor(microseconds),
        args: keptArguments(command, request),
        address: client.origin.address,
        clientName: client.name,
      })
    }
    if (this.#entries.length > maxLength) this.#entries.length = maxLength
  }

  /** The newest entries; -1 is all. */
  list(count: number): readonly SlowLogEntry[] {
    return count < 0 ? this.#entries : this.#entries.slice(0, count)
  }

  reset(): void {
    this.#entries = []
  }
}

function keptArguments(command: Command, request: Request): string[] {
  const args: string[] = []
  const most = request.count > KEPT_ARGUMENTS ? KEPT_ARGUMENTS - 1 : request.count
  for (let i = 0; i < most; i++) {
    if (command.spec.isSecret?.(request, i)) {
      args.push(REDACTED)
      continue
    }
    const text = request.text(i)
    const more = text.length - KEPT_BYTES
    args.push(more > 0 ? `${text.slice(0, KEPT_BYTES)}... (${more} more bytes)` : text)
  }
  if (most < request.count) args.push(`... (${request.count - most} more arguments)`)
  return args
}
