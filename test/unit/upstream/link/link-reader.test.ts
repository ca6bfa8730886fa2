import { describe, expect, test, vi } from 'vitest'
import { RespProtocolError } from '../../../../shared/resp/error.ts'
import type { RespValue } from '../../../../shared/resp/types.ts'
import type { Payload } from '../../../../server/delivery/segment.ts'
import { LinkReader } from '../../../../server/upstream/link/link-reader.ts'
import { testEachCut } from '../../../support/each-cut.ts'
import { bulk, pushOf } from '../../../support/fake-node.ts'

type Read = readonly ['message', string, string, string, string] | readonly ['value', RespValue]

function textOf(payload: Payload): string {
  const copy = Buffer.alloc(payload.length + 2, '-')
  payload.copy(copy, 1)
  const text = copy.toString('latin1')
  expect(text).toBe(`-${payload.kept().toString('latin1')}-`)
  return text.slice(1, -1)
}

/** Reads chunks. @returns What was handed over. */
function read(chunks: readonly Uint8Array[], onRead: (reader: LinkReader) => void = () => {}) {
  const taken: Read[] = []
  const reader = new LinkReader({
    message: (space, source, channel, payload) => {
      taken.push(['message', space, source, channel, textOf(payload)])
      onRead(reader)
    },
    value: (value) => {
      taken.push(['value', value])
      onRead(reader)
    },
  })
  for (const chunk of chunks) reader.feed(Buffer.from(chunk))
  return taken
}

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')
/** As replies have them. */
const raw = (text: string): Uint8Array => new Uint8Array(bytes(text))
const asPush = (...items: RespValue[]): Read => ['value', { type: 'push', items }]

describe('A link reader hands over', () => {
  testEachCut(
    'messages of the three spaces, with names and payloads of any bytes',
    pushOf('message', 'a\xff\r\n', 'p\0\r\n$3\r\n') +
      pushOf('pmessage', 'a*', 'a:\x80', '>3\r\n') +
      pushOf('smessage', '{x}', '') +
      pushOf('message', '', 'x'),
    (chunks) => {
      expect(read(chunks)).toEqual([
        ['message', 'channel', 'a\xff\r\n', 'a\xff\r\n', 'p\0\r\n$3\r\n'],
        ['message', 'pattern', 'a*', 'a:\x80', '>3\r\n'],
        ['message', 'shard', '{x}', '{x}', ''],
        ['message', 'channel', '', '', 'x'],
      ])
    },
  )

  testEachCut(
    'integers and errors, and confirmations, in their order among the messages',
    `:0\r\n:-12\r\n${pushOf('subscribe', 'n', 1)}${pushOf('message', 'n', 'm')}-ERR no\r\n:9007199254740991\r\n` +
      pushOf('punsubscribe', 'message', 0) +
      pushOf('ssubscribe', 's', 2) +
      '+QUEUED\r\n',
    (chunks) => {
      expect(read(chunks)).toEqual([
        ['value', 0],
        ['value', -12],
        asPush(raw('subscribe'), raw('n'), 1),
        ['message', 'channel', 'n', 'n', 'm'],
        ['value', { type: 'error', message: 'ERR no' }],
        ['value', 9_007_199_254_740_991],
        asPush(raw('punsubscribe'), raw('message'), 0),
        asPush(raw('ssubscribe'), raw('s'), 2),
        ['value', 'QUEUED'],
      ])
    },
  )

  testEachCut(
    'every other value of RESP3',
    '_\r\n#t\r\n,1.5\r\n(12345678901234567890\r\n$-1\r\n*-1\r\n*0\r\n$0\r\n\r\n=7\r\ntxt:a\r\n\r\n' +
      '!6\r\nERR\r\n!\r\n%1\r\n+k\r\n*2\r\n:1\r\n$2\r\n\r\n\r\n~1\r\n:3\r\n|1\r\n+ttl\r\n:5\r\n*1\r\n:6\r\n',
    (chunks) => {
      expect(read(chunks).map(([, value]) => value)).toEqual([
        null,
        true,
        { type: 'double', value: 1.5 },
        { type: 'big-number', value: 12_345_678_901_234_567_890n },
        null,
        null,
        [],
        new Uint8Array(),
        { type: 'verbatim', format: 'txt', bytes: raw('a\r\n') },
        { type: 'error', message: 'ERR\r\n!' },
        { type: 'map', entries: [['k', [1, raw('\r\n')]]] },
        { type: 'set', members: [3] },
        {
          type: 'attributed',
          attributes: { type: 'map', entries: [['ttl', 5]] },
          value: [6],
        },
      ])
    },
  )

  test('an integer beyond 2^53 - 1 exactly', () => {
    expect(read([bytes(':9223372036854775807\r\n')])).toEqual([
      ['value', 9_223_372_036_854_775_807n],
    ])
  })

  test('a payload of megabytes once, when the last of its many chunks is there', () => {
    const payload = Buffer.alloc(3 * 1_048_576, 'abc').toString('latin1')
    const whole = Buffer.from(`${pushOf('message', 'n', payload)}:7\r\n`, 'latin1')
    const chunks = Array.from({ length: Math.ceil(whole.length / 65_536) }, (_, at) =>
      whole.subarray(at * 65_536, (at + 1) * 65_536),
    )
    expect(read(chunks)).toEqual([
      ['message', 'channel', 'n', 'n', payload],
      ['value', 7],
    ])
  })

  test('a reply of many values, of which each is looked at once although it comes in many chunks', () => {
    const whole = bytes(`*4000\r\n${'$6\r\nroom:1\r\n'.repeat(2_000)}${':1\r\n'.repeat(2_000)}`)
    const chunks = Array.from({ length: Math.ceil(whole.length / 100) }, (_, at) =>
      whole.subarray(at * 100, (at + 1) * 100),
    )
    const looks = vi.spyOn(Buffer.prototype, 'indexOf')
    const taken = read(chunks)
    const count = looks.mock.calls.length
    looks.mockRestore()
    expect(taken).toHaveLength(1)
    expect(count).toBeLessThan(20_000)
  })

  test('nothing more once it has been stopped, not even what has been read already', () => {
    const stream = `${pushOf('message', 'n', '1')}${pushOf('message', 'n', '2')}:1\r\n`
    const once = read([bytes(stream), bytes(stream)], (reader) => reader.stop())
    expect(once).toEqual([['message', 'channel', 'n', 'n', '1']])
  })
})

test('A link reader hands over values that outlive the memory that was lent for them', () => {
  const values: RespValue[] = []
  const reader = new LinkReader({ message: () => {}, value: (value) => void values.push(value) })
  const lent = bytes(`*2\r\n${bulk('role')}${bulk('master')}`)
  reader.feed(lent, true)
  lent.fill('x')
  expect(values).toEqual([[raw('role'), raw('master')]])
})

describe('A link reader that is paused', () => {
  testEachCut(
    'hands nothing over behind the frame that paused it, and goes on in order',
    pushOf('message', 'a', '1') +
      pushOf('message', 'stop', '') +
      pushOf('message', 'b', '2\r\n') +
      ':7\r\n' +
      pushOf('message', 'stop', '') +
      pushOf('message', 'c', '3'),
    (chunks) => {
      const taken: string[] = []
      const reader = new LinkReader({
        message: (_space, source, _channel, payload) => {
          taken.push(source + textOf(payload))
          if (source === 'stop') reader.pause()
        },
        value: (value) => void taken.push(`value ${JSON.stringify(value)}`),
      })
      // Each chunk is lent: its memory is overwritten when it has been fed.
      for (const chunk of chunks) {
        const lent = Buffer.from(chunk)
        reader.feed(lent, true)
        lent.fill('x')
      }
      expect(taken).toEqual(['a1', 'stop'])
      reader.resume()
      expect(taken.slice(2)).toEqual(['b2\r\n', 'value 7', 'stop'])
      reader.resume()
      expect(taken.slice(5)).toEqual(['c3'])
    },
  )

  test('goes on within a frame that came in parts meanwhile', () => {
    const taken: string[] = []
    const reader = new LinkReader({
      message: (_space, _source, _channel, payload) => void taken.push(textOf(payload)),
      value: () => {},
    })
    const stream = bytes(pushOf('message', 'n', 'whole') + pushOf('message', 'n', 'in parts'))
    reader.pause()
    reader.feed(stream.subarray(0, 50))
    reader.resume()
    reader.pause()
    reader.feed(stream.subarray(50))
    expect(taken).toEqual(['whole'])
    reader.resume()
    expect(taken).toEqual(['whole', 'in parts'])
  })

  test('hands nothing over once it has been stopped', () => {
    const taken: string[] = []
    const reader = new LinkReader({ message: () => {}, value: () => void taken.push('value') })
    reader.pause()
    reader.feed(bytes(':1\r\n'))
    reader.stop()
    reader.resume()
    expect(taken).toEqual([])
  })
})

describe('A link reader refuses', () => {
  test.each([
    ['an answer of HTTP', 'HTTP/1.1 400 Bad Request\r\n'],
    ['a type that does not exist', '?1\r\n'],
    ['an integer of letters', ':1x\r\n'],
    ['an integer without digits', ':\r\n'],
    ['a minus alone', ':-\r\n'],
    ['a line end without its LF', ':1\rx'],
    ['a bulk string of a negative length within a message', '>3\r\n$7\r\nmessage\r\n$-1\r\n'],
    ['a message without a name', '>3\r\n$7\r\nmessage\r\n:1\r\n$1\r\nx\r\n'],
    ['a payload that is longer than it says', `>3\r\n$7\r\nmessage\r\n${bulk('n')}$1\r\nxyz\r\n`],
    ['a name that is longer than it says', `>3\r\n$7\r\nmessage\r\n$1\r\nnnn\r\n${bulk('x')}`],
    ['a bulk string of a gigabyte', '$1073741824\r\n'],
    ['a payload of a gigabyte', `>3\r\n$7\r\nmessage\r\n${bulk('n')}$1073741824\r\n`],
    ['a reply that is nested without end', '*1\r\n'.repeat(20)],
    ['a line that does not end', `+${'x'.repeat(70_000)}`],
    ['a number that does not end', `:${'1'.repeat(70_000)}`],
    ['a length that does not end', `>3\r\n$7\r\nmessage\r\n$${'0'.repeat(70_000)}`],
  ])('%s', (_, stream) => {
    expect(() => read([bytes(stream)])).toThrow(RespProtocolError)
  })

  test('a type that does not exist at its first byte', () => {
    expect(() => read([bytes('?')])).toThrow(RespProtocolError)
  })

  test('what comes behind whole frames, which are handed over', () => {
    const taken: string[] = []
    const reader = new LinkReader({
      message: (_space, _source, channel) => void taken.push(channel),
      value: () => void taken.push('value'),
    })
    const stream = `${pushOf('message', 'n', 'm')}:1\r\n?\r\n${pushOf('message', 'late', 'm')}`
    expect(() => reader.feed(Buffer.from(stream))).toThrow(RespProtocolError)
    expect(taken).toEqual(['n', 'value'])
  })
})
