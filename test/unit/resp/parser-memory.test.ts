import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { ByteAccumulator, RequestParser } from '../../../server/resp/request-parser.ts'
import { TCP_LIMITS } from '../../support/parse-requests.ts'

/** Runs the garbage collector. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
}

describe('A promised length', () => {
  test('costs nothing until its bytes come', () => {
    const before = process.memoryUsage().arrayBuffers
    const parsers = Array.from({ length: 200 }, () => {
      const parser = new RequestParser(TCP_LIMITS)
      parser.feed(Buffer.from('*1048576\r\n$536870912\r\nxyz'))
      expect(parser.next()).toBe(false)
      return parser
    })
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(200 * 65_536)
    for (const parser of parsers) expect(parser.pendingBytes).toBe(3)
  })

  test('is met by as many bytes as were received', () => {
    const parser = new RequestParser(TCP_LIMITS)
    parser.feed(Buffer.from('*2\r\n$536870912\r\n'))
    for (let received = 0; received < 100_000; received += 10_000) {
      expect(parser.next()).toBe(false)
      expect(parser.pendingBytes).toBe(received)
      parser.feed(Buffer.alloc(10_000))
    }
  })

  test('counts arguments that are whole, too', () => {
    const parser = new RequestParser(TCP_LIMITS)
    parser.feed(Buffer.from('*3\r\n$5\r\nabcde\r\n$4\r\nab'))
    expect(parser.next()).toBe(false)
    expect(parser.pendingBytes).toBe(7)
  })

  test('counts chunks that wait after a request', () => {
    const parser = new RequestParser(TCP_LIMITS)
    parser.feed(Buffer.from('PING\r\nPI'))
    parser.feed(Buffer.from('NG'))
    parser.feed(Buffer.from('\r\n'))
    parser.next()
    expect(parser.pendingBytes).toBe(6)
  })
})

describe('A byte accumulator', () => {
  const capacityOf = (bytes: Buffer): number => bytes.buffer.byteLength

  test('never holds more than twice what was received, or 256 bytes', () => {
    const source = Buffer.alloc(50_000, 'x')
    for (const piece of [1, 7, 255, 256, 4_096, 50_000]) {
      const accumulator = new ByteAccumulator()
      let received = 0
      while (received + piece <= source.length) {
        accumulator.append(source, received, received + piece, 536_870_912)
        received += piece
      }
      expect(accumulator.length).toBe(received)
      const bytes = accumulator.take()
      expect(bytes.equals(source.subarray(0, received))).toBe(true)
      expect(capacityOf(bytes)).toBeLessThanOrEqual(Math.max(2 * received, 256))
    }
  })

  test('never grows beyond what will be needed', () => {
    const accumulator = new ByteAccumulator()
    const source = Buffer.alloc(1_000, 'x')
    accumulator.append(source, 0, 900, 1_000)
    accumulator.append(source, 900, 1_000, 1_000)
    expect(capacityOf(accumulator.take())).toBe(1_000)
  })

  test('is empty once it was taken', () => {
    const accumulator = new ByteAccumulator()
    accumulator.append(Buffer.from('abc'), 1, 3, 10)
    expect([accumulator.at(0), accumulator.at(1), accumulator.at(2), accumulator.at(-1)]).toEqual([
      0x62,
      0x63,
      undefined,
      undefined,
    ])
    const first = accumulator.take()
    expect(accumulator.length).toBe(0)
    expect(accumulator.take()).toEqual(Buffer.alloc(0))
    accumulator.append(Buffer.from('xyz'), 0, 3, 10)
    expect(first.toString()).toBe('bc')
  })
})

describe('Small pieces', () => {
  /** Bytes copied and looked at must not grow with the square of their number: compares two sizes. */
  function msFor(head: string, bytes: number): number {
    const parser = new RequestParser(TCP_LIMITS)
    parser.feed(Buffer.from(head))
    parser.next()
    const piece = Buffer.from('1')
    const start = process.cpuUsage()
    for (let i = 0; i < bytes; i++) {
      parser.feed(piece)
      parser.next()
    }
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1_000
  }

  test.each([
    ['a count', '*'],
    ['a length', '*1\r\n$'],
    ['an inline command', 'x'],
    ['an argument', '*1\r\n$65536\r\n'],
  ])('of 64 KiB take less than 200 ms of CPU time: %s', (_name, head) => {
    expect(msFor(head, 65_000)).toBeLessThan(200)
  })

  test('are copied a fixed number of times on average', () => {
    const counted = { copied: 0 }
    const source = Buffer.from('x')
    const accumulator = new ByteAccumulator()
    let capacity = 0
    for (let i = 0; i < 65_536; i++) {
      accumulator.append(source, 0, 1, 131_072)
      // Doubling from 256 bytes on: a growth copies what is there.
      if (accumulator.length > capacity) {
        counted.copied += accumulator.length - 1
        capacity = Math.max(256, 2 * accumulator.length)
      }
    }
    expect(counted.copied).toBeLessThan(2 * 65_536)
    expect(accumulator.take().buffer.byteLength).toBe(capacity)
  })
})

describe('An idle parser', () => {
  test('keeps nothing of the requests it has parsed', async () => {
    const parser = new RequestParser(TCP_LIMITS)
    const parse = (): WeakRef<ArrayBufferLike> => {
      const head = '*3\r\n$7\r\nPUBLISH\r\n$1\r\nc\r\n$90000\r\n'
      const chunk = Buffer.allocUnsafeSlow(head.length + 90_002)
      chunk.write(head)
      chunk.write('\r\n', head.length + 90_000)
      parser.feed(chunk)
      expect(parser.next()).toBe(true)
      parser.feed(Buffer.from('PING\r\n'))
      expect(parser.next()).toBe(true)
      expect(parser.next()).toBe(false)
      return new WeakRef(chunk.buffer)
    }
    const held = parse()
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
    expect(held.deref()).toBeUndefined()
  })
})
