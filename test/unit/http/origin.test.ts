import { describe, expect, test } from 'vitest'
import { isOriginAllowed } from '../../../server/http/origin.ts'

test('an origin longer than any page has is refused, even where all are allowed', () => {
  const origin = `https://${'a'.repeat(292)}`
  expect(isOriginAllowed({ origin, host: 'a' }, ['*'])).toBe(true)
  expect(isOriginAllowed({ origin: `${origin}a`, host: 'a' }, ['*'])).toBe(false)
})

describe('isOriginAllowed without a list', () => {
  test.each([
    ['http://127.0.0.1:8080', true],
    ['https://127.0.0.1:8080', true],
    [undefined, true],
    ['null', false],
    ['http://127.0.0.1', false],
    ['http://localhost:1', false],
    ['http://127.0.0.1:8080.evil.example', false],
    ['http://user@127.0.0.1:8080', false],
    ['http://127.0.0.1:8080/', false],
    ['http://127.0.0.1:8080/path', false],
    ['file://', false],
    ['chrome-extension://127.0.0.1:8080', false],
    ['', false],
  ])('answers %s on the host 127.0.0.1:8080 with %s', (origin, isAllowed) => {
    expect(isOriginAllowed({ origin, host: '127.0.0.1:8080' }, [])).toBe(isAllowed)
  })

  test.each([
    ['http://app.example', 'app.example', true],
    ['https://app.example', 'app.example', true],
    ['https://app.example', 'app.example:443', true],
    ['http://app.example', 'app.example:80', true],
    ['https://app.example', 'app.example:80', false],
    ['http://app.example:8080', 'app.example', false],
    ['http://app.example', 'APP.example', true],
    ['http://APP.example', 'app.example', false],
    ['http://app.example.', 'app.example', false],
    ['http://app.example.evil.test', 'app.example', false],
    ['http://evil.test', 'app.example', false],
  ])('answers %s on the host %s with %s', (origin, host, isAllowed) => {
    expect(isOriginAllowed({ origin, host }, [])).toBe(isAllowed)
  })
})

describe('isOriginAllowed with ws-allowed-origins', () => {
  const list = ['https://app.example', 'https://other.example:8443']

  test.each([
    ['https://app.example', true],
    ['https://other.example:8443', true],
    [undefined, true],
    ['http://app.example', false],
    ['https://app.example:443', false],
    ['https://other.example', false],
    ['https://APP.example', false],
    ['https://app.example.', false],
    ['https://app.example.evil.test', false],
    ['https://evil.test/https://app.example', false],
    ['null', false],
    ['http://127.0.0.1:8080', false],
  ])('answers %s with %s', (origin, isAllowed) => {
    expect(isOriginAllowed({ origin, host: '127.0.0.1:8080' }, list)).toBe(isAllowed)
  })

  test.each([
    ['https://a.example.com', true],
    ['https://a-b.example.com', true],
    ['https://a.b.example.com', false],
    ['https://example.com', false],
    ['https://.example.com', false],
    ['http://a.example.com', false],
    ['https://a.example.com:8443', false],
    ['https://a.example.com:8443.evil.test', false],
    ['https://aexample.com', false],
    ['https://evil.test/.example.com', false],
    ['https://user@a.example.com', false],
    ['https://a.example.com/', false],
    ['https://A.example.com', false],
    ['null', false],
  ])('a first label * answers %s with %s', (origin, isAllowed) => {
    const rules = ['https://*.example.com']
    expect(isOriginAllowed({ origin, host: '127.0.0.1:8080' }, rules)).toBe(isAllowed)
  })

  test.each(['https://any.example', 'null'])('* allows %s', (origin) => {
    expect(isOriginAllowed({ origin, host: '127.0.0.1:8080' }, ['*'])).toBe(true)
  })
})
