import type { Clock } from '../clock.ts'
import type { Counters } from '../command/counters.ts'
import type { Config } from '../config/store.ts'
import type { Logger } from '../log.ts'
import type { DeliveryOptions } from '../pubsub/entry.ts'

/** What delivery is set up with. */
export interface DeliveryParts {
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  readonly counters: Counters
}

/** One line of the log for all that was too large within so many ms. */
const LOG_EVERY_MS = 60_000

/**
 * How messages are put together, under its directives. What is too large for WebSockets is counted, and the log says so once
 * a minute at most.
 */
export function deliveryOptions({ config, clock, log, counters }: DeliveryParts): DeliveryOptions {
  let loggedMs: number | undefined
  let counted = 0
  const options: DeliveryOptions = {
    shareBytes: config.memory('min-string-size-avoid-copy-reply'),
    onTooLarge: (payloadBytes, subscribers) => {
      counters.messagesTooLargeForWebSocket += subscribers
      counted += subscribers
      const nowMs = clock.monotonicMs()
      if (loggedMs !== undefined && nowMs - loggedMs < LOG_EVERY_MS) return
      loggedMs = nowMs
      log.warn(
        { payloadBytes, deliveries: counted },
        'not delivered to WebSockets: larger than ws-max-message-out',
      )
      counted = 0
    },
  }
  config.onChange(['min-string-size-avoid-copy-reply'], (settings) => {
    options.shareBytes = settings.memory('min-string-size-avoid-copy-reply')
    return undefined
  })
  return options
}
