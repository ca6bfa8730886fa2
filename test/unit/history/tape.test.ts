import { expect, test } from 'vitest'
import { describeHistory } from '../../history/describe.ts'
import { check } from '../../history/checker.ts'
import { PayloadWriter, payloadOf } from '../../history/payload.ts'
import { Recorder } from '../../history/recorder.ts'
import { Tape } from '../../history/tape.ts'
import { encodeCommand, push } from '../../support/resp-client.ts'

const LANES = [
  { space: 'channel', channel: 'a\xff' },
  { space: 'shard', channel: 's' },
] as const

/** A publisher, and a subscriber that gets what it publishes. */
function taped() {
  const recorder = new Recorder()
  const tape = new Tape(recorder, LANES)
  const publisher = tape.addClient('p', 'g1', 'resp3')
  const subscriber = tape.addClient('s', 'g2', 'resp2')
  const messageOf = (serial: number): Buffer =>
    push(2, 'message', Buffer.from('a\xff', 'latin1'), payloadOf(serial, 3))
  tape.read(publisher, Buffer.from('%0\r\n'))
  tape.asked(subscriber, 'channel', ['a\xff'])
  tape.read(subscriber, push(2, 'subscribe', Buffer.from('a\xff', 'latin1'), 1))
  const first = tape.sends(publisher, Uint16Array.of(0, 1, 0))
  return { recorder, tape, publisher, subscriber, messageOf, first }
}

test('A tape makes the history that a client would have written down', () => {
  const { recorder, tape, publisher, subscriber, messageOf, first } = taped()
  const both = Buffer.concat([messageOf(first), messageOf(first + 2)])
  tape.read(subscriber, both.subarray(0, 50))
  tape.read(subscriber, both.subarray(50))
  tape.read(publisher, Buffer.from(':1\r\n:0\r\n:1\r\n'))
  tape.ended(subscriber, 'server', '')
  tape.play()
  const history = recorder.history('standalone')
  const story = describeHistory(history).split('\n')
  expect(story.map((line) => line.split(' ').slice(2).join(' '))).toEqual([
    's joining channel "aÿ"',
    's joined channel "aÿ"',
    'p sends p.0 to channel "aÿ" at g1',
    'p sends p.1 to shard "s" at g1',
    'p sends p.2 to channel "aÿ" at g1',
    's gets p.0 of channel "aÿ"',
    's gets p.2 of channel "aÿ"',
    'p is answered p.0: published 1',
    'p is answered p.1: published 0',
    'p is answered p.2: published 1',
    's closed by server ',
    '',
  ])
  const ticks = history.sessions.flatMap(({ events }) => events.map(({ tick }) => tick))
  expect(new Set(ticks).size).toBe(ticks.length)
  const { violations, figures } = check(history)
  expect(violations).toEqual([])
  expect([figures.published, figures.deliveries]).toEqual([3, 2])
})

test('A tape hides no message that comes twice, or not at all', () => {
  const { recorder, tape, publisher, subscriber, messageOf, first } = taped()
  tape.read(subscriber, Buffer.concat([messageOf(first + 2), messageOf(first + 2)]))
  tape.read(publisher, Buffer.from(':1\r\n:0\r\n:1\r\n'))
  tape.play()
  const { violations } = check(recorder.history('standalone'))
  expect(violations.map(({ promise }) => promise)).toEqual(['P1', 'P3'])
})

test('Publishes that are written many at a time have the bytes of single ones', () => {
  const writer = new PayloadWriter(LANES)
  expect(writer.encode(9, Uint16Array.of(1, 0), [0, 64])).toEqual(
    Buffer.concat([
      encodeCommand('SPUBLISH', 's', payloadOf(9, 0)),
      encodeCommand('PUBLISH', 'a\xff', payloadOf(10, 64)),
    ]),
  )
})
