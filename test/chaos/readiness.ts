import { setTimeout as wait } from 'node:timers/promises'
import type { GatewayProcess } from '../support/topologies/gateway.ts'

const POLL_MS = 50

/** Polls `/readyz` of a gateway, and remembers each change. */
export class ReadinessWatch {
  /** Changes, in ms of `performance.now()`. */
  readonly changes: { readonly ms: number; readonly isReady: boolean; readonly body: string }[] = []
  /** The last answer that said why it is not ready. */
  lastProblem = ''
  readonly #ended: Promise<void>
  #isStopped = false

  constructor(gateway: GatewayProcess) {
    this.#ended = this.#run(gateway)
  }

  get isReady(): boolean {
    return this.changes.at(-1)?.isReady ?? false
  }

  /** The first time in ms, not before another, at which it was not ready; undefined if it was ready all the time. */
  firstUnready(sinceMs: number): number | undefined {
    const before = this.changes.findLast(({ ms }) => ms <= sinceMs)
    if (before && !before.isReady) return sinceMs
    return this.changes.find(({ ms, isReady }) => ms > sinceMs && !isReady)?.ms
  }

  /** The time in ms from which on it is ready; undefined if it is not. */
  get readySince(): number | undefined {
    const last = this.changes.at(-1)
    return last?.isReady ? last.ms : undefined
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#ended
  }

  async #run(gateway: GatewayProcess): Promise<void> {
    while (!this.#isStopped) {
      const { isReady, body } = await gateway
        .readiness()
        .catch(() => ({ isReady: false, body: 'no answer' }))
      if (!isReady) this.lastProblem = body
      if (isReady !== this.changes.at(-1)?.isReady)
        this.changes.push({ ms: performance.now(), isReady, body })
      await wait(POLL_MS)
    }
  }
}
