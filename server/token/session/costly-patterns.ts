import { Client } from '../../client/client.ts'
import type { Services } from '../../command/context.ts'
import { tell, tokenPushes, unsubscribePush } from './pushes.ts'

/** Told with the push to those who lose a pattern. */
const MESSAGE = 'the pattern costs too much'

/** Patterns that are taken from their subscribers in one turn of the event loop: a few milliseconds of work. */
const DROPPED_AT_ONCE = 100

/**
 * Ends the subscriptions to patterns that exceed `ws-pattern-steps`: the first at once, and where one message condemns very many, the
 * others in the turns that follow. They match nothing meanwhile. Their subscribers are told and stay connected.
 */
export class PatternDrops {
  readonly #server: Pick<Services, 'counters' | 'log' | 'registry'>
  readonly #atEndOfTurn: (callback: () => void) => void
  #waiting: string[] = []
  #droppedNow = 0
  #isScheduled = false

  constructor(
    server: Pick<Services, 'counters' | 'log' | 'registry'>,
    atEndOfTurn: (callback: () => void) => void,
  ) {
    this.#server = server
    this.#atEndOfTurn = atEndOfTurn
  }

  /** Drops a pattern that the registry has found too costly. */
  add(name: string): void {
    if (this.#droppedNow < DROPPED_AT_ONCE) {
      this.#droppedNow++
      this.#drop(name)
    } else {
      this.#waiting.push(name)
    }
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#atEndOfTurn(() => {
      this.#isScheduled = false
      const due = this.#waiting.splice(0, DROPPED_AT_ONCE)
      this.#droppedNow = due.length
      for (const name of due) this.#drop(name)
      if (due.length > 0) this.#schedule()
    })
  }

  #drop(name: string): void {
    const { counters, log, registry } = this.#server
    // Its subscribers may have left since, or a TCP client may have come.
    if (!registry.isDropped(name)) return
    const subscribers = [...registry.subscribersOf('pattern', name)]
    counters.patternsDropped++
    log.debug({ patternBytes: name.length, subscribers: subscribers.length }, 'pattern dropped')
    for (const client of subscribers) {
      if (!(client instanceof Client)) continue
      registry.unsubscribe('pattern', client, name)
      const left = client.subscriptions.count
      client.output.push(unsubscribePush(client, { space: 'pattern', name, left }))
      tell(client, tokenPushes.revoked(name, MESSAGE))
    }
  }
}
