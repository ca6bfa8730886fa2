import { signal } from '@preact/signals'
import type { ReadonlySignal } from '@preact/signals'

/** Source of a command: the operator, or an automatic refresh. */
export type CommandSource = 'user' | 'refresh'

/** One command that the page sent. */
export interface LogEntry {
  readonly id: number
  /** Milliseconds since 1970. */
  readonly atMs: number
  readonly source: CommandSource
  /** As typed into redis-cli. */
  readonly command: string
  /** `pending` while there is no reply. */
  readonly outcome: 'pending' | 'ok' | 'error'
  /** Time until the reply; undefined while there is none. */
  readonly tookMs: number | undefined
  readonly reply: string
}

/** Number of entries kept per source, so that automatic commands do not evict those of the operator. */
const MAX_ENTRIES = 200

/** Commands that the page sent, with their replies, newest last. */
export class CommandLog {
  readonly #entries = {
    user: signal<readonly LogEntry[]>([]),
    refresh: signal<readonly LogEntry[]>([]),
  }
  #lastId = 0

  /** The entries of one source. */
  of(source: CommandSource): ReadonlySignal<readonly LogEntry[]> {
    return this.#entries[source]
  }

  /**
   * Records a command.
   *
   * @returns Function that records the outcome.
   */
  begin(command: string, source: CommandSource): (outcome: 'ok' | 'error', reply: string) => void {
    const startedMs = performance.now()
    const id = ++this.#lastId
    const entries = this.#entries[source]
    const entry: LogEntry = {
      id,
      atMs: Date.now(),
      source,
      command,
      outcome: 'pending',
      tookMs: undefined,
      reply: '',
    }
    entries.value = [...entries.value.slice(1 - MAX_ENTRIES), entry]
    return (outcome, reply) => {
      const tookMs = performance.now() - startedMs
      entries.value = entries.value.map((each) =>
        each.id === id ? { ...each, outcome, reply, tookMs } : each,
      )
    }
  }

  clear(): void {
    this.#entries.user.value = []
    this.#entries.refresh.value = []
  }
}
