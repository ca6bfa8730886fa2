import { describe, expect, test } from 'vitest'
import { plainName } from '../../../server/token/text.ts'
import { payload, testAuthenticator, token } from '../../support/tokens.ts'

/** Zero width, bidi, byte order mark, soft hyphen, tag, blank letter, line separator, control. */
const HIDDEN = [
  '\u200b',
  '\u200d',
  '\u202e',
  '\u2066',
  '\ufeff',
  '\u00ad',
  '\u{e0041}',
  '\u3164',
  '\u2028',
  '\x1b',
]

describe('a name in a token', () => {
  test.each(HIDDEN)('with %j is none', (char) => {
    expect(plainName(`4${char}2`, 256)).toBeUndefined()
  })

  test('in any script is one, as its bytes', () => {
    for (const name of ['42', 'Zo\u00eb', '\u05e9\u05dc\u05d5\u05dd', '\u{1f600}\ufe0f']) {
      expect(plainName(name, 256)).toBe(Buffer.from(name).toString('latin1'))
    }
  })

  test.each(['sub', 'jti', 'group', 'role', 'channel', 'deny'])(
    'that looks like another one refuses the token: %s',
    async (place) => {
      const name = 'ad\u200bmin'
      const claims: Record<string, object> = {
        sub: { sub: name },
        jti: { jti: name },
        group: { respcast: { group: name } },
        role: { respcast: { roles: [name] } },
        channel: { respcast: { channels: [name] } },
        deny: { respcast: { deny: [name] } },
      }
      const { authenticator } = testAuthenticator()
      const result = await authenticator.authenticate(token(payload({ ...claims[place] })))
      expect(result).toHaveProperty('refused.reply', 'WRONGPASS invalid token')
    },
  )
})
