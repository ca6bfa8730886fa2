import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RequestParser } from '../../server/resp/request-parser.ts'
import { parseRequests, TCP_LIMITS } from '../support/parse-requests.ts'

const byteString = fc.string({
  unit: fc.nat(255).map((byte) => String.fromCharCode(byte)),
  maxLength: 30,
})
const args = fc.array(
  fc.oneof({ weight: 9, arbitrary: byteString }, fc.constant('x'.repeat(5_000))),
  {
    minLength: 1,
    maxLength: 6,
  },
)

interface Piece {
  readonly bytes: string
  readonly request: string[] | undefined
}

const array = args.map((list): Piece => {
  const bulks = list.map((arg) => `$${arg.length}\r\n${arg}\r\n`).join('')
  return { bytes: `*${list.length}\r\n${bulks}`, request: list }
})

/** Any bytes but NUL can be said inline, since double quotes know `\xHH`. */
const inline = fc
  .tuple(
    fc.array(byteString, { minLength: 1, maxLength: 4 }),
    fc.constantFrom('\n', '\r\n'),
    fc.boolean(),
  )
  .map(([list, end, spaced]): Piece => {
    const words = list.map((arg) => {
      const hex = Array.from(
        arg,
        (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`,
      )
      return `"${hex.join('')}"`
    })
    return {
      bytes: `${spaced ? ' \t' : ''}${words.join(spaced ? '  ' : ' ')}${end}`,
      request: list,
    }
  })

const nothing = fc
  .constantFrom('*0\r\n', '*-1\r\n', '\r\n', '\n', '  \t\r\n')
  .map((bytes): Piece => ({ bytes, request: undefined }))

const pipeline = fc.array(fc.oneof(array, inline, nothing), { minLength: 1, maxLength: 12 })

/** Cuts bytes at these places, in the order of the places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b)
  return [...at, bytes.length].map((end, i) => bytes.subarray(i === 0 ? 0 : at[i - 1], end))
}

describe('A pipeline of requests', () => {
  test('is the same however it is cut', () => {
    fc.assert(
      fc.property(pipeline, fc.array(fc.nat(), { maxLength: 20 }), (pieces, places) => {
        const stream = Buffer.from(pieces.map(({ bytes }) => bytes).join(''), 'latin1')
        const requests = pieces.flatMap(({ request }) => (request ? [request] : []))
        expect(parseRequests(cut(stream, places))).toEqual({ requests, error: undefined })
      }),
      { numRuns: 500 },
    )
  })

  test('is the same byte by byte', () => {
    fc.assert(
      fc.property(pipeline, (pieces) => {
        const stream = Buffer.from(pieces.map(({ bytes }) => bytes).join(''), 'latin1')
        const requests = pieces.flatMap(({ request }) => (request ? [request] : []))
        expect(parseRequests(Array.from(stream, (byte) => Buffer.of(byte))).requests).toEqual(
          requests,
        )
      }),
      { numRuns: 60 },
    )
  })

  test('may be fed ahead of being parsed', () => {
    fc.assert(
      fc.property(pipeline, fc.array(fc.nat(), { maxLength: 10 }), (pieces, places) => {
        const stream = Buffer.from(pieces.map(({ bytes }) => bytes).join(''), 'latin1')
        const parser = new RequestParser(TCP_LIMITS)
        for (const chunk of cut(stream, places)) parser.feed(chunk)
        expect(parser.pendingBytes).toBe(stream.length)
        const requests: string[][] = []
        while (parser.next()) {
          const own = parser.detach()
          requests.push(Array.from({ length: own.count }, (_, index) => own.text(index)))
        }
        expect(requests).toEqual(pieces.flatMap(({ request }) => (request ? [request] : [])))
        expect(parser.pendingBytes).toBe(0)
      }),
      { numRuns: 200 },
    )
  })
})

describe('A request that is still executed when its chunk is overwritten', () => {
  test('keeps its arguments, and what comes after it is parsed as it came', () => {
    fc.assert(
      fc.property(
        pipeline,
        fc.array(fc.nat(), { maxLength: 10 }),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }),
        (pieces, places, waits) => {
          const stream = Buffer.from(pieces.map(({ bytes }) => bytes).join(''), 'latin1')
          const parser = new RequestParser(TCP_LIMITS)
          const requests: string[][] = []
          let count = 0
          const read = (): void => {
            requests.push(Array.from({ length: parser.count }, (_, index) => parser.text(index)))
          }
          /** Reads requests up to one that is read only once the bytes it came in are gone. */
          const process = (): boolean => {
            while (parser.next()) {
              if (waits[count++ % waits.length] === true) return true
              read()
            }
            return false
          }
          let waiting = false
          for (const chunk of cut(stream, places)) {
            const lent = Buffer.from(chunk)
            parser.lend(lent)
            if (!waiting) waiting = process()
            parser.keep(waiting)
            lent.fill(0xee)
          }
          for (; waiting; waiting = process()) read()
          expect(requests).toEqual(pieces.flatMap(({ request }) => (request ? [request] : [])))
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('Any bytes at all', () => {
  const marks = ['*', '$', '\r', '\n', '\r\n', '"', "'", '*2', '$-1', 'abc', '0', '\0']
  const lines = [
    '*1\r\n',
    '*2\r\n',
    '*21\r\n',
    '$1\r\na\r\n',
    '$3\r\n',
    '$01\r\na\r\n',
    '$1\r\nab\r\n',
  ]
  const long = `$80\r\n${'x'.repeat(80)}\r\n`
  const noise = fc.oneof(byteString, fc.constantFrom(...marks), {
    weight: 3,
    arbitrary: fc.constantFrom(...lines, long, `$101\r\n${'y'.repeat(101)}\r\n`),
  })

  test('give the same requests and the same error however they are cut', () => {
    fc.assert(
      fc.property(
        fc.array(noise, { maxLength: 12 }),
        fc.array(fc.nat(), { maxLength: 8 }),
        fc.boolean(),
        (parts, places, unauthenticated) => {
          const stream = Buffer.from(parts.join(''), 'latin1')
          const limits = { maxBulkBytes: 100, maxArguments: 20, maxCommandBytes: 120 }
          const whole = parseRequests([stream], limits, unauthenticated)
          const inPieces = parseRequests(cut(stream, places), limits, unauthenticated)
          expect(inPieces.requests).toEqual(whole.requests)
          expect(inPieces.error?.message).toBe(whole.error?.message)
          expect(inPieces.error?.kind).toBe(whole.error?.kind)
        },
      ),
      { numRuns: 2_000 },
    )
  })
})
