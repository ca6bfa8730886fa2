import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A certificate and its key, as the paths of PEM files. */
export interface KeyPair {
  readonly cert: string
  readonly key: string
}

/** Certificates that are good for a day, by an authority of their own. */
export interface Certificates {
  /** The authority that signed all but the stranger. */
  readonly ca: string
  /** For 127.0.0.1 and localhost. */
  readonly server: KeyPair
  readonly client: KeyPair
  /** For 127.0.0.1 too, after a renewal. */
  readonly renewed: KeyPair
  /** Signed by itself. */
  readonly stranger: KeyPair
  /** Deletes the files. */
  remove(): void
}

/** Makes them with `openssl`. @throws Error It is not installed. */
export function makeCertificates(): Certificates {
  const dir = mkdtempSync(join(tmpdir(), 'respcast-tls-'))
  const path = (name: string): string => join(dir, name)
  const openssl = (...args: readonly string[]): void => {
    execFileSync('openssl', args, { stdio: 'pipe' })
  }
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const ca = path('ca.crt')
  openssl(
    ...['req', '-x509', ...newKey, '-days', '1', '-subj', '/CN=test authority'],
    ...['-keyout', path('ca.key'), '-out', ca],
  )
  const signed = (name: string, extensions: string): KeyPair => {
    const pair = { cert: path(`${name}.crt`), key: path(`${name}.key`) }
    const request = path(`${name}.csr`)
    const extensionFile = path(`${name}.ext`)
    writeFileSync(extensionFile, extensions)
    openssl('req', ...newKey, '-subj', `/CN=${name}`, '-keyout', pair.key, '-out', request)
    openssl(
      ...['x509', '-req', '-in', request, '-days', '1', '-extfile', extensionFile],
      ...['-CA', ca, '-CAkey', path('ca.key'), '-CAcreateserial', '-out', pair.cert],
    )
    return pair
  }
  const stranger = { cert: path('stranger.crt'), key: path('stranger.key') }
  openssl(
    ...['req', '-x509', ...newKey, '-days', '1', '-subj', '/CN=stranger'],
    ...['-keyout', stranger.key, '-out', stranger.cert],
  )
  return {
    ca,
    server: signed('server', 'subjectAltName=IP:127.0.0.1,DNS:localhost\n'),
    client: signed('client', 'extendedKeyUsage=clientAuth\n'),
    renewed: signed('renewed', 'subjectAltName=IP:127.0.0.1,DNS:localhost\n'),
    stranger,
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}
