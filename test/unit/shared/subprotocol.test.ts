import { describe, expect, test } from 'vitest'
import {
  fitsSubprotocol,
  offerSubprotocols,
  readSubprotocols,
} from '../../../shared/subprotocol.ts'

describe('subprotocols', () => {
  test('a client offers resp3, and its token beside it', () => {
    expect(offerSubprotocols()).toEqual(['resp3'])
    expect(offerSubprotocols('a.b.c')).toEqual(['resp3', 'bearer.a.b.c'])
  })

  test('a server reads the token from any place, the first one only, and lists what it does not know', () => {
    expect(readSubprotocols(['bearer.a.b.c', 'chat', 'resp3', 'bearer.d'])).toEqual({
      resp3: true,
      token: 'a.b.c',
      unknown: ['chat'],
    })
    expect(readSubprotocols([])).toEqual({ resp3: false, token: undefined, unknown: [] })
  })

  test('a token travels as a subprotocol up to 4096 bytes and without separators', () => {
    expect(fitsSubprotocol('x'.repeat(4096))).toBe(true)
    expect(fitsSubprotocol('x'.repeat(4097))).toBe(false)
    expect(fitsSubprotocol('a,b')).toBe(false)
    expect(fitsSubprotocol('a b')).toBe(false)
    expect(fitsSubprotocol('')).toBe(false)
  })
})
