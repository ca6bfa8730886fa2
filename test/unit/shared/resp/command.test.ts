import { describe, expect, test } from 'vitest'
import { encodeCommand } from '../../../../shared/resp/command.ts'
import type { CommandArgument } from '../../../../shared/resp/command.ts'

describe('a command is an array of bulk strings', () => {
  test.each<[CommandArgument[], string]>([
    [['PING'], '*1\r\n$4\r\nPING\r\n'],
    [['PUBLISH', 'news', ''], '*3\r\n$7\r\nPUBLISH\r\n$4\r\nnews\r\n$0\r\n\r\n'],
    [['ECHO', Uint8Array.of(0, 13, 10, 255)], '*2\r\n$4\r\nECHO\r\n$4\r\n\x00\r\n\xff\r\n'],
    [['ECHO', 'grüße'], '*2\r\n$4\r\nECHO\r\n$7\r\ngr\xc3\xbc\xc3\x9fe\r\n'],
    [['ECHO', '😀'], '*2\r\n$4\r\nECHO\r\n$4\r\n\xf0\x9f\x98\x80\r\n'],
    [['ECHO', '\ud83d!'], '*2\r\n$4\r\nECHO\r\n$4\r\n\xef\xbf\xbd!\r\n'],
    [[], '*0\r\n'],
  ])('%j', (args, expected) => {
    const command = encodeCommand(args)
    expect(Buffer.from(command).toString('latin1')).toBe(expected)
    expect(command.buffer.byteLength).toBe(expected.length)
  })
})
