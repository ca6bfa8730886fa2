import { describe, expect, test } from 'vitest'
import { messageEvent } from '../../../server/delivery/event.ts'
import { payloadOf } from '../../../server/delivery/segment.ts'
import type { MessageKind } from '../../../server/resp/push.ts'

function event(
  kind: MessageKind,
  name: string,
  channel: string | undefined,
  payload: string,
): string {
  return messageEvent(kind, name, channel, payloadOf(Buffer.from(payload, 'latin1'))).toString(
    'utf8',
  )
}

describe('The event of a message', () => {
  test('is one line of JSON, whatever the text holds', () => {
    expect(event('message', 'news', undefined, 'a "b"\r\n\n\u0000')).toBe(
      'data: {"channel":"news","payload":"a \\"b\\"\\r\\n\\n\\u0000"}\n\n',
    )
  })

  test('has UTF-8 as text', () => {
    expect(event('message', 'j\xc3\xb6', undefined, '\xe2\x82\xac')).toBe(
      'data: {"channel":"jö","payload":"€"}\n\n',
    )
  })

  test('has other bytes in base64, under another name', () => {
    expect(event('message', '\xff', undefined, '\xff\0')).toBe(
      'data: {"b64channel":"/w==","b64payload":"/wA="}\n\n',
    )
  })

  test('names the pattern, and the channel of each message', () => {
    expect(event('pmessage', 'a*', 'ab', 'x')).toBe(
      'data: {"pattern":"a*","channel":"ab","payload":"x"}\n\n',
    )
    expect(event('pmessage', 'a*', 'ac', 'x')).toBe(
      'data: {"pattern":"a*","channel":"ac","payload":"x"}\n\n',
    )
    expect(event('message', 'a*', undefined, 'x')).toBe('data: {"channel":"a*","payload":"x"}\n\n')
  })

  test('of a shard channel says so', () => {
    expect(event('smessage', 's', undefined, '')).toBe(
      'data: {"shardChannel":"s","payload":""}\n\n',
    )
  })
})
