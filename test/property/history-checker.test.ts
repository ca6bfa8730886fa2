import { describe, expect, test } from 'vitest'
import { Dice } from '../fuzz/dice.ts'
import { check } from '../history/checker.ts'
import {
  NATIVE,
  type History,
  type Message,
  type Session,
  type SessionEvent,
} from '../history/history.ts'
import { Story, type Teller } from '../unit/history/builder.ts'

const RUNS = 60
const CHANNELS = ['a', 'b', 'ab']
const PLACES = ['g1', 'g2', NATIVE]

/** A subscriber of the model. */
interface Listener {
  readonly teller: Teller
  readonly place: string
  /** Names and patterns that it is subscribed to. */
  readonly names: Map<string, 'channel' | 'pattern'>
  /** Messages that its gateway has not handed on. */
  readonly queue: { message: Message; name: string; kind: 'channel' | 'pattern' }[]
}

const covers = (name: string, kind: 'channel' | 'pattern', channel: string): boolean =>
  kind === 'channel' ? name === channel : channel.startsWith(name.slice(0, -1))

/** What a right upstream and right gateways could have done: one sequence, which arrives late, and gaps that are told. */
function rightHistory(dice: Dice): Draft {
  const story = new Story()
  const listeners: Listener[] = PLACES.flatMap((place) =>
    [0, 1].map((at) => ({
      teller: story.session(`${place}-${at}`, place, place === NATIVE ? 'tcp' : 'websocket'),
      place,
      names: new Map(),
      queue: [],
    })),
  )
  for (const { teller, names } of listeners) {
    for (const name of new Set(dice.several(1, 3, () => dice.pick(CHANNELS)))) {
      teller.join(name)
      names.set(name, 'channel')
    }
    if (dice.oneIn(2)) {
      teller.join('a*', 'pattern')
      names.set('a*', 'pattern')
    }
  }
  const drain = (listener: Listener, most: number): void => {
    for (const { message, name, kind } of listener.queue.splice(0, most))
      listener.teller.get(message, name, kind)
  }
  for (let step = 0; step < 60; step++) {
    const place = dice.pick(PLACES)
    if (dice.oneIn(12) && place !== NATIVE) {
      // The link of a gateway breaks, and what is published meanwhile is lost.
      for (const listener of listeners) if (listener.place === place) drain(listener, 100)
      story.wait(20)
      const fromMs = story.nowMs
      const lost = story.send('a', 'q', NATIVE)
      for (const listener of listeners) if (listener.place !== place) hand(listener, lost)
      story.answer(lost, numberOf(listeners, lost, place))
      const toMs = story.nowMs
      story.wait(20)
      for (const { teller, place: own } of listeners) if (own === place) teller.gap(fromMs, toMs)
      continue
    }
    const message = story.send(dice.pick(CHANNELS), `p${dice.below(3)}-${place}`, place)
    for (const listener of listeners) hand(listener, message)
    story.answer(message, numberOf(listeners, message))
    for (const listener of listeners) drain(listener, dice.below(4))
  }
  for (const listener of listeners) drain(listener, 1_000)
  return story.history
}

function hand({ names, queue }: Listener, message: Message): void {
  for (const [name, kind] of names)
    if (covers(name, kind, message.channel)) queue.push({ message, name, kind })
}

/** @param without A gateway that is not subscribed now. */
function numberOf(
  listeners: readonly Listener[],
  { place, channel }: Message,
  without?: string,
): number {
  const others = new Set<string>()
  let count = 0
  for (const listener of listeners) {
    if (listener.place === without) continue
    for (const [name, kind] of listener.names) {
      if (!covers(name, kind, channel)) continue
      if (listener.place === place || listener.place === NATIVE) count++
      else others.add(`${listener.place} ${kind}`)
    }
  }
  return count + others.size
}

/** A history that may still be changed. */
type Draft = History & { readonly sessions: readonly (Session & { events: SessionEvent[] })[] }

/** Damages that a checker has to see. They answer false where a history has nothing to damage so. */
const MUTATIONS: Readonly<Record<string, (history: Draft, dice: Dice) => boolean>> = {
  'a message is lost': ({ sessions }, dice) => {
    const { events } = dice.pick(sessions)
    return remove(events, dice, 'message')
  },
  'a message comes twice': ({ sessions }, dice) => {
    const { events } = dice.pick(sessions)
    const at = placeOf(events, dice, 'message')
    if (at < 0) return false
    events.splice(at + 1 + dice.below(events.length - at), 0, events[at] as SessionEvent)
    return true
  },
  'a confirmation is missing': ({ sessions }, dice) => {
    const { events } = dice.pick(sessions)
    const at = placeOf(events, dice, 'joined')
    const joined = events[at]
    if (joined?.type !== 'joined') return false
    // Without a message nobody can tell.
    const isUsed = events.some((event) => event.type === 'message' && event.name === joined.name)
    if (isUsed) events.splice(at, 1)
    return isUsed
  },
  'two messages of one publisher change places': ({ sessions }, dice) => {
    const { events } = dice.pick(sessions)
    const at = placeOf(events, dice, 'message')
    const first = events[at]
    if (first?.type !== 'message') return false
    const to = events.findIndex(
      (event, index) =>
        index > at &&
        event.type === 'message' &&
        event.name === first.name &&
        event.message !== first.message &&
        event.message?.publisher === first.message?.publisher,
    )
    const second = events[to]
    if (second?.type !== 'message') return false
    events[at] = { ...first, message: second.message, channel: second.channel }
    events[to] = { ...second, message: first.message, channel: first.channel }
    return true
  },
  'a gap is not told': ({ sessions }, dice) => {
    const { events } = dice.pick(sessions)
    const gap = events[placeOf(events, dice, 'gap')]
    if (
      gap?.type !== 'gap' ||
      !events.some((event) => event.type === 'joined' && event.name[0] === 'a')
    )
      return false
    // The one lost message of each gap is in `a`, which only some hold.
    if (
      !events.some(
        (event) => event.type === 'joined' && (event.name === 'a' || event.name === 'a*'),
      )
    )
      return false
    events.splice(events.indexOf(gap), 1)
    return true
  },
  'a gap is told too short': ({ sessions }, dice) => {
    const { events } = dice.pick(sessions)
    const at = placeOf(events, dice, 'gap')
    const gap = events[at]
    if (gap?.type !== 'gap') return false
    if (
      !events.some(
        (event) => event.type === 'joined' && (event.name === 'a' || event.name === 'a*'),
      )
    )
      return false
    events[at] = { ...gap, toMs: gap.fromMs - 10, fromMs: gap.fromMs - 20 }
    return true
  },
  'an answer says that a message is not published': ({ messages, sessions }, dice) => {
    const message = dice.pick(messages)
    if (!isSeen(sessions, message)) return false
    message.outcome = 'not-published'
    return true
  },
  'a number is too small': ({ messages, sessions }, dice) => {
    const message = dice.pick(messages)
    if (!message.receivers || !isSeen(sessions, message)) return false
    message.receivers = 0
    return true
  },
  'a number is too large': ({ messages }, dice) => {
    const message = dice.pick(messages)
    message.receivers = (message.receivers ?? 0) + 5
    // Within a gap nobody knows.
    return message.publisher !== 'q'
  },
  'bytes of nobody': ({ sessions }, dice) => {
    const { events } = dice.pick(sessions)
    const at = placeOf(events, dice, 'message')
    const event = events[at]
    if (event?.type !== 'message') return false
    events[at] = { ...event, message: undefined }
    return true
  },
}

function isSeen(sessions: readonly Session[], message: Message): boolean {
  return sessions.some(({ events }) =>
    events.some((event) => event.type === 'message' && event.message === message),
  )
}

function placeOf(events: readonly SessionEvent[], dice: Dice, type: SessionEvent['type']): number {
  const places = events.flatMap((event, at) => (event.type === type ? [at] : []))
  return places.length === 0 ? -1 : dice.pick(places)
}

function remove(events: SessionEvent[], dice: Dice, type: SessionEvent['type']): boolean {
  const at = placeOf(events, dice, type)
  if (at >= 0) events.splice(at, 1)
  return at >= 0
}

describe('The checker of histories', () => {
  test('finds nothing in what a right system does', () => {
    for (let seed = 0; seed < RUNS; seed++) {
      const { violations } = check(rightHistory(new Dice(seed)))
      expect({ seed, violations }).toEqual({ seed, violations: [] })
    }
  })

  test.each(Object.keys(MUTATIONS))('finds that %s', (name) => {
    let damaged = 0
    for (let seed = 0; seed < RUNS; seed++) {
      const dice = new Dice(seed)
      const history = rightHistory(dice)
      if (MUTATIONS[name]?.(history, dice) !== true) continue
      damaged++
      expect({ seed, isFound: check(history).violations.length > 0 }).toEqual({
        seed,
        isFound: true,
      })
    }
    expect(damaged).toBeGreaterThan(RUNS / 20)
  })
})
