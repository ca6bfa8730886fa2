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
    [0, 19],
    [0.5, 22],
    [0.999, 24],
  ])(
    'pings up to 20 %% before the interval is over, varied by %d to %i s, and reports silence',
    (random, seconds) => {
      const { silent, answering, run, at } = start(random)
      run(seconds - 1)
      expect(silent.events).toEqual([])
      run(11)
      expect(silent.events).toEqual([at('ping', seconds), at('dead', seconds + 10)])
      expect(answering.events).toEqual([at('ping', seconds)])
      // From ping to ping, whenever the answer was looked for.
      run(seconds - 10)
      expect(answering.events).toEqual([at('ping', seconds), at('ping', seconds * 2)])
      expect(silent.events).toHaveLength(2)
    },
  )

  test.each([0, 300, 999])(
    'finds a line that dies right after an answer within interval and timeout, checks %d ms off included',
    (offsetMs) => {
      const clock = new FakeClock()
      const keepAlive = new KeepAlive(clock, settingsOf({}), () => 0.999)
      keepAlive.add(peerOf(clock, true))
      clock.advance(offsetMs)
      let lastPongMs = clock.monotonicMs()
      let deadMs = 0
      let pings = 0
      keepAlive.add({
        dueMs: 0,
        pingedMs: 0,
        ping: () => {
          if (++pings < 3) lastPongMs = clock.monotonicMs()
        },
        dead: () => (deadMs = clock.monotonicMs()),
        lastHeardMs: () => lastPongMs,
      })
      for (let second = 0; second < 200; second++) clock.advance(1_000)
      expect(pings).toBe(3)
      expect(deadMs - lastPongMs).toBeGreaterThan(25_000)
      expect(deadMs - lastPongMs).toBeLessThanOrEqual(35_000)
    },
  )

  test.each([
    [1, [1, 2, 3, 4], 11],
    [5, [4, 8, 12, 16], 14],
  ])(
    'pings each %d s though an answer may take ten, and reports silence after ten',
    (interval, pings, dead) => {
      const { silent, answering, run, at } = start(0.5, interval * 1_000)
      run(16)
      expect(answering.events.slice(0, 4)).toEqual(pings.map((second) => at('ping', second)))
      expect(silent.events).toEqual([at('ping', pings[0] as number), at('dead', dead)])
    },
  )

  test('a peer that answers late is pinged again at once, and lives', () => {
    const clock = new FakeClock()
    const settings = settingsOf({ 'ws-ping-interval': '2' })
    const keepAlive = new KeepAlive(clock, settings, () => 0)
    const slow = peerOf(clock, false)
    let heardMs = 0
    keepAlive.add(Object.assign(slow, { lastHeardMs: () => heardMs }))
    for (let second = 1; second <= 20; second++) {
      if (second === 9) heardMs = clock.monotonicMs()
      if (second === 18) heardMs = clock.monotonicMs()
      clock.advance(1_000)
    }
    expect(slow.events).toEqual(['ping 1000', 'ping 11000'])
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
