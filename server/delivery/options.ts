import type { Services } from '../command/context.ts'
import type { DeliveryOptions } from '../pubsub/entry.ts'

/** Interval in which one line of the log stands for all messages that were too large, in ms. */
const LOG_EVERY_MS = 60_000

/**
 * The settings under which messages are delivered. Deliveries that are too large for WebSockets are counted, and logged once a
 * minute at most.
 *
 * @param dropPattern Called for each pattern that exceeds `ws-pattern-steps`.
 */
export function deliveryOptions(
  { clock, config, counters, log }: Pick<Services, 'clock' | 'config' | 'counters' | 'log'>,
  dropPattern: (pattern: string) => void = () => {},
): DeliveryOptions {
  let loggedMs: number | undefined
  let counted = 0
  const onTooLarge = (payloadBytes: number, subscribers: number): void => {
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
  }
  return config.cached((now) => ({
    shareBytes: now.memory('min-string-size-avoid-copy-reply'),
    maxMessageBytes: now.limit('ws-max-message-out'),
    onTooLarge,
    maxPatternSteps: now.limit('ws-pattern-steps'),
    dropPattern,
  }))
}
