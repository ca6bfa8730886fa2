import { describe, expect, test } from 'vitest'
import { payloadOf, Segment, type Slice } from '../../../server/delivery/segment.ts'
import { messagePrefix } from '../../../server/resp/push.ts'

const PREFIX = messagePrefix(3, 'message', 'ch')
const PATTERN_PREFIX = messagePrefix(3, 'pmessage', 'c*')

/** The frame of a message of channel `ch`, as a byte string. */
function frame(payload: string): string {
  return `>3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$${payload.length}\r\n${payload}\r\n`
}

/** A segment that holds these payloads, of which those from 1000 bytes on are shared. */
function segmentOf(...payloads: string[]): Segment {
  const segment = new Segment()
  for (const payload of payloads) append(segment, payload)
  return segment
}

function append(segment: Segment, payload: string, shareBytes = 1_000): void {
  segment.append(PREFIX, undefined, payloadOf(Buffer.from(payload)), shareBytes)
}

function text({ plain }: Slice): string {
  return Buffer.concat(plain.buffers).toString('latin1')
}

function framedText({ framed }: Slice): string {
  return Buffer.concat(framed.buffers).toString('latin1')
}

describe('A segment', () => {
  test('holds whole frames one after the other', () => {
    const segment = segmentOf('a', '', 'bc')
    expect(segment.length).toBe((frame('a') + frame('') + frame('bc')).length)
    expect(text(segment.slice(0, segment.length, 1_000))).toBe(frame('a') + frame('') + frame('bc'))
  })

  test('puts the channel in front of the payload of a pattern message', () => {
    const segment = new Segment()
    segment.append(PATTERN_PREFIX, 'ch', payloadOf(Buffer.from('hi')), 1_000)
    expect(text(segment.slice(0, segment.length, 1_000))).toBe(
      '>4\r\n$8\r\npmessage\r\n$2\r\nc*\r\n$2\r\nch\r\n$2\r\nhi\r\n',
    )
  })

  test('copies small payloads and keeps large ones as the very same bytes', () => {
    const payload = Buffer.alloc(1_000, 'x')
    const segment = new Segment()
    append(segment, 'a')
    segment.append(PREFIX, undefined, payloadOf(payload), 1_000)
    append(segment, 'b')
    const slice = segment.slice(0, segment.length, 100_000)
    expect(text(slice)).toBe(frame('a') + frame('x'.repeat(1_000)) + frame('b'))
    expect(slice.plain.buffers).toHaveLength(3)
    const [, middle] = slice.plain.buffers
    expect(middle?.buffer).toBe(payload.buffer)
    expect(middle?.byteOffset).toBe(payload.byteOffset)
    expect(middle?.length).toBe(1_000)
  })

  test.each([
    [999, 1],
    [1_000, 3],
  ])('shares a payload from shareBytes on: %d bytes make %d buffer(s)', (length, buffers) => {
    const segment = segmentOf('x'.repeat(length))
    const slice = segment.slice(0, segment.length, 100_000)
    expect(text(slice)).toBe(frame('x'.repeat(length)))
    expect(slice.plain.buffers).toHaveLength(buffers)
  })

  test('never shares an empty payload', () => {
    const segment = new Segment()
    append(segment, '', 0)
    expect(segment.slice(0, segment.length, 100).plain.buffers).toHaveLength(1)
  })

  test('begins with a shared payload as well', () => {
    const segment = segmentOf('x'.repeat(2_000), 'y'.repeat(2_000))
    const expected = frame('x'.repeat(2_000)) + frame('y'.repeat(2_000))
    expect(text(segment.slice(0, segment.length, 100_000))).toBe(expected)
  })
})

describe('A slice', () => {
  const payloads = ['a', 'bb', 'x'.repeat(1_500), 'ccc', 'd'.repeat(900), 'x'.repeat(1_000), '']
  const frames = payloads.map(frame)
  const ends = frames.map((_, i) => frames.slice(0, i + 1).join('').length)

  test('runs from any frame to any other', () => {
    const segment = segmentOf(...payloads)
    const all = frames.join('')
    for (const start of [0, ...ends]) {
      for (const end of ends) {
        if (end <= start) continue
        const slice = segment.slice(start, end, 1_000_000)
        expect([slice.end, slice.plain.length]).toEqual([end, end - start])
        expect(text(slice)).toBe(all.slice(start, end))
      }
    }
  })

  test('holds whole frames only, as many as fit', () => {
    for (const most of [1, 25, 30, 60, 500, 1_500, 1_600, 2_000, 4_000, 10_000]) {
      const segment = segmentOf(...payloads)
      let at = 0
      let seen = ''
      while (at < segment.length) {
        const slice = segment.slice(at, segment.length, most)
        expect(ends).toContain(slice.end)
        const next = ends.find((end) => end > at) as number
        if (next - at > most) expect(slice.end).toBe(next)
        else expect(slice.plain.length).toBeLessThanOrEqual(most)
        const behind = ends.find((end) => end > slice.end)
        if (behind !== undefined && next - at <= most) expect(behind - at).toBeGreaterThan(most)
        seen += text(slice)
        at = slice.end
      }
      expect(seen).toBe(frames.join(''))
    }
  })

  test('is cut once for all who take the same', () => {
    const segment = segmentOf('a', 'b')
    const slice = segment.slice(0, segment.length, 100)
    expect(segment.slice(0, segment.length, 100)).toBe(slice)
    expect(segment.slice(0, segment.length, 1_000)).toBe(slice)
    expect(segment.slice(0, segment.length, 30)).not.toBe(slice)
  })

  test('keeps its bytes when the segment grows', () => {
    const segment = segmentOf('a')
    const first = segment.slice(0, segment.length, 100_000)
    const framed = framedText(first)
    for (let i = 0; i < 200; i++) append(segment, 'y'.repeat(i))
    append(segment, 'x'.repeat(5_000))
    for (let i = 0; i < 200; i++) append(segment, 'z'.repeat(i))
    expect(text(first)).toBe(frame('a'))
    expect(framedText(first)).toBe(framed)
    const later = segment.slice(first.end, segment.length, 1_000_000)
    expect(text(later).startsWith(frame('') + frame('y'))).toBe(true)
    expect(text(first)).toBe(frame('a'))
  })

  test('that is framed only after the segment grew has the same bytes', () => {
    const segment = segmentOf('a')
    const first = segment.slice(0, segment.length, 100_000)
    for (let i = 0; i < 200; i++) append(segment, 'y'.repeat(i))
    expect(framedText(first)).toBe(`\x82${String.fromCharCode(first.plain.length)}${frame('a')}`)
    expect(text(first)).toBe(frame('a'))
  })
})

describe('A framed slice', () => {
  const header = (length: number): string =>
    length < 126
      ? `\x82${String.fromCharCode(length)}`
      : `\x82\x7e${String.fromCharCode(length >> 8, length & 255)}`

  test.each([1, 60, 80, 96, 97, 98, 99, 100, 200, 900])(
    'of one buffer from the start has its header in front of it: payload of %d bytes',
    (length) => {
      const segment = segmentOf('p'.repeat(length))
      const slice = segment.slice(0, segment.length, 100_000)
      expect(framedText(slice)).toBe(header(slice.plain.length) + frame('p'.repeat(length)))
      expect(slice.framed.buffers).toHaveLength(1)
      expect(slice.framed).toBe(slice.framed)
      expect(text(slice)).toBe(frame('p'.repeat(length)))
    },
  )

  test('of more than 64 KiB has the long header', () => {
    const segment = new Segment()
    append(segment, 'p'.repeat(70_000), 100_000)
    const slice = segment.slice(0, segment.length, 100_000)
    expect(Buffer.concat(slice.framed.buffers).subarray(0, 10).toString('hex')).toBe(
      `827f${slice.plain.length.toString(16).padStart(16, '0')}`,
    )
    expect(framedText(slice).slice(10)).toBe(frame('p'.repeat(70_000)))
  })

  test('from a later start, or a second one from the start, has a header of its own', () => {
    const segment = segmentOf('a', 'b', 'c')
    const one = frame('a').length
    const whole = segment.slice(0, segment.length, 1_000)
    const behind = segment.slice(one, segment.length, 1_000)
    const alone = segment.slice(0, one, 1_000)
    const texts = [whole, behind, alone].map(framedText)
    expect(texts).toEqual([
      header(whole.plain.length) + frame('a') + frame('b') + frame('c'),
      header(behind.plain.length) + frame('b') + frame('c'),
      header(alone.plain.length) + frame('a'),
    ])
    // Once more, now that all of them are framed: none has written over another.
    expect([whole, behind, alone].map(framedText)).toEqual(texts)
  })

  test('with a shared payload has its header in a buffer of its own', () => {
    const segment = segmentOf('x'.repeat(1_000))
    const slice = segment.slice(0, segment.length, 100_000)
    expect(slice.framed.buffers).toHaveLength(4)
    expect(framedText(slice)).toBe(header(slice.plain.length) + frame('x'.repeat(1_000)))
  })
})

describe('A frame that is encoded already', () => {
  test('is copied if it is small, and kept as the very same bytes if it is large', () => {
    const segment = new Segment('message', 'ch')
    const large = Buffer.from('y'.repeat(1_000))
    segment.appendWhole(Buffer.from('small '), undefined, 1_000)
    segment.appendWhole(large, undefined, 1_000)
    segment.appendWhole(Buffer.from(' last'), undefined, 1_000)
    const slice = segment.slice(0, segment.length, 10_000)
    expect(text(slice)).toBe(`small ${'y'.repeat(1_000)} last`)
    expect(slice.plain.buffers.some((one) => one.buffer === large.buffer)).toBe(true)
  })

  test('may be the first, and large', () => {
    const segment = new Segment('message', 'ch')
    segment.appendWhole(Buffer.from('y'.repeat(1_000)), undefined, 1_000)
    expect(text(segment.slice(0, segment.length, 10_000))).toBe('y'.repeat(1_000))
  })

  test('of a pattern is dropped by its channel, which it need not tell', () => {
    const segment = new Segment('pmessage', 'c*')
    for (const channel of ['c1', 'c2', 'c1']) {
      segment.appendWhole(Buffer.from(channel), channel, 1_000)
    }
    const runs = segment.without(0, segment.length, (_kind, _name, channel) => channel === 'c2')
    expect(runs).toEqual([
      { start: 0, end: 2 },
      { start: 4, end: 6 },
    ])
  })
})
