import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  addUpstreamValidators,
  checkUpstreamFiles,
  sentinelCredentials,
  upstreamCredentials,
  upstreamOf,
  upstreamTls,
} from '../../../server/upstream/settings.ts'
import { makeCertificates, type Certificates } from '../../support/certificates.ts'
import { folderWith } from '../../support/folder.ts'
import { settingsOf, type Directives } from '../../support/settings.ts'
import { TestCore } from '../../support/test-core.ts'

const PLAIN = { upstream: 'redis://127.0.0.1' }
const SECURE = { upstream: 'rediss://127.0.0.1' }
const SENTINELS = { upstream: 'redis+sentinel://a,b,c/m' }
const ENV = { RESPCAST_CONF_UPSTREAM_PASSWORD: 'canary-env' }

/** Checks a configuration as a start does, but for its files. */
function check(directives: Directives, env: Readonly<Record<string, string>> = {}): void {
  const config = settingsOf(directives, env)
  addUpstreamValidators(config)
  config.check()
}

function fileOf(content: string): string {
  return join(folderWith({ p: content }), 'p')
}

describe('The upstream', () => {
  test('is none by default, and then the gateway is alone', () => {
    expect(upstreamOf(settingsOf())).toBeUndefined()
    expect(() => check({})).not.toThrow()
  })

  test('is the address of the directive', () => {
    expect(upstreamOf(settingsOf(PLAIN))).toEqual({
      kind: 'standalone',
      tls: false,
      nodes: [{ host: '127.0.0.1', port: 6379 }],
    })
  })

  test('keeps the server from starting if it cannot be read, with one line that does not repeat it', () => {
    expect(() => check({ upstream: 'redis://me:canary@127.0.0.1' })).toThrow(
      'command line: upstream: the URL holds a password; set upstream-password-file instead, and upstream-user for the ' +
        'user. See docs/directives.md.',
    )
    expect(() => new TestCore({ upstream: 'redis://a/3' })).toThrow(/^command line: upstream: Pub/)
    expect(() => check({ upstream: 'redis://canary redis://canary' })).toThrow(
      /^(?!.*canary)command line: upstream \.\.\.: wrong number of arguments/,
    )
  })

  test('cannot be changed while the server runs', () => {
    expect(settingsOf(PLAIN).set([['upstream', 'redis://me:canary@b']])).toBe(
      "CONFIG SET failed (possibly related to argument 'upstream') - can't set immutable config",
    )
  })
})

describe('What would be ignored is refused:', () => {
  test.each<[string, Directives, RegExp]>([
    [
      'a password without an upstream',
      { 'upstream-password-file': 'p' },
      /upstream-password-file is set, and there is no upstream, .* set upstream, or remove upstream-password-file/,
    ],
    ['a user without an upstream', { 'upstream-user': 'u' }, /upstream-user is set, and there is/],
    [
      'a certificate without an upstream',
      { 'upstream-tls-cert-file': 'c', 'upstream-tls-key-file': 'k' },
      /upstream-tls-cert-file is set, and there is no upstream/,
    ],
    [
      'an authority for a plain connection',
      { ...PLAIN, 'upstream-tls-ca-cert-file': 'c' },
      /upstream-tls-ca-cert-file is set, and upstream does not speak TLS, .* write rediss in place/,
    ],
    [
      'a name to verify on a plain connection',
      { ...SENTINELS, 'upstream-tls-server-name': 'n' },
      /upstream-tls-server-name is set, and upstream does not speak TLS/,
    ],
    [
      'a login for sentinels that there are none of',
      { ...PLAIN, 'upstream-sentinel-password-file': 'p' },
      /upstream-sentinel-password-file is set, and upstream names no sentinels/,
    ],
    [
      'a user without a password',
      { ...PLAIN, 'upstream-user': 'u' },
      /upstream-user without a password cannot log in; set upstream-password-file/,
    ],
    [
      'a user of sentinels without a password',
      { ...SENTINELS, 'upstream-sentinel-user': 'u' },
      /upstream-sentinel-user without a password cannot log in; set upstream-sentinel-password-file/,
    ],
    [
      'a certificate without its key',
      { ...SECURE, 'upstream-tls-cert-file': 'c' },
      /a certificate and its key go together/,
    ],
    [
      'a key without its certificate',
      { ...SECURE, 'upstream-tls-key-file': 'k' },
      /a certificate and its key go together/,
    ],
  ])('%s', (_what, directives, message) => {
    expect(() => check(directives)).toThrow(message)
  })

  test('one of two passwords', () => {
    expect(() => check({ ...PLAIN, 'upstream-password-file': 'p' }, ENV)).toThrow(
      /^(?!.*canary).*the password is in upstream-password and in upstream-password-file; remove one/,
    )
  })

  test('and nothing else is', () => {
    const login = { 'upstream-user': 'u', 'upstream-password-file': 'p' }
    expect(() => check({ ...PLAIN, ...login, 'cluster-enabled': 'yes' })).not.toThrow()
    expect(() => check({ ...PLAIN, 'upstream-user': 'u' }, ENV)).not.toThrow()
    expect(() =>
      check({
        upstream: 'rediss+sentinel://a/m',
        ...login,
        'upstream-sentinel-user': 's',
        'upstream-sentinel-password-file': 'p',
        'upstream-tls-ca-cert-file': 'a',
        'upstream-tls-cert-file': 'c',
        'upstream-tls-key-file': 'k',
        'upstream-tls-server-name': 'n',
      }),
    ).not.toThrow()
    expect(() => check({ 'upstream-max-covers': '3', 'upstream-gap-tcp': 'ignore' })).not.toThrow()
  })
})

describe('The login for the upstream', () => {
  test('is none without a password', () => {
    expect(upstreamCredentials(settingsOf(PLAIN))).toBeUndefined()
    expect(sentinelCredentials(settingsOf(SENTINELS))).toBeUndefined()
  })

  test('is that of the environment', () => {
    expect(upstreamCredentials(settingsOf(PLAIN, ENV))).toEqual({
      user: undefined,
      password: 'canary-env',
    })
  })

  test('is that of the file at the time of the connect, without spaces and line ends around it', () => {
    const path = fileOf(' \tfirst one\r\n\n')
    const settings = settingsOf({
      ...PLAIN,
      'upstream-user': 'u',
      'upstream-password-file': path,
    })
    expect(upstreamCredentials(settings)).toEqual({ user: 'u', password: 'first one' })
    writeFileSync(path, 'second\n')
    expect(upstreamCredentials(settings)?.password).toBe('second')
  })

  test('keeps each byte of the password, also those that Unicode calls a space', () => {
    const path = fileOf('\xc3\xa0\n')
    expect(
      upstreamCredentials(settingsOf({ ...PLAIN, 'upstream-password-file': path }))?.password,
    ).toBe('\xc3\xa0')
  })

  test('of the sentinels is another', () => {
    const settings = settingsOf({
      ...SENTINELS,
      'upstream-user': 'u',
      'upstream-password-file': fileOf('canary'),
      'upstream-sentinel-user': 's',
      'upstream-sentinel-password-file': fileOf('other'),
    })
    expect(sentinelCredentials(settings)).toEqual({ user: 's', password: 'other' })
  })

  test.each([
    ['', 'is empty'],
    [' \n', 'is empty'],
    ['canary\ncanary\n', 'has more than one line'],
  ])('is refused without being repeated: %j', (content, reason) => {
    const path = fileOf(content)
    expect(() =>
      checkUpstreamFiles(settingsOf({ ...PLAIN, 'upstream-password-file': path })),
    ).toThrow(`upstream-password-file ${path}: ${reason}. Write the password alone into it.`)
  })

  test('is read at start, so that a file that is missing is noticed there', () => {
    expect(() => new TestCore({ ...PLAIN, 'upstream-password-file': '/nowhere' })).toThrow(
      'upstream-password-file /nowhere: cannot be read (ENOENT). Give the path of a readable file.',
    )
    const other = { ...SENTINELS, 'upstream-sentinel-password-file': '/nowhere' }
    expect(() => new TestCore(other)).toThrow(/^upstream-sentinel-password-file \/nowhere: cannot/)
  })

  test('is neither shown, nor taken on the command line or by CONFIG SET', () => {
    const config = settingsOf(PLAIN, ENV)
    expect(config.get(['upstream-pass*'])).toEqual([
      ['upstream-password', '(redacted)'],
      ['upstream-password-file', ''],
    ])
    expect(() => settingsOf({ ...PLAIN, 'upstream-password': 'canary' })).toThrow(
      /^(?!.*canary).* Use --upstream-password-file <path>\.$/,
    )
    expect(config.set([['upstream-password', 'canary']])).toMatch(/can't set immutable config$/)
  })
})

describe('TLS to the upstream', () => {
  let made: Certificates
  beforeAll(() => {
    made = makeCertificates()
  })
  afterAll(() => made.remove())

  const withFiles = (): Directives => ({
    ...SECURE,
    'upstream-tls-ca-cert-file': made.ca,
    'upstream-tls-cert-file': made.client.cert,
    'upstream-tls-key-file': made.client.key,
    'upstream-tls-server-name': 'redis.example',
  })

  test('takes authorities, a certificate and a name', () => {
    const { ca, cert, key, servername } = upstreamTls(settingsOf(withFiles()))
    expect([ca, cert, key].every((each) => Buffer.isBuffer(each))).toBe(true)
    expect(servername).toBe('redis.example')
    expect(() => checkUpstreamFiles(settingsOf(withFiles()))).not.toThrow()
  })

  test('trusts the authorities of the runtime and asks for the host without them', () => {
    expect(upstreamTls(settingsOf(SECURE))).toMatchObject({ ca: undefined, servername: undefined })
  })

  test('needs the key that belongs to the certificate', () => {
    const directives = { ...withFiles(), 'upstream-tls-key-file': made.server.key }
    expect(() => checkUpstreamFiles(settingsOf(directives))).toThrow(
      /^upstream-tls-cert-file: the files of upstream-tls- cannot be used \(.+\)\. Give PEM files/,
    )
  })

  test('needs files that can be read', () => {
    const ca = fileOf('x')
    rmSync(ca)
    expect(() =>
      checkUpstreamFiles(settingsOf({ ...SECURE, 'upstream-tls-ca-cert-file': ca })),
    ).toThrow(
      `upstream-tls-ca-cert-file ${ca}: cannot be read (ENOENT). Give the path of a readable file.`,
    )
  })

  test('needs authorities that are certificates', () => {
    const directives = { ...SECURE, 'upstream-tls-ca-cert-file': fileOf('no certificate') }
    expect(() => checkUpstreamFiles(settingsOf(directives))).toThrow(
      /^upstream-tls-ca-cert-file \S+: holds no certificate\. Give a PEM file\.$/,
    )
  })
})
