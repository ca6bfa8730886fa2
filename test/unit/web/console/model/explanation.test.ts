import { describe, expect, test } from 'vitest'
import { parseExplanation, tokenParts } from '../../../../../web/console/model/explanation.ts'

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1')

describe('tokens', () => {
  test('TOKEN EXPLAIN: what does not apply is empty', () => {
    const explanation = parseExplanation([
      bytes('allowed'),
      1,
      bytes('user'),
      bytes('jwt:a'),
      bytes('grant'),
      bytes('user jwt:a on resetchannels -@all +ping (resetchannels &n:* -@all +subscribe)'),
      bytes('ceiling'),
      null,
    ])
    expect(explanation).toMatchObject({ allowed: true, user: 'jwt:a', ceiling: '', fix: '' })
    expect(explanation.alternatives).toEqual([
      { commands: ['-@all', '+ping'], channels: [] },
      { commands: ['-@all', '+subscribe'], channels: ['&n:*'] },
    ])
  })

  test('header and claims of a token are read, and anything else is none', () => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    expect(tokenParts(`${part({ alg: 'HS256' })}.${part({ sub: 'ü' })}.sig`)).toEqual({
      header: { alg: 'HS256' },
      claims: { sub: 'ü' },
    })
    for (const text of [
      '',
      'a.b.c',
      'a.b',
      `${part({})}.${part({})}`,
      `${part([])}.${part({})}.x`,
    ]) {
      expect(tokenParts(text)).toBeUndefined()
    }
  })
})
