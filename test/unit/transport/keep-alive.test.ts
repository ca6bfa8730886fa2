import { describe, expect, test } from 'vitest'
import { KeepAlive, type Pingable } from '../../../server/transport/keep-alive.ts'
import { settingsOf } from '../../support/settings.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** A peer that answers pings or not, and what happened to it. */
function peerOf(clock: FakeClock, answers: boolean): Pingable & { readonly events: string[] } {
  const events: string[] = []
  let heardMs = 0
  return {
    dueMs: 0,
    pingedMs: 0,
    events,
    ping: () => {
      events.push(`ping ${clock.monotonicMs()}`)
      if (answers) heardMs = clock.monotonicMs()
    },
    dead: () => events.push(`dead ${clock.monotonicMs()}`),
    lastHeardMs: () => heardMs,
  }
}

function start(random: number, intervalMs = 25_000) {
  const clock = new FakeClock()
  const startMs = clock.monotonicMs()
  const settings = settingsOf({ 'ws-ping-interval': String(intervalMs / 1_000) })
  const keepAlive = new KeepAlive(clock, settings, () => random)
  const silent = peerOf(clock, false)
  const answering = peerOf(clock, true)
  for (const peer of [silent, answering]) keepAlive.add(peer)
  const run = (seconds: number): void => {
    for (let second = 0; second < seconds; second++) clock.advance(1_000)
  }
  const at = (word: string, seconds: number): string => `${word} ${startMs + seconds * 1_000}`
  return { keepAlive, silent, answering, run, at }
}

describe('keep-alive', () => {
  test.each([
    [0, 20],
    [0.5, 25],
    [0.999, 30],
  ])('pings after the interval, varied by %d to %i s, and reports silence', (random, seconds) => {
    const { silent, answering, run, at } = start(random)
    run(seconds - 1)
    expect(silent.events).toEqual([])
    run(11)
    expect(silent.events).toEqual([at('ping', seconds), at('dead', seconds + 10)])
    expect(answering.events).toEqual([at('ping', seconds)])
    run(seconds)
    expect(answering.events).toHaveLength(2)
    expect(silent.events).toHaveLength(2)
  })

  test('0 never pings, and a peer that was removed is not pinged', () => {
    const never = start(0, 0)
    never.run(100)
    expect(never.silent.events).toEqual([])
    const { keepAlive, silent, answering, run } = start(0)
    for (const peer of [silent, answering]) keepAlive.remove(peer)
    run(100)
    expect([...silent.events, ...answering.events]).toEqual([])
  })
})
