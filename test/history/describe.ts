import type { History, SessionEvent } from './history.ts'
import { idOf, shown } from './intervals.ts'

/** All that clients did and saw, one line each in the order of time: tick, Unix milliseconds, who, what. A byte string. */
export function describeHistory({ messages, sessions }: History): string {
  const lines: { readonly tick: number; readonly text: string }[] = []
  const add = (tick: number, ms: number, who: string, what: string): void =>
    void lines.push({ tick, text: `${tick} ${ms} ${who} ${what}` })
  for (const message of messages) {
    const { sent, place, space, channel, outcome, answered, receivers, publisher } = message
    const what = `${idOf(message)} to ${space} ${shown(channel)} at ${place}`
    add(sent.tick, sent.ms, publisher, `sends ${what}`)
    if (answered) {
      const answer = `${outcome} ${receivers ?? ''}`
      add(answered.tick, answered.ms, publisher, `is answered ${idOf(message)}: ${answer}`)
    }
  }
  for (const { name, events } of sessions) {
    for (const event of events) {
      if (event.type !== 'answered') add(event.tick, event.ms, name, describeEvent(event))
    }
  }
  return `${lines
    .toSorted((a, b) => a.tick - b.tick)
    .map(({ text }) => text)
    .join('\n')}\n`
}

function describeEvent(event: SessionEvent): string {
  switch (event.type) {
    case 'joining':
    case 'joined':
    case 'refused':
    case 'leaving':
    case 'left':
      return `${event.type} ${event.kind} ${shown(event.name)}`
    case 'message': {
      const id = event.message ? idOf(event.message) : 'bytes of nobody'
      return `gets ${id} of ${event.kind} ${shown(event.name)}`
    }
    case 'answered':
      return `is answered ${idOf(event.message)}`
    case 'gap':
      return `gap of ${event.name === undefined ? 'everything' : shown(event.name)}: ${event.fromMs}-${event.toMs}`
    case 'closed':
      return `closed by ${event.by} ${event.reason ?? ''}`
    case 'control':
      return `gets control ${event.payload.slice(0, 400)}`
    case 'nonsense':
      return `nonsense: ${event.text}`
  }
}
