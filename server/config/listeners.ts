import { leavesLoopback } from '../addresses.ts'
import type { DirectiveName } from './directives.ts'
import type { Settings } from './settings.ts'

/** The directives that say whether clients of a TLS listener need a certificate: RESP, public HTTP, administrators' HTTP. */
export type AuthDirective = 'tls-auth-clients' | 'http-tls-auth-clients' | 'admin-tls-auth-clients'

/** The directives whose change gives connections to come another certificate, or other rules for the handshake. */
export const TLS_DIRECTIVES: readonly DirectiveName[] = [
  'tls-cert-file',
  'tls-key-file',
  'tls-key-file-pass',
  'tls-ca-cert-file',
  'tls-ca-cert-dir',
  'tls-auth-clients',
  'http-tls-auth-clients',
  'admin-tls-auth-clients',
  'tls-protocols',
  'tls-ciphers',
  'tls-ciphersuites',
  'tls-prefer-server-ciphers',
  'tls-session-caching',
  'tls-session-cache-timeout',
]

/** The listeners that speak TLS, by the directive about their clients' certificates. */
export function tlsListeners(settings: Settings): AuthDirective[] {
  const isHttps = settings.boolean('http-tls')
  return [
    ...(settings.integer('tls-port') > 0 ? (['tls-auth-clients'] as const) : []),
    ...(isHttps ? (['http-tls-auth-clients', 'admin-tls-auth-clients'] as const) : []),
  ]
}

/** Reports whether browsers beyond this machine can reach the public listener. */
export function servesTheWorld(settings: Settings): boolean {
  return settings.integer('http-port') !== 0 && leavesLoopback(settings.list('http-bind'))
}

/** Reports whether the administrators' listener can be reached from beyond this machine. */
export function isAdminExposed(settings: Settings): boolean {
  return settings.integer('admin-port') !== 0 && leavesLoopback(settings.list('admin-bind'))
}

/** Reports whether RESP is served over TCP or TLS, and not only on a Unix socket. */
export function listensOnTcp(settings: Settings): boolean {
  return settings.integer('port') !== 0 || settings.integer('tls-port') !== 0
}
