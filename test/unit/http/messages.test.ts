import { describe, expect, test } from 'vitest'
import { MOST_MESSAGES, readMessages } from '../../../server/http/messages.ts'

function read(value: unknown): readonly string[][] | string {
  const messages = readMessages(Buffer.from(JSON.stringify(value)))
  if (typeof messages === 'string') return messages
  return messages.map(({ channel, payload }) => [
    channel.toString('latin1'),
    payload.toString('latin1'),
  ])
}

describe('Messages in JSON', () => {
  test('are texts in UTF-8, or bytes in base64, also in its alphabet for URLs', () => {
    expect(
      read([
        { channel: 'n', payload: 'é' },
        { b64channel: '/w==', b64payload: '-_8' },
        { channel: '', payload: '' },
      ]),
    ).toEqual([
      ['n', '\xc3\xa9'],
      ['\xff', '\xfb\xff'],
      ['', ''],
    ])
  })

  test('may be one alone, or none', () => {
    expect(read({ channel: 'n', payload: 'x' })).toEqual([['n', 'x']])
    expect(read([])).toEqual([])
  })

  test.each([
    ['payload', { channel: 'n' }],
    ['payload', { channel: 'n', payload: 1 }],
    ['payload', { channel: 'n', payload: 'x', b64payload: 'eA==' }],
    ['payload', { channel: 'n', b64payload: '*' }],
    ['channel', { payload: 'x' }],
  ])('are refused where %s is missing, doubled or no text: %j', (name, message) => {
    expect(read([{ channel: 'n', payload: 'good' }, message])).toBe(
      `message 1: either ${name}, a text, or b64${name}, bytes in base64, is needed`,
    )
  })

  test.each([[[1]], ['text'], [null], [[[]]]])('are objects: %j is refused', (value) => {
    expect(read(value)).toMatch(/an object with channel and payload is needed$/)
  })

  test('are at most 128', () => {
    const one = { channel: 'n', payload: 'x' }
    expect(read(Array.from({ length: MOST_MESSAGES }, () => one))).toHaveLength(128)
    expect(read(Array.from({ length: MOST_MESSAGES + 1 }, () => one))).toBe(
      'at most 128 messages in one request',
    )
  })

  test('that are no JSON are refused', () => {
    expect(readMessages(Buffer.from('{'))).toBe('the body is not JSON')
  })
})
