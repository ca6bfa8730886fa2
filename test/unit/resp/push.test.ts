import { describe, expect, test } from 'vitest'
import { encodePush, messagePrefix } from '../../../server/resp/push.ts'
import { ArgumentList } from '../../../server/resp/request.ts'

describe('The beginning of a message', () => {
  test.each([
    [2, 'message', 'foo', '*3\r\n$7\r\nmessage\r\n$3\r\nfoo\r\n'],
    [3, 'message', 'foo', '>3\r\n$7\r\nmessage\r\n$3\r\nfoo\r\n'],
    [2, 'pmessage', 'f*', '*4\r\n$8\r\npmessage\r\n$2\r\nf*\r\n'],
    [3, 'pmessage', 'f*', '>4\r\n$8\r\npmessage\r\n$2\r\nf*\r\n'],
    [2, 'smessage', '', '*3\r\n$8\r\nsmessage\r\n$0\r\n\r\n'],
    [3, 'smessage', '\0\xff', '>3\r\n$8\r\nsmessage\r\n$2\r\n\0\xff\r\n'],
  ] as const)('in RESP%d for a %s of %j', (protocol, kind, name, expected) => {
    expect(messagePrefix(protocol, kind, name).toString('latin1')).toBe(expected)
  })
})

describe('A push', () => {
  test('is an array in RESP2 and a push in RESP3', () => {
    const values = ['unsubscribe', null, 0, '\xff']
    expect(encodePush(2, values).toString('latin1')).toBe(
      '*4\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n$1\r\n\xff\r\n',
    )
    expect(encodePush(3, values).toString('latin1')).toBe(
      '>4\r\n$11\r\nunsubscribe\r\n_\r\n:0\r\n$1\r\n\xff\r\n',
    )
  })
})

describe('A list of arguments', () => {
  test('is a request of byte strings', () => {
    const request = ArgumentList.of('publish', '\xe9', '')
    expect(request.count).toBe(3)
    expect(request.bytes(1)).toEqual(Buffer.from([0xe9]))
    expect(request.text(1)).toBe('\xe9')
    expect([request.length(0), request.length(2)]).toEqual([7, 0])
    expect(request.detach()).toBe(request)
  })
})
