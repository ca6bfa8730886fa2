import { describe, expect, test } from 'vitest'
import {
  alternativesOf,
  checkableRules,
  compareRules,
  parseAclLine,
  splitRules,
} from '../../../../../web/console/model/acl-rules.ts'

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1')

describe('rules of ACL users', () => {
  test('white space and line ends part rules, and a selector stays whole', () => {
    expect(splitRules(' on\n&news:*  (+publish\n&typing:*)\t(~a) ')).toEqual([
      'on',
      '&news:*',
      '(+publish &typing:*)',
      '(~a)',
    ])
  })

  test('brackets within a pattern begin and end nothing', () => {
    expect(splitRules('&a(b &c) +publish')).toEqual(['&a(b', '&c)', '+publish'])
  })

  test('a line of ACL LIST is a user, a role or a ceiling by its name', () => {
    expect(parseAclLine(bytes('user backend on #ab ~* &* +@all'))).toEqual({
      name: 'backend',
      kind: 'user',
      enabled: true,
      rules: ['on', '#ab', '~*', '&*', '+@all'],
      isBinary: false,
    })
    expect(parseAclLine(bytes('user role:a off'))).toMatchObject({ kind: 'role', enabled: false })
    expect(parseAclLine(bytes('user jwt@b:42 on'))).toMatchObject({ kind: 'ceiling' })
    expect(parseAclLine(bytes('user x on &\xff'))).toMatchObject({ isBinary: true })
  })

  test('what changes is what is added and what is taken away', () => {
    expect(compareRules(['on', '&a', '+@all'], ['+@all', 'on', '&b'])).toEqual({
      added: ['&b'],
      removed: ['&a'],
    })
  })

  test('each alternative has its commands and its channels; one that allows nothing is none', () => {
    expect(
      alternativesOf(['on', 'resetchannels', '-@all', '(resetchannels -@all +publish &a &b)']),
    ).toEqual([{ commands: ['-@all', '+publish'], channels: ['&a', '&b'] }])
  })

  test('passwords of users are not shown to RESPCAST CHECK, which tries roles', () => {
    const rules = ['on', '>word', '#ab', 'nopass', '&a']
    expect(checkableRules('backend', rules)).toEqual(['on', '&a'])
    expect(checkableRules('role:a', rules)).toEqual(rules)
  })
})
