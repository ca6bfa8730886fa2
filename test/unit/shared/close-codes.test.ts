import { describe, expect, test } from 'vitest'
import {
  classifyClose,
  CLOSE_CODES,
  closeNamed,
  closeReason,
  parseCloseReason,
} from '../../../shared/close-codes.ts'

describe('the table of close codes', () => {
  test('names each reason once, with a code that RFC 6455 leaves to applications', () => {
    const names = CLOSE_CODES.map((entry) => entry.name)
    expect(new Set(names).size).toBe(names.length)
    for (const { code } of CLOSE_CODES) {
      expect(code).toBeGreaterThanOrEqual(4000)
      expect(code).toBeLessThan(5000)
    }
  })

  test.each([
    [4400, 'protocol-error', 'stop'],
    [4401, 'unauthorized', 'new-token'],
    [4403, 'permissions-changed', 'reconnect'],
    [4403, 'revoked', 'new-token'],
    [4403, 'forbidden', 'stop'],
    [4408, 'auth-timeout', 'reconnect'],
    [4413, 'too-large', 'reconnect'],
    [4429, 'rate-limited', 'reconnect'],
    [4450, 'slow-consumer', 'reconnect'],
    [4500, 'server-error', 'reconnect'],
    [4503, 'draining', 'reconnect'],
  ] as const)('%i %s means %s', (code, name, action) => {
    expect(closeNamed(name)).toMatchObject({ code, name, action })
    expect(classifyClose(code, name)).toMatchObject({ code, name, action })
  })

  test('an unknown name falls back to the first of its code, an unknown code reconnects', () => {
    expect(classifyClose(4403, 'other')).toMatchObject({ name: 'permissions-changed' })
    expect(classifyClose(4503)).toMatchObject({ name: 'draining' })
    expect(classifyClose(1006)).toMatchObject({
      code: 1006,
      name: 'lost',
      action: 'reconnect',
      complete: false,
    })
  })
})

describe('a close reason', () => {
  test('reads name, hint, text', () => {
    expect(closeReason('draining', 5000, 'restart')).toBe('draining|5000|restart')
    expect(parseCloseReason('draining|5000|restart')).toEqual({
      name: 'draining',
      retryMs: 5000,
      text: 'restart',
    })
  })

  test('may lack the hint and the text', () => {
    expect(closeReason('forbidden', undefined, '')).toBe('forbidden||')
    expect(parseCloseReason('forbidden||')).toEqual({
      name: 'forbidden',
      retryMs: undefined,
      text: '',
    })
  })

  test('keeps bars within the text', () => {
    expect(parseCloseReason('revoked|0|a|b')).toEqual({ name: 'revoked', retryMs: 0, text: 'a|b' })
  })

  test.each(['', 'going away', '|1|x', 'Draining|1|x', 'draining|soon|x', 'draining|-1|x'])(
    'is not read from %j',
    (reason) => {
      expect(parseCloseReason(reason)).toBeUndefined()
    },
  )

  test('fits in a control frame: 123 bytes of UTF-8, cut between characters', () => {
    const reason = closeReason('draining', 5000, '😀'.repeat(60))
    // 14 bytes of head leave room for 27 characters of four bytes.
    expect(reason).toBe(`draining|5000|${'😀'.repeat(27)}`)
    expect(Buffer.byteLength(closeReason('revoked', 1, 'x'.repeat(500)))).toBe(123)
  })
})
