import { describe, expect, test } from 'vitest'
import { settingsOf } from '../../../../web/client/options.ts'
import type { ConnectOptions } from '../../../../web/client/options.ts'

const LOGIN = { user: 'ops', password: 'a secret' }

describe('times', () => {
  test.each(['heartbeatMs', 'handshakeTimeoutMs', 'probeTimeoutMs', 'replyTimeoutMs'])(
    '%s is a positive number',
    (name) => {
      for (const value of [0, -1, Number.NaN, '5', null]) {
        const options = { [name]: value } as unknown as ConnectOptions
        expect(() => settingsOf(options)).toThrow(
          new TypeError(`${name} must be a positive number of milliseconds`),
        )
      }
      expect(settingsOf({ [name]: Infinity })).toMatchObject({ [name]: Infinity })
    },
  )
})

describe('the option login', () => {
  test.each([
    ['a token', { token: 'a.b.c' }],
    ['a token function', { token: () => 'a.b.c' }],
    ['tokenInBand', { tokenInBand: true }],
    ['share', { share: 'tabs' }],
  ])('cannot be combined with %s', (_name, options) => {
    const both = { ...options, login: LOGIN } as unknown as ConnectOptions
    expect(() => settingsOf(both)).toThrow(TypeError)
    expect(() => settingsOf(both)).toThrow(
      'login cannot be combined with token, tokenInBand or share',
    )
  })

  test.each([{}, { user: 'ops' }, { password: 'secret' }, { user: 1, password: 'secret' }, 'ops'])(
    'has a user and a password: %j',
    (login) => {
      const options = { login } as unknown as ConnectOptions
      expect(() => settingsOf(options)).toThrow(new TypeError('login needs a user and a password'))
    },
  )

  test('either a token or a login compiles', () => {
    const check = (...options: ConnectOptions[]): number => options.length
    // @ts-expect-error Not both.
    expect(check({ token: 'a.b.c', login: LOGIN })).toBe(1)
    // @ts-expect-error No password.
    expect(check({ login: { user: 'ops' } })).toBe(1)
    expect(check({ token: 'a.b.c' }, { login: LOGIN }, {})).toBe(3)
  })
})
