import type { Clock, Timer } from '../clock.ts'
import type { Command } from './spec.ts'

/** Which commands CLIENT PAUSE holds: those that may change something for others, or all. */
export type PauseMode = 'write' | 'all'

/** CLIENT PAUSE: commands wait, unanswered and in their order, until the pause is over. */
export class Pause {
  readonly #clock: Clock
  #untilMs = 0
  #mode: PauseMode = 'write'
  #waiting: (() => void)[] = []
  #timer: Timer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Commands that wait now: INFO's `blocked_clients`. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Pauses; a pause in force is only made longer and stricter. */
  begin(durationMs: number, mode: PauseMode): void {
    const active = this.#isActive()
    this.#untilMs = Math.max(active ? this.#untilMs : 0, this.#clock.monotonicMs() + durationMs)
    this.#mode = active && this.#mode === 'all' ? 'all' : mode
    this.#arm()
  }

  /** CLIENT UNPAUSE. */
  end(): void {
    this.#untilMs = 0
    this.#timer?.cancel()
    this.#release()
  }

  /**
   * Whether a command has to wait.
   *
   * @param queued The commands of the transaction that it executes.
   */
  holds(command: Command, queued: readonly { readonly spec: unknown }[] | undefined): boolean {
    if (!this.#isActive()) return false
    if (this.#mode === 'all' || command.replicates) return true
    if (command.spec.name !== 'exec') return false
    return queued?.some(({ spec }) => (spec as Command).replicates) ?? false
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
