import { signal } from '@preact/signals'
import type { RespValue } from '../../../shared/resp/types.ts'
import { History } from './history.ts'
import { infoFields, parseInfo } from './info.ts'
import { textOf } from './reply.ts'
import type { Command } from './commands.ts'

const INTERVAL_MS = 1_000

/** Samples the figures of the server once a second, on every view: `PING` and `INFO clients stats upstream`. */
export class Sampler {
  readonly history = new History()
  /** Number of samples: components read it to be redrawn. */
  readonly version = signal(0)
  /** The last fields of INFO. */
  readonly fields = signal<ReadonlyMap<string, string>>(new Map())
  /** Error of the last sample; undefined if it succeeded. */
  readonly failure = signal<unknown>(undefined)
  readonly #send: (command: Command) => Promise<RespValue>
  #timer: ReturnType<typeof setTimeout> | undefined
  #running = false

  constructor(send: (command: Command) => Promise<RespValue>) {
    this.#send = send
  }

  start(): void {
    if (this.#running) return
    this.#running = true
    void this.#sample()
  }

  stop(): void {
    this.#running = false
    clearTimeout(this.#timer)
  }

  async #sample(): Promise<void> {
    const startedMs = performance.now()
    try {
      await this.#send(['PING'])
      const pingMs = performance.now() - startedMs
      const info = await this.#send(['INFO', 'clients', 'stats', 'upstream'])
      const fields = infoFields(parseInfo(textOf(info)))
      this.history.add(Date.now() / 1000, fields, pingMs)
      this.fields.value = fields
      this.failure.value = undefined
    } catch (error) {
      this.failure.value = error
    }
    this.version.value++
    const leftMs = startedMs + INTERVAL_MS - performance.now()
    if (this.#running) this.#timer = setTimeout(() => void this.#sample(), Math.max(leftMs, 100))
  }
}
