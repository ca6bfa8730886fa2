import { constants, X509Certificate } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { Server } from 'node:net'
import {
  createSecureContext,
  DEFAULT_CIPHERS,
  type SecureContextOptions,
  type SecureVersion,
  type TLSSocket,
} from 'node:tls'
import type { ChoiceOf } from '../config/directives.ts'
import type { AuthDirective } from '../config/listeners.ts'
import type { Settings } from '../config/settings.ts'
import { RespcastError } from '../errors.ts'

/** Options of one TLS listener, for the runtime. */
export interface ServerTls extends SecureContextOptions {
  /** The directive about its clients' certificates. */
  readonly auth: AuthDirective
  readonly requestCert: boolean
  readonly rejectUnauthorized: boolean
}

/** The parts of a TLS server by which a running one is changed. */
interface TlsServer {
  setSecureContext(options: SecureContextOptions): void
  /** The runtime reads both at each handshake, and has no method that sets them. */
  requestCert?: boolean
  rejectUnauthorized?: boolean
}

/** The words of `tls-protocols`, oldest first. */
const VERSIONS: readonly SecureVersion[] = ['TLSv1.2', 'TLSv1.3']

/** Names that `openssl rehash` gives certificates in a directory of authorities: a hash of the subject, and a number. */
const HASHED_NAME = /^[0-9a-f]{8}\.\d+$/

const CERTIFICATE = /-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----[^-]+-----END \1?CERTIFICATE-----/g

/**
 * The TLS directives as options of a listener.
 *
 * @throws RespcastError `ERR_CONFIG` names the directive and the file at fault.
 */
export function tlsOptions(settings: Settings, auth: AuthDirective): ServerTls {
  const authClients = settings.choice(auth)
  const passphrase = settings.text('tls-key-file-pass')
  const versions = versionsOf(settings.list('tls-protocols'))
  const timeoutSeconds = settings.seconds('tls-session-cache-timeout')
  const options: ServerTls = {
    auth,
    cert: readPem(settings.path('tls-cert-file'), 'tls-cert-file'),
    key: readPem(settings.path('tls-key-file'), 'tls-key-file'),
    ...(passphrase === '' ? {} : { passphrase }),
    ...(authClients === 'no' ? {} : { ca: authorities(settings) }),
    ciphers: ciphersOf(settings.text('tls-ciphersuites'), settings.text('tls-ciphers')),
    honorCipherOrder: settings.boolean('tls-prefer-server-ciphers'),
    secureOptions: settings.boolean('tls-session-caching') ? 0 : constants.SSL_OP_NO_TICKET,
    ...(timeoutSeconds === 0 ? {} : { sessionTimeout: timeoutSeconds }),
    requestCert: authClients !== 'no',
    rejectUnauthorized: authClients === 'yes',
    minVersion: versions[0] ?? 'TLSv1.2',
    maxVersion: versions.at(-1) ?? 'TLSv1.3',
  }
  checkContext(options, settings)
  return options
}

/**
 * Gives a running server other options, for connections to come. Sessions that it handed out before cannot be resumed, so no
 * client comes back under the old rules. Does nothing to a server without TLS.
 */
export function changeTls(server: object, options: ServerTls): void {
  if (!isTlsServer(server)) return
  server.setSecureContext(options)
  server.requestCert = options.requestCert
  server.rejectUnauthorized = options.rejectUnauthorized
}

function isTlsServer(server: object): server is TlsServer {
  return 'setSecureContext' in server
}

/** Ends connections of an HTTP server whose peers may not stay, before it reads a request. */
export function guardPeers(
  server: Pick<Server, 'prependListener'>,
  settings: Settings,
  auth: AuthDirective,
): void {
  server.prependListener('secureConnection', (socket: TLSSocket) => {
    if (!isPeerAllowed(socket, settings.choice(auth))) socket.destroy()
  })
}

/**
 * Reports whether a peer may stay after its handshake. The runtime itself lets a certificate of a foreign authority pass where
 * none is required; Redis does not. The setting is read anew, so that it holds whatever the runtime made of it.
 */
export function isPeerAllowed(
  socket: Pick<TLSSocket, 'authorized' | 'getPeerX509Certificate'>,
  authClients: ChoiceOf<AuthDirective>,
): boolean {
  if (authClients === 'no' || socket.authorized) return true
  return authClients === 'optional' && socket.getPeerX509Certificate() === undefined
}

/** Versions that are wanted, oldest first; all where none is named. */
function versionsOf(words: readonly string[]): readonly SecureVersion[] {
  const wanted = words.map((word) => word.toLowerCase())
  const named = VERSIONS.filter((version) => wanted.includes(version.toLowerCase()))
  return named.length === 0 ? VERSIONS : named
}

/** One list for both versions; of the one that is not set the runtime's default, or that version would be off. */
function ciphersOf(suites: string, ciphers: string): string {
  const known = DEFAULT_CIPHERS.split(':')
  return [
    ...(suites === '' ? known.filter((name) => name.startsWith('TLS_')) : [suites]),
    ...(ciphers === '' ? known.filter((name) => !name.startsWith('TLS_')) : [ciphers]),
  ].join(':')
}

/** Certificates of `tls-ca-cert-file` and `tls-ca-cert-dir`, at least one. */
function authorities(settings: Settings): string[] {
  const file = settings.path('tls-ca-cert-file')
  const folder = settings.path('tls-ca-cert-dir')
  return [
    ...(file === '' ? [] : certificatesOf(file, 'tls-ca-cert-file', false)),
    ...(folder === '' ? [] : certificatesIn(folder)),
  ]
}

/** As OpenSSL, looks at hashed names only where there are any; else at every file that holds certificates. */
function certificatesIn(folder: string): string[] {
  const directive = 'tls-ca-cert-dir'
  let names: string[]
  try {
    names = readdirSync(folder, { withFileTypes: true })
      .filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.'))
      .map(({ name }) => name)
      .toSorted()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw unusable(directive, folder, `cannot be read (${code})`, 'Give a directory of PEM files.')
  }
  const hashed = names.filter((name) => HASHED_NAME.test(name))
  const found = (hashed.length > 0 ? hashed : names).flatMap((name) =>
    certificatesOf(`${folder}/${name}`, directive, hashed.length === 0),
  )
  if (found.length === 0) {
    throw unusable(directive, folder, 'holds no certificate', 'Put PEM files of authorities there.')
  }
  return [...new Set(found)]
}

/** @param mayBeOther The file may hold something else. */
function certificatesOf(path: string, directive: string, mayBeOther: boolean): string[] {
  const found = readPem(path, directive).toString('latin1').match(CERTIFICATE) ?? []
  for (const pem of found) {
    try {
      void new X509Certificate(pem)
    } catch {
      throw unusable(directive, path, 'a certificate in it is damaged', 'Give a PEM file.')
    }
  }
  if (found.length > 0 || mayBeOther) return found
  throw unusable(directive, path, 'holds no certificate', 'Give a PEM file.')
}

/** Has OpenSSL look at the whole of it, so that setting it on a server cannot fail. */
function checkContext(options: ServerTls, settings: Settings): void {
  try {
    createSecureContext(options)
  } catch (error) {
    // OpenSSL names the function and the reason, never what is in a file.
    const reason = (error as Error).message.replace(/^error:\w+:/, '')
    throw unusable(
      'tls-cert-file',
      settings.path('tls-cert-file'),
      `TLS cannot use it with tls-key-file ${settings.path('tls-key-file')} and the ciphers (${reason})`,
      'Give a certificate and its key, the passphrase of the key, and ciphers that OpenSSL knows.',
    )
  }
}

/**
 * Reads a certificate or a key.
 *
 * @throws RespcastError `ERR_CONFIG` names the directive and the path.
 */
function readPem(path: string, directive: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw unusable(directive, path, `cannot be read (${code})`, 'Give a PEM file.')
  }
}

function unusable(directive: string, path: string, reason: string, remedy: string): RespcastError {
  return new RespcastError('ERR_CONFIG', `${directive} ${path}: ${reason}. ${remedy}`)
}
