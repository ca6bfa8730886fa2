import type { Clock, Timer } from '../../clock.ts'
import type { Request } from '../../resp/request.ts'
import { parseInteger, parseTimeout } from '../arguments.ts'
import type { CommandContext } from '../context.ts'
import { NOT_AN_INTEGER, subcommandArity } from '../error-texts.ts'
import type { Command } from '../table.ts'
import type { QueuedCommand } from '../transaction.ts'

/** Commands that CLIENT PAUSE holds: those that may change something for others, or all. */
type PauseMode = 'write' | 'all'

/** Holds commands, unanswered and in their order, until CLIENT PAUSE is over. */
export class Pause {
  readonly #clock: Clock
  #untilMs = 0
  #mode: PauseMode = 'write'
  #waiting: (() => void)[] = []
  #timer: Timer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Number of commands that wait: INFO's `blocked_clients`. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Begins a pause; one in force is only made longer and stricter. */
  begin(durationMs: number, mode: PauseMode): void {
    const active = this.#isActive()
    this.#untilMs = Math.max(active ? this.#untilMs : 0, this.#clock.monotonicMs() + durationMs)
    this.#mode = active && this.#mode === 'all' ? 'all' : mode
    this.#arm()
  }

  end(): void {
    this.#untilMs = 0
    this.#timer?.cancel()
    this.#release()
  }

  /** Reports whether a command has to wait. @param queued Commands of the transaction that EXEC would run. */
  holds(command: Command, queued: readonly QueuedCommand[] | undefined): boolean {
    if (!this.#isActive()) return false
    if (this.#mode === 'all' || command.replicates) return true
    if (command.spec.name !== 'exec') return false
    return queued?.some((one) => one.command.replicates) ?? false
  }

  /** Settles when the pause is over. */
  over(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #isActive(): boolean {
    return this.#untilMs > 0 && this.#clock.monotonicMs() < this.#untilMs
  }

  #arm(): void {
    const leftMs = Math.ceil(this.#untilMs - this.#clock.monotonicMs())
    this.#timer?.cancel()
    this.#timer = this.#clock.after(leftMs, () => {
      // A timer may fire a little early.
      if (this.#isActive()) this.#arm()
      else this.#release()
    })
  }

  #release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

/** CLIENT PAUSE milliseconds [WRITE|ALL]. */
export function pause({ reply, server }: CommandContext, request: Request): void {
  if (request.count > 4) {
    reply.error(subcommandArity(request))
    return
  }
  const word = request.count === 4 ? request.text(3).toLowerCase() : 'all'
  const milliseconds = parseTimeout(request.text(2), server.clock.wallMs())
  if (word !== 'write' && word !== 'all') {
    reply.error('ERR CLIENT PAUSE mode must be WRITE or ALL')
  } else if (typeof milliseconds === 'string') {
    reply.error(milliseconds)
  } else {
    server.pause.begin(milliseconds, word)
    reply.ok()
  }
}

/** CLIENT UNBLOCK id [TIMEOUT|ERROR]: no command of this server blocks. */
export function unblock({ reply }: CommandContext, request: Request): void {
  if (request.count > 4) {
    reply.error(subcommandArity(request))
    return
  }
  const word = request.count === 4 ? request.text(3).toLowerCase() : 'timeout'
  if (word !== 'timeout' && word !== 'error') {
    reply.error('ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR')
  } else if (parseInteger(request.text(2)) === undefined) {
    reply.error(NOT_AN_INTEGER)
  } else {
    reply.integer(0)
  }
}
