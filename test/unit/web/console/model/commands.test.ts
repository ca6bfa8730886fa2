import { describe, expect, test } from 'vitest'
import { commandText, splitWords } from '../../../../../web/console/model/commands.ts'

describe('commands as text', () => {
  test('words with blanks and quotes are quoted', () => {
    expect(commandText(['PUBLISH', 'news', 'say "hi"\n', ''])).toBe(
      String.raw`PUBLISH news "say \"hi\"\n" ""`,
    )
  })

  test('passwords, tokens and secret directives are hidden', () => {
    expect(commandText(['AUTH', 'admin', 'secret'])).toBe('AUTH admin (password)')
    expect(commandText(['AUTH', 'secret'])).toBe('AUTH (password)')
    expect(commandText(['acl', 'setuser', 'a', 'on', '>secret', '#secret', '&x'])).toBe(
      'acl setuser a on >(password) #(password) &x',
    )
    expect(commandText(['TOKEN', 'EXPLAIN', 'aaa.bbb.ccc', 'subscribe', 'x'])).toBe(
      'TOKEN EXPLAIN (token) subscribe x',
    )
    expect(commandText(['TOKEN', 'EXPLAIN', 'CLIENT', '7'])).toBe('TOKEN EXPLAIN CLIENT 7')
    expect(commandText(['CONFIG', 'SET', 'requirepass', 'secret', 'timeout', '5'])).toBe(
      'CONFIG SET requirepass (secret) timeout 5',
    )
  })

  test('long words and long commands are cut', () => {
    const text = commandText(['SUBSCRIBE', ...Array.from({ length: 100 }, () => 'x'.repeat(500))])
    expect(text).toContain('... (61 more)')
    expect(text.length).toBeLessThan(7_000)
  })
})

describe('tokens and payloads', () => {
  test('quotes keep the words of a command together', () => {
    expect(splitWords(`publish "a b" '' c"d`)).toEqual(['publish', 'a b', '', 'c"d'])
  })
})
