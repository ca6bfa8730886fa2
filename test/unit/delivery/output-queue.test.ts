import { describe, expect, test } from 'vitest'
import { OutputQueue } from '../../../server/delivery/output-queue.ts'
import { payloadOf, Segment, type Write } from '../../../server/delivery/segment.ts'
import { messagePrefix } from '../../../server/resp/push.ts'
import { newOutput } from '../../support/new-output.ts'

const ME = newOutput()
const PREFIX = messagePrefix(3, 'message', 'ch')

function frame(payload: string): string {
  return `>3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$${payload.length}\r\n${payload}\r\n`
}

function append(segment: Segment, payload: string): number {
  const start = segment.length
  segment.append(PREFIX, undefined, payloadOf(Buffer.from(payload)), 1_000_000)
  return start
}

function put(queue: OutputQueue, reply: string): void {
  queue.append(Buffer.from(reply), 0, reply.length)
}

function text({ buffers }: Write): string {
  return Buffer.concat(buffers).toString('latin1')
}

describe('An output queue', () => {
  test('that is empty gives nothing out', () => {
    const queue = new OutputQueue(ME)
    expect([queue.isEmpty, queue.heldBytes, queue.itemCount]).toEqual([true, 0, 0])
    expect(queue.take(100, false)).toEqual({ buffers: [], length: 0, from: [] })
  })

  test('does not count an append of no bytes', () => {
    const queue = new OutputQueue(ME)
    queue.append(Buffer.from('abc'), 1, 1)
    expect(queue.isEmpty).toBe(true)
  })

  test('holds replies that lie one after the other as one item', () => {
    const queue = new OutputQueue(ME)
    const slab = Buffer.from('+a\r\n+b\r\n+c\r\n')
    queue.append(slab, 0, 4)
    queue.append(slab, 4, 8)
    expect(queue.itemCount).toBe(1)
    queue.append(slab, 8, 12)
    put(queue, '+d\r\n')
    expect([queue.itemCount, queue.heldBytes]).toEqual([2, 16])
    expect(text(queue.take(100, false))).toBe('+a\r\n+b\r\n+c\r\n+d\r\n')
  })

  test('joins pieces up to 16384 bytes and hands larger writes over as they are', () => {
    const queue = new OutputQueue(ME)
    put(queue, 'x'.repeat(10_000))
    put(queue, 'y'.repeat(6_384))
    expect(queue.take(262_144, false).buffers).toHaveLength(1)
    put(queue, 'x'.repeat(10_000))
    put(queue, 'y'.repeat(6_385))
    expect(queue.take(262_144, false).buffers.map(({ length }) => length)).toEqual([10_000, 6_385])
  })

  test('does not copy what is one piece', () => {
    const queue = new OutputQueue(ME)
    const reply = Buffer.from('+OK\r\n')
    queue.append(reply, 0, reply.length)
    expect(queue.take(100, false).buffers[0]?.buffer).toBe(reply.buffer)
  })

  test('puts a write in one WebSocket message', () => {
    const queue = new OutputQueue(ME)
    put(queue, '+a\r\n')
    const segment = new Segment()
    queue.attach(segment, append(segment, 'm'))
    put(queue, '+b\r\n')
    const write = queue.take(1_000, true)
    const body = `+a\r\n${frame('m')}+b\r\n`
    expect(write.length).toBe(body.length)
    expect(text(write)).toBe(`\x82${String.fromCharCode(body.length)}${body}`)
  })
})

describe('A share of a segment', () => {
  test('grows with it while nothing comes after it', () => {
    const queue = new OutputQueue(ME)
    const segment = new Segment()
    queue.attach(segment, append(segment, 'a'))
    append(segment, 'b')
    expect([queue.itemCount, queue.heldBytes]).toEqual([1, (frame('a') + frame('b')).length])
    expect(segment.detached).toBeUndefined()
    expect(text(queue.take(1_000, false))).toBe(frame('a') + frame('b'))
    expect(queue.isEmpty).toBe(true)
  })

  test('ends where something is put after it, and the segment is told', () => {
    const queue = new OutputQueue(ME)
    const segment = new Segment()
    queue.attach(segment, append(segment, 'a'))
    put(queue, '+OK\r\n')
    expect(segment.detached).toEqual([ME])
    append(segment, 'not for me')
    queue.attach(segment, append(segment, 'c'))
    expect(text(queue.take(1_000, false))).toBe(`${frame('a')}+OK\r\n${frame('c')}`)
  })

  test('is attached once however often that is asked for', () => {
    const queue = new OutputQueue(ME)
    const segment = new Segment()
    queue.attach(segment, append(segment, 'a'))
    queue.attach(segment, append(segment, 'b'))
    expect(queue.itemCount).toBe(1)
    expect(text(queue.take(1_000, false))).toBe(frame('a') + frame('b'))
  })

  test('is one item again where it goes on where it was closed', () => {
    const queue = new OutputQueue(ME)
    const segment = new Segment()
    queue.attach(segment, append(segment, 'a'))
    queue.closeTail()
    expect(queue.heldBytes).toBe(frame('a').length)
    queue.attach(segment, append(segment, 'b'))
    expect([queue.itemCount, queue.heldBytes]).toEqual([1, (frame('a') + frame('b')).length])
  })

  test('may be a run of frames that does not grow', () => {
    const queue = new OutputQueue(ME)
    const segment = new Segment()
    const start = append(segment, 'a')
    queue.deliver(segment, start, segment.length)
    const next = append(segment, 'b')
    expect(queue.heldBytes).toBe(frame('a').length)
    queue.deliver(segment, next, segment.length)
    expect(queue.itemCount).toBe(1)
    expect(text(queue.take(1_000, false))).toBe(frame('a') + frame('b'))
  })

  test('is taken in writes of whole frames', () => {
    const queue = new OutputQueue(ME)
    const segment = new Segment()
    queue.attach(segment, append(segment, 'a'))
    append(segment, 'b')
    append(segment, 'c')
    const two = (frame('a') + frame('b')).length
    expect(text(queue.take(two + 1, false))).toBe(frame('a') + frame('b'))
    expect(queue.heldBytes).toBe(frame('c').length)
    expect(text(queue.take(1, false))).toBe(frame('c'))
  })

  test('is let go as soon as it is used up', () => {
    const queue = new OutputQueue(ME)
    const segment = new Segment()
    queue.attach(segment, append(segment, 'a'))
    put(queue, '+OK\r\n')
    expect(text(queue.take(frame('a').length, false))).toBe(frame('a'))
    expect([queue.itemCount, queue.heldBytes]).toEqual([1, 5])
  })

  test('counts by arithmetic while it grows, after other items too', () => {
    const queue = new OutputQueue(ME)
    put(queue, '+OK\r\n')
    const segment = new Segment()
    queue.attach(segment, append(segment, 'a'))
    for (let i = 0; i < 9; i++) append(segment, 'a')
    expect(queue.heldBytes).toBe(5 + 10 * frame('a').length)
  })
})

describe('A write', () => {
  test('leaves a larger frame for the next one', () => {
    const queue = new OutputQueue(ME)
    put(queue, '+OK\r\n')
    const segment = new Segment()
    const start = append(segment, 'x'.repeat(200))
    queue.deliver(segment, start, segment.length)
    put(queue, 'y'.repeat(100))
    expect(text(queue.take(50, false))).toBe('+OK\r\n')
    expect(text(queue.take(50, false))).toBe(frame('x'.repeat(200)))
    expect(text(queue.take(50, false))).toBe('y'.repeat(100))
    expect(queue.isEmpty).toBe(true)
  })
})

describe('Moving one queue to the end of another', () => {
  test('keeps the order and an open share open', () => {
    const [queue, own] = [new OutputQueue(ME), new OutputQueue(ME)]
    const segment = new Segment()
    put(own, '+first\r\n')
    own.attach(segment, append(segment, 'a'))
    put(queue, ':1\r\n')
    queue.moveFrom(own)
    append(segment, 'b')
    expect([own.isEmpty, own.heldBytes, own.itemCount]).toEqual([true, 0, 0])
    expect(queue.heldBytes).toBe(`:1\r\n+first\r\n${frame('a')}${frame('b')}`.length)
    expect(text(queue.take(1_000, false))).toBe(`:1\r\n+first\r\n${frame('a')}${frame('b')}`)
  })

  test('joins a share that goes on where this one ended', () => {
    const [queue, own] = [new OutputQueue(ME), new OutputQueue(ME)]
    const segment = new Segment()
    queue.attach(segment, append(segment, 'a'))
    queue.closeTail()
    own.attach(segment, append(segment, 'b'))
    queue.moveFrom(own)
    append(segment, 'c')
    expect(queue.itemCount).toBe(1)
    expect(queue.heldBytes).toBe(segment.length)
  })

  test('that is empty changes nothing', () => {
    const queue = new OutputQueue(ME)
    const segment = new Segment()
    queue.attach(segment, append(segment, 'a'))
    queue.moveFrom(new OutputQueue(ME))
    expect(segment.detached).toBeUndefined()
  })
})
