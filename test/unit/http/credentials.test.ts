import { describe, expect, test } from 'vitest'
import {
  basicOf,
  subprotocolProblem,
  tokenOfUpgrade,
  type UpgradeHeaders,
} from '../../../server/http/credentials.ts'

describe('subprotocolProblem', () => {
  test.each([undefined, 'resp3', 'bearer.aaaa, resp3', 'other,resp3 , more'])(
    'accepts %s',
    (offered) => expect(subprotocolProblem(offered)).toBeUndefined(),
  )

  test.each(['graphql-ws', 'bearer.aaaa', 'RESP3', 'eyJhbGciOiJIUzI1NiJ9.e30.x'])(
    'refuses %s, names resp3 and does not repeat the offer',
    (offered) => {
      const problem = subprotocolProblem(offered)
      expect(problem).toContain("offer 'resp3'")
      expect(problem).not.toContain(offered)
    },
  )

  test('accepts 16 names with resp3 among them, and refuses 17', () => {
    const offer = (count: number) => ['resp3', ...Array(count - 1).keys()].join(',p')
    expect(subprotocolProblem(offer(16))).toBeUndefined()
    expect(subprotocolProblem(offer(17))).toMatch(/at most 16/)
  })
})

describe('tokenOfUpgrade', () => {
  const nothing: UpgradeHeaders = {
    authorization: undefined,
    subprotocols: undefined,
    cookie: undefined,
    query: {},
  }
  const find = (
    headers: Partial<UpgradeHeaders>,
    { cookieName = '', query = false }: { cookieName?: string; query?: boolean } = {},
  ) => tokenOfUpgrade({ ...nothing, ...headers }, { cookieName, query })

  test('reads Authorization, in any case of its scheme, and no other scheme', () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER'])
      expect(find({ authorization: `${scheme} a.b.c` })).toBe('a.b.c')
    expect(find({ authorization: 'Basic a.b.c' })).toBeUndefined()
    expect(find({ authorization: 'Bearer' })).toBeUndefined()
  })

  test('reads the subprotocol bearer.<token>', () => {
    expect(find({ subprotocols: 'resp3, bearer.a.b.c' })).toBe('a.b.c')
    expect(find({ subprotocols: 'resp3' })).toBeUndefined()
  })

  test('reads a cookie and the query only where a directive allows them', () => {
    const cookie = 'a=b; session=a.b.c; session=d; c=d'
    expect(find({ cookie })).toBeUndefined()
    expect(find({ cookie }, { cookieName: 'session' })).toBe('a.b.c')
    expect(find({ cookie: 'session=' }, { cookieName: 'session' })).toBeUndefined()
    expect(find({ query: { token: 'a.b.c' } })).toBeUndefined()
    expect(find({ query: { token: 'a.b.c' } }, { query: true })).toBe('a.b.c')
    expect(find({ query: { token: ['a', 'b'] } }, { query: true })).toBeUndefined()
  })

  test('prefers the header, then the subprotocol, then the cookie', () => {
    const all = { cookie: 's=cookie', query: { token: 'query' } }
    const settings = { cookieName: 's', query: true }
    expect(find(all, settings)).toBe('cookie')
    expect(find({ ...all, subprotocols: 'resp3, bearer.sub' }, settings)).toBe('sub')
    const authorization = 'Bearer header'
    expect(find({ ...all, subprotocols: 'bearer.sub', authorization }, settings)).toBe('header')
  })
})

describe('Authorization: Basic', () => {
  test.each([
    ['a:b', { user: 'a', password: 'b' }],
    ['a:b:c', { user: 'a', password: 'b:c' }],
    [':', { user: '', password: '' }],
    ['j\xc3\xb6:\xff', { user: 'j\xc3\xb6', password: '\xff' }],
  ])('of %j is read as bytes', (pair, read) => {
    const header = `Basic ${Buffer.from(pair, 'latin1').toString('base64')}`
    expect(basicOf(header)).toEqual(read)
    expect(basicOf(header.replace('Basic', 'bAsIc '))).toEqual(read)
  })

  test.each([undefined, '', 'Bearer YTpi', 'Basic', 'Basic YQ==', 'Basic a*', 'Basic YTpi x'])(
    'is not %j',
    (header) => {
      expect(basicOf(header)).toBeUndefined()
    },
  )
})
