import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isPeerAllowed, tlsOptions } from '../../../server/transport/tls.ts'
import { makeCertificates, type Certificates } from '../../support/certificates.ts'
import { folderWith } from '../../support/folder.ts'
import { settingsOf, type Directives } from '../../support/settings.ts'

let certificates: Certificates

beforeAll(() => {
  certificates = makeCertificates()
})

afterAll(() => certificates.remove())

const settingsWith = (more: Directives = {}) => {
  const { cert, key } = certificates.server
  return settingsOf({ 'tls-port': '1', 'tls-cert-file': cert, 'tls-key-file': key, ...more })
}

const optionsOf = (more: Directives = {}) => tlsOptions(settingsWith(more), 'tls-auth-clients')

/** The text of the authority, as the options hold it. */
const authority = () => readFileSync(certificates.ca, 'latin1').trimEnd()

describe('Certificates of clients', () => {
  test.each([
    ['no', false, false],
    ['optional', true, false],
    ['yes', true, true],
  ])('tls-auth-clients %s', (choice, requestCert, rejectUnauthorized) => {
    const options = optionsOf({ 'tls-auth-clients': choice, 'tls-ca-cert-file': certificates.ca })
    expect(options).toMatchObject({ requestCert, rejectUnauthorized })
  })

  test('each listener has a directive of its own', () => {
    const settings = settingsWith({
      'tls-ca-cert-file': certificates.ca,
      'admin-tls-auth-clients': 'yes',
    })
    expect(tlsOptions(settings, 'http-tls-auth-clients').requestCert).toBe(false)
    expect(tlsOptions(settings, 'admin-tls-auth-clients').rejectUnauthorized).toBe(true)
  })

  const nobody = { authorized: false, getPeerX509Certificate: () => undefined }

  test.each([
    ['no', true],
    ['optional', true],
    ['yes', false],
  ] as const)('with %s a peer without one may stay: %s', (choice, allowed) => {
    expect(isPeerAllowed(nobody, choice)).toBe(allowed)
  })
})

describe('tls-ca-cert-dir', () => {
  test('holds PEM files under any name; other files are passed over', () => {
    const folder = folderWith({ 'notes.txt': 'no certificate' })
    copyFileSync(certificates.ca, join(folder, 'a.pem'))
    copyFileSync(certificates.ca, join(folder, 'again.crt'))
    mkdirSync(join(folder, 'sub'))
    expect(optionsOf({ 'tls-ca-cert-dir': folder }).ca).toEqual([authority()])
  })

  test('holds hashed names: then no other file counts, as in OpenSSL', () => {
    const folder = folderWith()
    copyFileSync(certificates.ca, join(folder, '0a1b2c3d.0'))
    copyFileSync(certificates.stranger.cert, join(folder, 'withdrawn.pem'))
    expect(optionsOf({ 'tls-ca-cert-dir': folder }).ca).toEqual([authority()])
  })

  test('adds to tls-ca-cert-file', () => {
    const folder = folderWith()
    copyFileSync(certificates.stranger.cert, join(folder, 'a.pem'))
    const { ca } = optionsOf({ 'tls-ca-cert-dir': folder, 'tls-ca-cert-file': certificates.ca })
    expect(ca).toHaveLength(2)
  })

  test.each([
    ['an empty directory', {}, /^tls-ca-cert-dir \S+: holds no certificate\. Put PEM files/],
    ['other files only', { 'a.txt': 'x' }, /holds no certificate/],
    ['an empty hashed name', { '0a1b2c3d.0': '' }, /0a1b2c3d\.0: holds no certificate/],
    [
      'a damaged certificate',
      { 'a.pem': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' },
      /a\.pem: a certificate in it is damaged\. Give a PEM file/,
    ],
  ])('with %s is refused', (_what, files, reason) => {
    expect(() => optionsOf({ 'tls-ca-cert-dir': folderWith(files) })).toThrow(reason)
  })

  test('that is not there is refused', () => {
    expect(() => optionsOf({ 'tls-ca-cert-dir': join(folderWith(), 'none') })).toThrow(
      /^tls-ca-cert-dir \S+: cannot be read \(ENOENT\)\. Give a directory of PEM files\.$/,
    )
  })

  test.runIf(process.getuid?.() !== 0)('with a file that cannot be read is refused', () => {
    const folder = folderWith({ 'a.pem': '' })
    chmodSync(join(folder, 'a.pem'), 0)
    expect(() => optionsOf({ 'tls-ca-cert-dir': folder })).toThrow(
      /a\.pem: cannot be read \(EACCES/,
    )
  })
})

describe('Options that cannot be used are refused with one line', () => {
  test('a tls-ca-cert-file without a certificate', () => {
    const path = join(folderWith({ ca: 'nothing' }), 'ca')
    expect(() => optionsOf({ 'tls-ca-cert-file': path })).toThrow(
      `tls-ca-cert-file ${path}: holds no certificate. Give a PEM file.`,
    )
  })

  test('the key of another certificate', () => {
    const { cert } = certificates.server
    expect(() =>
      optionsOf({ 'tls-auth-clients': 'no', 'tls-key-file': certificates.client.key }),
    ).toThrow(new RegExp(`^tls-cert-file ${cert}: TLS cannot use it with .*key values mismatch`))
  })

  test('a key that is none, without repeating it', () => {
    const path = join(folderWith({ key: 'canary-key' }), 'key')
    expect(() => optionsOf({ 'tls-auth-clients': 'no', 'tls-key-file': path })).toThrow(
      /^(?!.*canary).*TLS cannot use it/,
    )
  })

  test('ciphers that OpenSSL does not know', () => {
    expect(() => optionsOf({ 'tls-auth-clients': 'no', 'tls-ciphers': 'NONSENSE' })).toThrow(
      /no cipher match/,
    )
  })
})

test('ciphers of one TLS version leave the other as it is', () => {
  const { ciphers } = optionsOf({
    'tls-auth-clients': 'no',
    'tls-ciphers': 'ECDHE-ECDSA-AES128-GCM-SHA256',
  })
  expect(ciphers).toBe(
    'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE-ECDSA-AES128-GCM-SHA256',
  )
  const suites = optionsOf({
    'tls-auth-clients': 'no',
    'tls-ciphersuites': 'TLS_AES_128_GCM_SHA256',
  })
  expect(suites.ciphers).toMatch(/^TLS_AES_128_GCM_SHA256:ECDHE-/)
})

test('one file may hold several authorities', () => {
  const path = join(folderWith(), 'both.pem')
  writeFileSync(
    path,
    readFileSync(certificates.ca, 'latin1') + readFileSync(certificates.stranger.cert, 'latin1'),
  )
  expect(optionsOf({ 'tls-ca-cert-file': path }).ca).toHaveLength(2)
})
