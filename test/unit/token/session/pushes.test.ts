import { describe, expect, test } from 'vitest'
import { tokenPushes } from '../../../../server/token/session/pushes.ts'

const text = (frame: Buffer): string => frame.toString('latin1')

describe('A push about a token', () => {
  test('tells who was accepted, and for how long', () => {
    expect(text(tokenPushes.accepted('jwt:42', 3_600_000.9))).toBe(
      '>4\r\n$5\r\ntoken\r\n$8\r\naccepted\r\n$6\r\njwt:42\r\n:3600000\r\n',
    )
  })

  test('tells the largest command', () => {
    expect(text(tokenPushes.limits(65_536, 128))).toBe(
      '>4\r\n$5\r\ntoken\r\n$6\r\nlimits\r\n:65536\r\n:128\r\n',
    )
  })

  test('tells that the token is going to expire, and that it has', () => {
    expect(text(tokenPushes.expiring(1_234.5))).toBe(
      '>3\r\n$5\r\ntoken\r\n$8\r\nexpiring\r\n:1234\r\n',
    )
    expect(text(tokenPushes.expired(25_000))).toBe(
      '>3\r\n$5\r\ntoken\r\n$7\r\nexpired\r\n:25000\r\n',
    )
  })

  test('never tells a time below 0', () => {
    expect(text(tokenPushes.expired(-1))).toBe('>3\r\n$5\r\ntoken\r\n$7\r\nexpired\r\n:0\r\n')
  })

  test('tells that more is allowed than before', () => {
    expect(text(tokenPushes.granted())).toBe('>2\r\n$5\r\ntoken\r\n$7\r\ngranted\r\n')
  })

  test('tells what was revoked, its message in UTF-8', () => {
    expect(text(tokenPushes.revoked('a\xff', 'Gr\u00fc\u00dfe'))).toBe(
      '>4\r\n$5\r\ntoken\r\n$7\r\nrevoked\r\n$2\r\na\xff\r\n$7\r\nGr\xc3\xbc\xc3\x9fe\r\n',
    )
    expect(text(tokenPushes.revoked('', ''))).toBe(
      '>4\r\n$5\r\ntoken\r\n$7\r\nrevoked\r\n$0\r\n\r\n$0\r\n\r\n',
    )
  })
})
