import { describe, expect, test } from 'vitest'
import { explanationText, questionOf } from '../../../server/cli/token.ts'
import { EXPLANATION_FIELDS, type Explanation } from '../../../server/token/explain/explain.ts'
import { TestCore } from '../../support/test-core.ts'

describe('A command that is to be explained', () => {
  const core = new TestCore()

  test('is found with its channels, as bytes', () => {
    const question = questionOf(core, ['subscribe', 'zürich', 'b'])
    if (typeof question === 'string') throw new Error(question)
    expect(question.request.count).toBe(3)
    expect(question.request.text(1)).toBe('z\xc3\xbcrich')
  })

  test.each([
    [['nonsense', 'a'], "there is no command 'nonsense'"],
    [[''], "there is no command ''"],
    [['subscribe'], 'subscribe needs a channel'],
    [['PUBLISH'], 'publish needs a channel'],
  ])('%j: %s', (words, problem) => {
    expect(questionOf(core, words)).toBe(problem)
  })

  test('needs no channel where the command has none', () => {
    expect(typeof questionOf(core, ['ping'])).toBe('object')
    expect(typeof questionOf(core, ['client', 'id'])).toBe('object')
  })
})

test('an explanation is one line for each field that applies, in UTF-8', () => {
  const none = Object.fromEntries(EXPLANATION_FIELDS.map((field) => [field, undefined]))
  const explanation = {
    ...none,
    allowed: false,
    user: 'jwt:z\xc3\xbcrich',
    fix: 'ask',
  } as Explanation
  expect(explanationText(explanation)).toBe(
    'allowed    no\nuser       jwt:zürich\nfix        ask\n',
  )
})
