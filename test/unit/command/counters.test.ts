import { expect, test } from 'vitest'
import { Counters } from '../../../server/command/counters.ts'

test('128 kinds of errors; with one more the kinds are not counted any more, until CONFIG RESETSTAT', () => {
  const counters = new Counters()
  for (let i = 0; i < 128; i++) counters.countError(`E${i}`)
  counters.countError('E0')
  expect(counters.errors.size).toBe(128)
  expect(counters.errors.get('E0')).toBe(2)
  counters.countError('E128')
  counters.countError('E0')
  expect([...counters.errors]).toEqual([['ERRORSTATS_DISABLED', 1]])
  expect(counters.errorReplies).toBe(131)
  counters.reset()
  counters.countError('E0')
  expect([...counters.errors]).toEqual([['E0', 1]])
})
