import { readFileSync } from 'node:fs'
import type { SecureVersion, TlsOptions } from 'node:tls'
import type { DirectiveName } from '../config/directives.ts'
import type { Settings } from '../config/settings.ts'
import { RespcastError } from '../errors.ts'

/** The directives whose change gives connections to come another certificate, or other rules for the handshake. */
export const TLS_DIRECTIVES: readonly DirectiveName[] = [
  'tls-cert-file',
  'tls-key-file',
  'tls-key-file-pass',
  'tls-ca-cert-file',
  'tls-auth-clients',
  'tls-protocols',
  'tls-ciphers',
  'tls-ciphersuites',
  'tls-prefer-server-ciphers',
]

/** The words of `tls-protocols`, oldest first. */
const VERSIONS: readonly SecureVersion[] = ['TLSv1.2', 'TLSv1.3']

/**
 * The TLS directives as options of the runtime.
 *
 * @throws RespcastError `ERR_CONFIG` names the file that cannot be read.
 */
export function tlsOptions(settings: Settings): TlsOptions {
  const ca = settings.path('tls-ca-cert-file')
  const authClients = settings.choice('tls-auth-clients')
  const passphrase = settings.text('tls-key-file-pass')
  const versions = versionsOf(settings.list('tls-protocols'))
  const ciphers = [settings.text('tls-ciphersuites'), settings.text('tls-ciphers')]
    .filter((list) => list !== '')
    .join(':')
  return {
    cert: readPem(settings.path('tls-cert-file'), 'tls-cert-file'),
    key: readPem(settings.path('tls-key-file'), 'tls-key-file'),
    ...(passphrase === '' ? {} : { passphrase }),
    ...(ca === '' ? {} : { ca: readPem(ca, 'tls-ca-cert-file') }),
    ...(ciphers === '' ? {} : { ciphers }),
    honorCipherOrder: settings.boolean('tls-prefer-server-ciphers'),
    requestCert: ca !== '' && authClients !== 'no',
    rejectUnauthorized: ca !== '' && authClients === 'yes',
    minVersion: versions[0] ?? 'TLSv1.2',
    maxVersion: versions.at(-1) ?? 'TLSv1.3',
  }
}

/** Versions that are wanted, oldest first; all where none is named. */
function versionsOf(words: readonly string[]): readonly SecureVersion[] {
  const wanted = words.map((word) => word.toLowerCase())
  const named = VERSIONS.filter((version) => wanted.includes(version.toLowerCase()))
  return named.length === 0 ? VERSIONS : named
}

/**
 * Reads a certificate or a key.
 *
 * @throws RespcastError `ERR_CONFIG` names the directive and the path.
 */
export function readPem(path: string, directive: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new RespcastError(
      'ERR_CONFIG',
      `${directive} ${path}: cannot be read (${code}). Give a PEM file.`,
    )
  }
}
