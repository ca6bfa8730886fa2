import { expect, test } from 'vitest'
import { ReplyCounter } from '../../history/reply-counter.ts'

/** Replies and errors of a stream that comes in two pieces, cut at every byte. */
function countsOf(stream: string, isResp2 = false): string[] {
  const bytes = Buffer.from(stream, 'latin1')
  const seen = new Set<string>()
  for (let cut = 0; cut <= bytes.length; cut++) {
    const counter = new ReplyCounter(isResp2)
    counter.read(bytes.subarray(0, cut))
    counter.read(bytes.subarray(cut))
    seen.add(`${counter.replies} ${counter.errors}`)
  }
  return [...seen]
}

test.each([
  ['numbers and simple strings', ':1\r\n+OK 12\r\n:-3\r\n', '3 0'],
  ['errors, which are counted by themselves too', '-ERR 5 no\r\n!3\r\nbad\r\n:1\r\n', '3 1'],
  ['strings with line ends in them, and none', '$6\r\n:1\r\n-x\r\n$-1\r\n$0\r\n\r\n', '3 0'],
  ['aggregates as one', '%1\r\n+a\r\n*2\r\n:1\r\n~1\r\n:2\r\n*0\r\n*-1\r\n', '3 0'],
])('A counter of replies counts %s', (_name, stream, counts) => {
  expect(countsOf(stream)).toEqual([counts])
})

test('A counter of replies skips pushes, which are arrays in RESP2', () => {
  const items = '3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\n:1\r\n'
  expect(countsOf(`>${items}:1\r\n>${items}`)).toEqual(['1 0'])
  expect(countsOf(`*${items}:1\r\n*${items}`, true)).toEqual(['1 0'])
  expect(countsOf(`*${items}:1\r\n`)).toEqual(['2 0'])
})
