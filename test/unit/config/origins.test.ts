import { describe, expect, test } from 'vitest'
import { originProblem, originRules } from '../../../server/config/origins.ts'
import { settingsOf } from '../../support/settings.ts'

describe('An entry of ws-allowed-origins', () => {
  test.each([
    ['https://app.example.com/', 'https://app.example.com'],
    ['https://APP.example.com:443', 'https://app.example.com'],
    ['HTTP://app.example.com:80', 'http://app.example.com'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['capacitor://localhost', 'capacitor://localhost'],
    ['chrome-extension://abcdefgh', 'chrome-extension://abcdefgh'],
    ['https://*.Example.com', 'https://*.example.com'],
    ['*', '*'],
  ])('%s means %s', (entry, origin) => {
    expect(originRules([entry]).map((rule) => rule.origin)).toEqual([origin])
  })

  test('may be several, with commas', () => {
    const rules = originRules(['https://a.example,', 'https://b.example,https://c.example'])
    expect(rules.map(({ origin }) => origin)).toEqual([
      'https://a.example',
      'https://b.example',
      'https://c.example',
    ])
  })

  test.each([
    ['app.example.com', 'has no scheme; give https://app.example.com'],
    ['//app.example.com/', 'has no scheme; give https://app.example.com'],
    [
      'https://app.example.com/chat',
      'has more than scheme, host and port; give https://app.example.com',
    ],
    [
      'https://me@app.example.com',
      'has more than scheme, host and port; give https://app.example.com',
    ],
    [
      'https://app.example.com?x',
      'has more than scheme, host and port; give https://app.example.com',
    ],
    ['https://', 'is no origin; give https://host or https://host:port'],
    ['https://a b', 'is no origin; give https://host or https://host:port'],
    ['https://host:99999', 'is no origin; give https://host or https://host:port'],
    ['app://', 'is no origin; give scheme://host'],
    ['null', 'is the origin of any file and any sandboxed page; it cannot be told from others'],
    ['https://app.*.com', 'may have * as its first label only, as in https://*.example.com'],
    ['https://*.*.com', 'may have * as its first label only, as in https://*.example.com'],
    ['https://*', 'may have * as its first label only, as in https://*.example.com'],
    ['https://*.com', 'may have * as its first label only, as in https://*.example.com'],
    ['https://a*.example.com', 'may have * as its first label only, as in https://*.example.com'],
  ])('cannot be %s', (entry, problem) => {
    expect(originProblem(['https://good.example', entry])).toBe(`argument '${entry}' ${problem}`)
  })
})

test.each([
  ['ws-allowed-origins', 'app.example.com'],
  ['admin-hosts', 'https://ops.example.com'],
  ['admin-hosts', 'ops.example.com:8081'],
])('%s %s, which could never match, refuses to start', (name, value) => {
  expect(() => settingsOf({ [name]: value })).toThrow(value)
})
