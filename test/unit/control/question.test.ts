import { describe, expect, test } from 'vitest'
import {
  decodeAnswer,
  decodeQuestion,
  encodeAnswer,
  encodeQuestion,
  isAnswer,
  type Answer,
  type Question,
} from '../../../server/control/question.ts'

const ID = '0123456789abcdef'

const QUESTION: Question = {
  from: ID,
  number: 7,
  kind: 'counts',
  space: 'shard',
  part: 2,
  isLast: false,
  mostBytes: 65_536,
  items: ['a', '', 'b\n1:c', '\xff\0'],
}

const ANSWER: Answer = { node: ID, number: 7, part: 0, state: 'cut', items: ['0 3+', '\r\n'] }

describe('A question', () => {
  test('carries names of any bytes', () => {
    const message = encodeQuestion(QUESTION)
    expect(message.toString('latin1')).toBe(
      `${ID} 7 counts shard 2 more 65536\n1:a0:5:b\n1:c2:\xff\0`,
    )
    expect(decodeQuestion(message)).toEqual(QUESTION)
    const last = { ...QUESTION, isLast: true, items: [] }
    expect(decodeQuestion(encodeQuestion(last))).toEqual(last)
  })

  test.each([
    ['nothing', ''],
    ['no head', 'hello'],
    ['an unknown kind', `${ID} 7 secrets shard 2 more 65536\n`],
    ['an unknown space', `${ID} 7 counts pattern 2 more 65536\n`],
    ['an id of another form', `${ID.toUpperCase()} 7 counts shard 2 more 65536\n`],
    ['a number that is no safe integer', `${ID} 1234567890123456 counts shard 2 more 65536\n`],
    ['a name that is shorter than it says', `${ID} 7 counts shard 2 more 65536\n2:a`],
    ['a name without a length', `${ID} 7 counts shard 2 more 65536\na`],
    ['a length that is no number', `${ID} 7 counts shard 2 more 65536\n-1:a`],
  ])('is not read of %s', (_what, text) => {
    expect(decodeQuestion(Buffer.from(text, 'latin1'))).toBeUndefined()
  })
})

describe('An answer', () => {
  test('is told from the confirmations on its channel by its first byte', () => {
    const message = encodeAnswer(ANSWER)
    expect(message.toString('latin1')).toBe(`=${ID} 7 0 cut\n4:0 3+2:\r\n`)
    expect([isAnswer(message), isAnswer(Buffer.from(`${ID} 1-1 ${ID} 0`))]).toEqual([true, false])
    expect(isAnswer(Buffer.alloc(0))).toBe(false)
    expect(decodeAnswer(message)).toEqual(ANSWER)
  })

  test.each([
    ['an unknown state', `=${ID} 7 0 done\n`],
    ['no end of its head', `=${ID} 7 0 last`],
    ['a name that is shorter than it says', `=${ID} 7 0 last\n9:a`],
  ])('is not read of %s', (_what, text) => {
    expect(decodeAnswer(Buffer.from(text, 'latin1'))).toBeUndefined()
  })
})
