import { describe, expect, test } from 'vitest'
import { parseUpstream, type UpstreamAddress } from '../../../server/upstream/address.ts'

const LOCAL = { host: '127.0.0.1', port: 6379 }

describe('The address of an upstream', () => {
  test.each<[string, UpstreamAddress]>([
    ['redis://127.0.0.1:6379', { kind: 'standalone', tls: false, nodes: [LOCAL] }],
    ['redis://127.0.0.1', { kind: 'standalone', tls: false, nodes: [LOCAL] }],
    ['redis://127.0.0.1/', { kind: 'standalone', tls: false, nodes: [LOCAL] }],
    ['redis://127.0.0.1:6379/0', { kind: 'standalone', tls: false, nodes: [LOCAL] }],
    [
      'REDISS://Redis.Example.:6380',
      { kind: 'standalone', tls: true, nodes: [{ host: 'redis.example.', port: 6380 }] },
    ],
    ['redis://[::1]', { kind: 'standalone', tls: false, nodes: [{ host: '::1', port: 6379 }] }],
    [
      'redis://[FE80::1%eth0]:7',
      { kind: 'standalone', tls: false, nodes: [{ host: 'fe80::1%eth0', port: 7 }] },
    ],
    [
      'redis+sentinel://a,b:26380,[::1]:26381/my-master.1',
      {
        kind: 'sentinel',
        tls: false,
        nodes: [
          { host: 'a', port: 26_379 },
          { host: 'b', port: 26_380 },
          { host: '::1', port: 26_381 },
        ],
        masterName: 'my-master.1',
      },
    ],
    [
      'rediss+sentinel://a/m',
      { kind: 'sentinel', tls: true, nodes: [{ host: 'a', port: 26_379 }], masterName: 'm' },
    ],
    [
      'redis+cluster://a:7001,a:7002',
      {
        kind: 'cluster',
        tls: false,
        nodes: [
          { host: 'a', port: 7001 },
          { host: 'a', port: 7002 },
        ],
      },
    ],
    ['rediss+cluster://a/', { kind: 'cluster', tls: true, nodes: [{ host: 'a', port: 6379 }] }],
  ])('%s is read', (text, address) => {
    expect(parseUpstream(text)).toEqual(address)
  })

  test.each([
    ['127.0.0.1:6379', /^it has no scheme .*write redis:\/\/host:port/],
    ['valkey://a', /that of a Valkey is redis too/],
    ['http://a', /^it has no scheme/],
    ['redis+unix://a', /^it has no scheme/],
    ['redis://', /^a host is missing/],
    ['redis://:6379', /^a host is missing/],
    ['redis+cluster://a,,b', /^a host is missing/],
    ['redis://::1', /an IPv6 address stands in brackets, as in redis:\/\/\[::1\]:6379$/],
    ['redis://fe80:0::1:6379', /an IPv6 address stands in brackets/],
    ['redis://[127.0.0.1]:6379', /^a host is neither a name nor an IP address/],
    ['redis://[::1', /^a host is neither/],
    ['redis://[]', /^a host is neither/],
    ['redis://[::1]x:1', /^a host is neither/],
    ['redis://127.0.0.256', /^a host is neither/],
    ['redis://a b', /^a host is neither/],
    ['redis://a\n', /^a host is neither/],
    ['redis://b\xfccher', /^a host is neither/],
    ['redis://a..b', /^a host is neither/],
    ['redis://a:', /^a port is a number from 1 to 65535/],
    ['redis://a:0', /^a port is/],
    ['redis://a:65536', /^a port is/],
    ['redis://a:6379x', /^a port is/],
    ['redis://a/1', /^Pub\/Sub knows no databases/],
    ['redis://a/00', /^Pub\/Sub knows no databases/],
    ['redis://a?db=0', /^the URL takes no parameters/],
    ['redis://a/0#x', /^the URL takes no parameters/],
    ['redis://a,b', /^redis:\/\/ is one server; write redis\+sentinel:\/\/ .* redis\+cluster:/],
    ['redis+cluster://a/0', /^a cluster has neither a name nor databases/],
    ['redis+cluster://a:1,A:1', /^one host stands twice/],
    ['redis+sentinel://a,b,a:26379/m', /^one host stands twice/],
    ['redis+sentinel://a,b,c', /^the name of the master is missing/],
    ['redis+sentinel://a/', /^the name of the master is missing/],
    ['redis+sentinel://a/m/0', /^the name of a master consists of/],
  ])('%j is refused with a remedy', (text, reason) => {
    expect(parseUpstream(text)).toMatch(reason)
  })

  test.each([
    'redis://:canary@a:6379',
    'redis://me:canary@a',
    'redis://me:can/ary@x?canary#canary@a',
    'redis+sentinel://me:canary@a,b/m',
    'rediss+cluster://a,me:canary@b',
    'http://me:canary@a',
  ])('%s holds a password: it is refused, and no part of it repeated', (text) => {
    const reason = parseUpstream(text)
    expect(reason).toMatch(/^the URL holds a password; set upstream-password-file instead/)
    expect(reason).not.toMatch(/canary|me:/)
  })

  test('a user has a directive of its own, and may be a password in the wrong place', () => {
    expect(parseUpstream('redis://canary@a')).toBe(
      'the URL holds a user; set upstream-user instead, and upstream-password-file for the password',
    )
  })

  test.each(['me:canary@a:6379', 'canary', 'redis:/canary', 'canary://a', 'redis://a:canary'])(
    'of what cannot be read nothing is repeated: %s',
    (text) => {
      expect(parseUpstream(text)).toMatch(/^(?!.*canary)./)
    },
  )
})
