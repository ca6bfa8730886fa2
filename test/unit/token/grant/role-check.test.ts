import { describe, expect, test } from 'vitest'
import { validateRolePattern } from '../../../../server/token/grant/placeholders.ts'
import { checkRoleRules } from '../../../../server/token/grant/role-check.ts'
import { CATALOG } from '../../../support/tokens.ts'

const check = (rules: string) =>
  checkRoleRules(CATALOG, rules.split(' '), {
    pubsubDefault: 'resetchannels',
    checkRolePattern: validateRolePattern,
  })

describe('Rules of a role', () => {
  test('are shown as they would be stored', () => {
    expect(check('(+subscribe &news:{sub})')).toEqual({
      rules: 'off resetchannels -@all (resetchannels &news:{sub} -@all +subscribe)',
      warnings: [],
    })
  })

  test('are refused as ACL SETUSER refuses them', () => {
    expect(check('+nosuch')).toEqual({
      error: "Error in ACL SETUSER modifier '+nosuch': Unknown command or category name in ACL",
    })
    expect(check('&a:{nosuch}')).toHaveProperty('error')
    expect(check('>secret')).toEqual({
      error:
        "Error in ACL SETUSER modifier '>secret': Nobody logs in as a role, which cannot have a password",
    })
  })

  test.each([
    [
      'on',
      [
        'grants nothing to tokens: none of subscribe, psubscribe, ssubscribe, publish, spublish is allowed',
      ],
    ],
    ['+subscribe', ['the root permissions: commands without a channel']],
    ['+publish &a (&b)', ['selector 1: channels without a command that tokens can hold']],
    ['+subscribe allchannels', ['the root permissions: every channel']],
    [
      '+subscribe +get &a',
      ['the root permissions: has commands that tokens cannot hold; they are ignored'],
    ],
    [
      '+subscribe &{sub}:x',
      [
        'the root permissions: &{sub}:x begins with a placeholder, so that a token chooses the name space',
      ],
    ],
    ['+subscribe &x:{sub}', []],
  ])('%s have the warnings %j', (rules, warnings) => {
    expect(check(rules)).toMatchObject({ warnings })
  })
})
