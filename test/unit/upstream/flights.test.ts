import { describe, expect, test } from 'vitest'
import type { PublishAnswer } from '../../../server/upstream/backplane.ts'
import { Flight, type FlightOwner } from '../../../server/upstream/flight.ts'
import { Flights } from '../../../server/upstream/flights.ts'
import { ReadPayload } from '../../../server/upstream/link/link-reader.ts'
import { Cover, Source } from '../../../server/upstream/link/source.ts'

const EXACT = new Source('channel', 'n')
const COVER = new Cover('n')

function bytesOf(text: string): ReadPayload {
  const bytes = Buffer.from(`(${text})`, 'latin1')
  const payload = new ReadPayload()
  payload.set(bytes, 1, bytes.length - 1, false)
  return payload
}

/** Publishes to the channel `n` that are on their way, and the answers that were told. */
class Way {
  readonly flights = new Flights()
  readonly answers: (readonly [payload: string, answer: PublishAnswer])[] = []
  readonly ended: string[] = []

  send(
    payload: string,
    expected: number,
    { isUncertain = false, beacon = 1 }: { isUncertain?: boolean; beacon?: number } = {},
  ): Flight {
    const owner: FlightOwner = {
      answered: () => {},
      lost: () => {},
      ended: (flight) => this.flights.forget(flight),
    }
    // As in the memory of a link: other bytes stand around it.
    const memory = Buffer.from(`<${payload}>`, 'latin1')
    const sent = { memory, start: 1, end: memory.length - 1 }
    const facts = { bytes: 50, sentMs: 0, expected, isUncertain, beacon }
    const flight = new Flight(
      owner,
      { space: 'channel', key: 'n', payload: sent },
      facts,
      (answer) => void this.answers.push([payload, answer]),
    )
    if (flight.mayReturn) this.flights.add(flight)
    return flight
  }

  meet(source: Source, payload: string, deliveries: number): void {
    this.flights.meet('channel', 'n', source, bytesOf(payload), deliveries)
  }
}

describe('The answer to a publish', () => {
  test('is the number of the upstream where no source here brings it', () => {
    const way = new Way()
    way.send('p', 0).counted(3)
    expect(way.answers).toEqual([['p', 3]])
  })

  test('is the deliveries here, and every other subscription upstream as one', () => {
    const way = new Way()
    const flight = way.send('p', 2)
    way.meet(EXACT, 'p', 10)
    flight.counted(5)
    expect(way.answers).toEqual([])
    way.meet(COVER, 'p', 7)
    expect(way.answers).toEqual([['p', 10 + 7 + 3]])
  })

  test('comes with the last of messages and number, whichever that is', () => {
    const way = new Way()
    const first = way.send('1', 1)
    const second = way.send('2', 1)
    way.meet(EXACT, '1', 1)
    expect(way.answers).toEqual([])
    second.counted(1)
    expect(way.answers).toEqual([])
    first.counted(1)
    way.meet(EXACT, '2', 0)
    expect(way.answers).toEqual([
      ['1', 1],
      ['2', 0],
    ])
  })

  test('is 0 where the upstream has given it to nobody', () => {
    const way = new Way()
    way.send('p', 1).counted(0)
    expect(way.answers).toEqual([['p', 0]])
  })

  test('waits for a later beacon while its sources change, and counts those that brought it', () => {
    const way = new Way()
    const flight = way.send('p', 0, { isUncertain: true, beacon: 7 })
    flight.counted(2)
    way.meet(EXACT, 'p', 4)
    way.flights.beaconCame(6)
    expect(way.answers).toEqual([])
    way.flights.beaconCame(7)
    expect(way.answers).toEqual([['p', 4 + 1]])
  })

  test('does not wait for a source that was left in time', () => {
    const way = new Way()
    const flight = way.send('p', 1, { isUncertain: true, beacon: 7 })
    flight.counted(2)
    way.flights.beaconCame(7)
    expect(way.answers).toEqual([['p', 2]])
  })

  test('comes after the beacon where the number comes later', () => {
    const way = new Way()
    const flight = way.send('p', 1, { isUncertain: true })
    way.meet(EXACT, 'p', 2)
    way.flights.beaconCame(1)
    expect(way.answers).toEqual([])
    flight.counted(1)
    expect(way.answers).toEqual([['p', 2]])
  })

  test('does not wait for messages of a link that has ended', () => {
    const way = new Way()
    const [answered, open] = [way.send('1', 2), way.send('2', 1)]
    answered.counted(3)
    way.meet(EXACT, '1', 5)
    way.flights.linkLost()
    expect(way.answers).toEqual([['1', 5 + 2]])
    open.counted(1)
    expect(way.answers[1]).toEqual(['2', 1])
  })

  test('is told once, whatever comes later', () => {
    const way = new Way()
    const flight = way.send('p', 1)
    flight.fail('TRYAGAIN unknown whether published')
    flight.counted(1)
    flight.fail('TRYAGAIN not published')
    way.meet(EXACT, 'p', 1)
    expect(way.answers).toEqual([['p', 'TRYAGAIN unknown whether published']])
  })
})

test('A publish that waits for its number alone does not hold up those behind it', () => {
  const way = new Way()
  const first = way.send('1', 0, { isUncertain: true, beacon: 1 })
  way.flights.beaconCame(1)
  const second = way.send('2', 1, { beacon: 2 })
  way.meet(EXACT, '2', 5)
  first.counted(1)
  second.counted(2)
  expect(way.answers).toEqual([
    ['1', 1],
    ['2', 5 + 1],
  ])
})

describe('A message that comes', () => {
  test('belongs to the oldest publish with its bytes that this source has not brought', () => {
    const way = new Way()
    const [first, second] = [way.send('p', 1), way.send('p', 1)]
    second.counted(1)
    first.counted(1)
    way.meet(EXACT, 'p', 1)
    way.meet(EXACT, 'p', 2)
    expect(way.answers).toEqual([
      ['p', 1],
      ['p', 2],
    ])
  })

  test('belongs to none where its bytes, its channel or its space are others', () => {
    const way = new Way()
    const flight = way.send('p', 1)
    flight.counted(1)
    for (const other of ['q', 'pp', '', 'P']) way.meet(EXACT, other, 9)
    way.flights.meet('channel', 'm', EXACT, bytesOf('p'), 9)
    way.flights.meet('shard', 'n', EXACT, bytesOf('p'), 9)
    expect(way.answers).toEqual([])
    way.meet(EXACT, 'p', 1)
    expect(way.answers).toEqual([['p', 1]])
  })

  test('of another publisher, with the same bytes, stands in for the own one', () => {
    const way = new Way()
    const flight = way.send('p', 1)
    way.meet(EXACT, 'p', 3)
    flight.counted(2)
    expect(way.answers).toEqual([['p', 3 + 1]])
    way.meet(EXACT, 'p', 3)
    expect(way.answers).toHaveLength(1)
  })

  test('may be empty', () => {
    const way = new Way()
    way.send('', 1).counted(1)
    way.meet(EXACT, '', 1)
    expect(way.answers).toEqual([['', 1]])
  })

  test('is asked of the publishes behind the last one that it was, and of none behind one that is certain', () => {
    const way = new Way()
    const flights = ['a', 'a', 'b', 'a'].map((payload) => way.send(payload, 1))
    for (const flight of flights) flight.counted(1)
    // Somebody else's: the next of this gateway is `a`.
    way.meet(EXACT, 'b', 9)
    for (const [at, payload] of ['a', 'a', 'b', 'a'].entries()) way.meet(EXACT, payload, at)
    expect(way.answers).toEqual([
      ['a', 0],
      ['a', 1],
      ['b', 2],
      ['a', 3],
    ])
  })

  test('passes by publishes of which it is unknown whether they met the source', () => {
    const way = new Way()
    const unknown = way.send('a', 0, { isUncertain: true })
    const known = way.send('b', 1, { beacon: 2 })
    unknown.counted(1)
    known.counted(1)
    way.meet(EXACT, 'b', 4)
    way.flights.beaconCame(1)
    expect(way.answers).toEqual([
      ['b', 4],
      ['a', 1],
    ])
  })

  test('may end a publish whose answer causes the next one', () => {
    const way = new Way()
    const first = way.send('p', 1)
    let second: Flight | undefined
    first.onEnd(() => (second = way.send('q', 1)))
    first.counted(1)
    way.meet(EXACT, 'p', 1)
    second?.counted(1)
    way.meet(EXACT, 'q', 2)
    expect(way.answers).toEqual([
      ['p', 1],
      ['q', 2],
    ])
  })
})
