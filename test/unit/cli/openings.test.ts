import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openingsOf, thisMachine } from '../../../server/cli/openings.ts'
import { folderWith } from '../../support/folder.ts'
import type { Directives } from '../../support/settings.ts'
import { TestCore } from '../../support/test-core.ts'

/** A configuration that leaves nothing open. */
const CLOSED: Directives = {
  user: [
    ['default', 'off'],
    ['most', 'off', '+@all', 'allchannels'],
  ],
  'jwt-ceiling': 'most',
}

const openings = (directives: Directives, openFiles = 100_000) =>
  openingsOf(new TestCore({ ...CLOSED, ...directives }), { openFiles }).map(
    ({ directive, text }) => `${directive}: ${text}`,
  )

const PUBLIC = { 'http-bind': '0.0.0.0', 'ws-allowed-origins': 'https://app.example' }
const TLS = { 'http-tls': 'yes', 'tls-cert-file': '/none', 'tls-key-file': '/none' }

test('A configuration may leave nothing open, on loopback and beyond', () => {
  expect(openings({})).toEqual([])
  expect(openings({ ...PUBLIC, ...TLS, 'trusted-proxies': '10.0.0.1' })).toEqual([])
})

test.each<[Directives, string]>([
  [
    { appendonly: 'yes', hz: '50' },
    'appendonly: without effect in this server: appendonly, hz. Rem',
  ],
  [
    { user: [['most', 'off', '+@all', '&*']] },
    'requirepass: the user default needs no password. Set',
  ],
  [
    { user: [['most', 'off', '+@all', '&*']], 'protected-mode': 'no' },
    'protected-mode: no keeps nobody out while the user default needs no password.',
  ],
  [{ bind: '0.0.0.0' }, 'port: passwords and messages go beyond loopback in plain TCP.'],
  [
    { unixsocket: '/tmp/none', unixsocketperm: '777' },
    'unixsocketperm: every user of this machine may connect',
  ],
  [{ 'enable-protected-configs': 'local' }, 'enable-protected-configs: CONFIG SET may change'],
  [
    { 'jwt-ceiling': '' },
    'jwt-ceiling: nothing bounds what tokens of the default issuer may grant.',
  ],
  [
    {
      issuer: [
        ['shop', 'issuer', 'https://shop.example'],
        ['shop', 'audience', 'a'],
        ['shop', 'jwks-url', 'https://shop.example/keys'],
        ['shop', 'algorithms', 'ES256'],
      ],
    },
    'issuer shop ceiling: nothing bounds what tokens of the issuer shop may grant.',
  ],
  [
    { 'ws-allowed-origins': 'https://a.example *' },
    'ws-allowed-origins: * lets every page of the web',
  ],
  [{ 'ws-token-query': 'yes' }, 'ws-token-query: tokens in addresses end up in logs'],
  [
    { 'trusted-proxies': '10.0.0.1 0.0.0.0/0' },
    'trusted-proxies: every peer may claim any address.',
  ],
  [PUBLIC, 'http-tls: tokens go beyond loopback in plain HTTP.'],
  [
    { ...PUBLIC, ...TLS, 'acl-pubsub-default': 'allchannels', 'allow-public-allchannels': 'yes' },
    'acl-pubsub-default: a token without channels may subscribe to all.',
  ],
  [
    { ...PUBLIC, ...TLS, 'ws-command-rate': '0' },
    'ws-command-rate: 0 is no limit for strangers. Remove it for the default beyond loopback, 100.',
  ],
  [
    { upstream: 'redis+cluster://127.0.0.1,redis.example' },
    'upstream: passwords and messages go to the upstream in plain TCP, beyond loopback. Write rediss in place of redis.',
  ],
  [
    { maxclients: '99999' },
    'maxclients: maxclients 99999 needs about 100063 open files, and the limit',
  ],
])('With %j there is a warning', (directives, line) => {
  expect(openings(directives).filter((each) => each.startsWith(line))).toHaveLength(1)
})

test('An upstream on this machine, or over TLS, leaves nothing open', () => {
  expect(openings({ upstream: 'redis+sentinel://127.0.0.1,[::1],localhost/m' })).toEqual([])
  expect(openings({ upstream: 'rediss://redis.example' })).toEqual([])
})

test('The administrators’ listener beyond loopback in plain HTTP is two warnings, and with TLS and a token none', () => {
  const exposed = { 'admin-bind': '10.0.0.1' }
  expect(
    openings({ ...exposed, 'admin-insecure': 'yes' }).map((line) => line.split(':')[0]),
  ).toEqual(['admin-insecure', 'metrics-token-file'])
  expect(openings({ ...exposed, ...TLS })).toEqual([])
})

describe.skipIf(process.getuid === undefined)('Permissions of files', () => {
  const fileOf = (mode: number): string => {
    const path = join(folderWith({ f: '0123456789abcdef' }), 'f')
    chmodSync(path, mode)
    return path
  }

  test.each([
    [0o644, 'others can read it. Run: chmod 640'],
    [0o604, 'others can read it. Run: chmod 600'],
    [0o660, 'others can change it. Run: chmod 640'],
    [0o666, 'others can change it. Run: chmod 640'],
  ])('a secret of mode %o', (mode, text) => {
    const path = fileOf(mode)
    const [line, ...more] = openings({ 'metrics-token-file': path })
    expect(more).toEqual([])
    expect(line).toBe(
      `metrics-token-file: ${path} has the mode ${mode.toString(8)}: ${text} ${path}`,
    )
  })

  test('the passwords of the upstream and of its sentinels, and the keys of gateways, are secrets', () => {
    const [password, sentinel, key] = [fileOf(0o604), fileOf(0o644), fileOf(0o644)]
    const lines = openings({
      upstream: 'redis+sentinel://127.0.0.1/m',
      'upstream-password-file': password,
      'upstream-sentinel-password-file': sentinel,
      'upstream-control-key-file': key,
    })
    expect(lines.map((line) => line.replace(/: .*/, ''))).toEqual([
      'upstream-password-file',
      'upstream-sentinel-password-file',
      'upstream-control-key-file',
    ])
  })

  test.each([0o600, 0o640, 0o400])('a secret of mode %o is closed', (mode) => {
    expect(openings({ 'metrics-token-file': fileOf(mode) })).toEqual([])
  })

  test('a certificate may be read by all, and changed by its owner only', () => {
    expect(openings({ 'tls-cert-file': fileOf(0o644) })).toEqual([])
    expect(openings({ 'tls-cert-file': fileOf(0o664) })).toHaveLength(1)
  })

  test('the folder of the data may be read by all, and changed by its owner only', () => {
    const dir = join(folderWith(), 'dir')
    mkdirSync(dir)
    chmodSync(dir, 0o777)
    expect(openings({ dir })).toEqual([
      `dir: ${dir} has the mode 777: others can change it. Run: chmod 755 ${dir}`,
    ])
    chmodSync(dir, 0o755)
    expect(openings({ dir })).toEqual([])
  })
})

test.runIf(process.platform === 'linux')('The limit of open files is that of this process', () => {
  expect(thisMachine().openFiles).toBeGreaterThan(0)
})
