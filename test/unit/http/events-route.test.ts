import { expect, test } from 'vitest'
import { readEventNames } from '../../../server/http/events-route.ts'

test.each([
  ['channel=a&channel=b&pattern=c*', ['a', 'b'], ['c*']],
  ['token=x&channel=a%26b+c%2B&other=1', ['a&b c+'], []],
  ['pattern=%ff=', [], ['\xff=']],
  ['channel=', [''], []],
  ['login', [], []],
  ['login&channel=a', ['a'], []],
])('the query %j names %j and the patterns %j', (query, channels, patterns) => {
  expect(readEventNames(query)).toEqual({ channels, patterns })
})

test.each([
  ['', 'a channel or a pattern is needed'],
  ['channels=a', 'a channel or a pattern is needed'],
  ['channel', 'a channel or a pattern is needed'],
  ['channel=%f', 'a channel has a bad percent-encoding'],
  ['channel=a&pattern=%', 'a pattern has a bad percent-encoding'],
])('the query %j is refused: %s', (query, reason) => {
  expect(readEventNames(query)).toBe(reason)
})
