import { describe, expect, test } from 'vitest'
import {
  isSecretOfAuth,
  isSecretOfConfigSet,
  isSecretOfHello,
  isSecretOfUser,
  SECRET_DIRECTIVES,
} from '../../../server/command/secrets.ts'
import { DIRECTIVES } from '../../../server/config/directives.ts'
import { ArgumentList } from '../../../server/resp/request.ts'

type Judge = (request: ArgumentList, index: number) => boolean

/** The command with its secrets taken out. */
function hidden(judge: Judge, ...args: string[]): string {
  const request = ArgumentList.of(...args)
  return args.map((arg, index) => (judge(request, index) ? '*' : arg)).join(' ')
}

describe('What is hidden', () => {
  test('of AUTH and of the ACL commands: all but the command', () => {
    expect(hidden(isSecretOfAuth, 'AUTH', 'pw')).toBe('AUTH *')
    expect(hidden(isSecretOfAuth, 'AUTH', 'u', 'pw')).toBe('AUTH * *')
    expect(hidden(isSecretOfUser, 'ACL', 'SETUSER', 'u', '>pw', 'on')).toBe('ACL SETUSER * * *')
  })

  test('of HELLO: the two words behind AUTH', () => {
    expect(hidden(isSecretOfHello, 'HELLO', '3')).toBe('HELLO 3')
    expect(hidden(isSecretOfHello, 'HELLO', '3', 'SETNAME', 'n', 'auth', 'u', 'pw')).toBe(
      'HELLO 3 SETNAME n auth * *',
    )
    expect(hidden(isSecretOfHello, 'HELLO', '3', 'AUTH', 'u', 'pw', 'SETNAME', 'n')).toBe(
      'HELLO 3 AUTH * * SETNAME n',
    )
  })

  test('of CONFIG SET: the values of directives that hold secrets', () => {
    expect(
      hidden(isSecretOfConfigSet, 'CONFIG', 'SET', 'port', '1', 'RequirePass', 'pw', 'dir', 'x'),
    ).toBe('CONFIG SET port 1 RequirePass * dir x')
    expect(hidden(isSecretOfConfigSet, 'CONFIG', 'SET', 'port', 'requirepass')).toBe(
      'CONFIG SET port requirepass',
    )
  })

  test('the directives that hold secrets are those that the table calls so', () => {
    const names = DIRECTIVES.filter(
      ({ sensitive, secret }) => sensitive ?? secret ?? false,
    ).flatMap(({ name, aliases = [] }) => [name, ...aliases])
    expect([...SECRET_DIRECTIVES].toSorted()).toEqual(names.toSorted())
  })
})
