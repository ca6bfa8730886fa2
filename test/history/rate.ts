import type { History, Span } from './history.ts'

/** How much was published and delivered in a second. */
export interface Rate {
  /** Messages that were published for certain: on average, and in the slowest whole second. */
  readonly published: number
  readonly slowest: number
  readonly delivered: number
}

/** The rate of a load that was at work for a span of time, by when messages were sent. */
export function rateOf({ messages, sessions }: History, { fromMs, toMs }: Span): Rate {
  const seconds = (toMs - fromMs) / 1_000
  const bySecond = new Uint32Array(Math.max(Math.ceil(seconds), 1))
  let [published, delivered] = [0, 0]
  const isWithin = (ms: number): boolean => ms >= fromMs && ms < toMs
  for (const { sent, outcome } of messages) {
    if (outcome !== 'published' || !isWithin(sent.ms)) continue
    published++
    const second = Math.floor((sent.ms - fromMs) / 1_000)
    bySecond[second] = (bySecond[second] ?? 0) + 1
  }
  for (const { events } of sessions)
    for (const { type, ms } of events) if (type === 'message' && isWithin(ms)) delivered++
  const whole = bySecond.subarray(0, Math.floor(seconds))
  return {
    published: published / seconds,
    slowest: whole.reduce((least, count) => Math.min(least, count), Number.POSITIVE_INFINITY),
    delivered: delivered / seconds,
  }
}
