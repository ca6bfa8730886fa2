import { ANY_ORIGIN, originRules } from './origins.ts'
import { issuersOf } from './issuers.ts'
import { isAdminExposed, servesTheWorld, tlsListeners, type AuthDirective } from './listeners.ts'
import { readMetricsToken } from './metrics-token.ts'
import type { Config } from './store.ts'

const AUTH: readonly AuthDirective[] = [
  'tls-auth-clients',
  'http-tls-auth-clients',
  'admin-tls-auth-clients',
]

/** Refusals that concern several directives; they hold at start and at every CONFIG SET. */
export function addValidators(config: Config): void {
  config.addValidator(
    ['acl-pubsub-default', 'http-bind', 'http-port', 'allow-public-allchannels'],
    (settings) => {
      if (!servesTheWorld(settings) || settings.boolean('allow-public-allchannels'))
        return undefined
      if (settings.choice('acl-pubsub-default') !== 'allchannels') return undefined
      return (
        'with acl-pubsub-default allchannels every token without channels may subscribe to all of them, and http-bind ' +
        'listens beyond loopback; set acl-pubsub-default resetchannels, or allow-public-allchannels yes'
      )
    },
  )
  config.addValidator(['http-bind', 'jwt-issuer', 'ws-allowed-origins'], (settings) => {
    if (!servesTheWorld(settings)) return undefined
    if (issuersOf(settings).length === 0) {
      return 'http-bind listens beyond loopback without a token issuer; set jwt-issuer, jwt-audience and a key source'
    }
    if (settings.list('ws-allowed-origins').length > 0) return undefined
    return (
      'http-bind listens beyond loopback without ws-allowed-origins; name the origins of your pages, as in ' +
      'ws-allowed-origins https://app.example.com'
    )
  })
  config.addValidator(['ws-token-cookie', 'ws-allowed-origins'], (settings) => {
    if (settings.text('ws-token-cookie') === '') return undefined
    const origins = settings.list('ws-allowed-origins')
    const rules = originRules(origins)
    if (rules.length > 0 && rules.every(({ origin }) => origin !== ANY_ORIGIN)) return undefined
    return (
      'a cookie is sent by every page that opens a WebSocket here, so ws-token-cookie needs ws-allowed-origins ' +
      'with the exact origins of your pages, and without *'
    )
  })
  config.addValidator(['aclfile', 'user'], (settings) => {
    if (settings.text('aclfile') === '' || settings.lines('user').length === 0) return undefined
    return 'users are either in an aclfile or in user lines, not in both; move the user lines to the aclfile'
  })
  config.addValidator(['tls-port', 'http-tls', 'tls-cert-file', 'tls-key-file'], (settings) => {
    if (tlsListeners(settings).length === 0) return undefined
    if (settings.text('tls-cert-file') !== '' && settings.text('tls-key-file') !== '') {
      return undefined
    }
    return 'TLS needs tls-cert-file and tls-key-file'
  })
  config.addValidator(['metrics-token', 'metrics-token-file'], (settings) => {
    try {
      readMetricsToken(settings)
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  })
  config.addValidator(['admin-bind', 'admin-port', 'http-tls', 'admin-insecure'], (settings) => {
    if (!isAdminExposed(settings)) return undefined
    if (settings.boolean('http-tls') || settings.boolean('admin-insecure')) return undefined
    return (
      'admin-bind listens beyond loopback in plain HTTP, where passwords of administrators can be read; set http-tls yes, ' +
      'or admin-insecure yes for a network that you trust'
    )
  })
  config.addValidator(['proxy-protocol', 'trusted-proxies'], (settings) => {
    if (!settings.boolean('proxy-protocol')) return undefined
    if (settings.list('trusted-proxies').length > 0) return undefined
    return (
      'with proxy-protocol yes only proxies may connect, and trusted-proxies names none; set trusted-proxies to their ' +
      'addresses, as in trusted-proxies 10.0.0.0/24'
    )
  })
  config.addValidator(
    [...AUTH, 'tls-ca-cert-file', 'tls-ca-cert-dir', 'tls-port', 'http-tls'],
    (settings) => {
      if (settings.text('tls-ca-cert-file') !== '' || settings.text('tls-ca-cert-dir') !== '') {
        return undefined
      }
      const auth = tlsListeners(settings).find((name) => settings.choice(name) !== 'no')
      if (auth === undefined) return undefined
      return (
        `${auth} ${settings.choice(auth)} needs the authorities that certificates of clients come from; set ` +
        `tls-ca-cert-file or tls-ca-cert-dir, or ${auth} no to ask for none`
      )
    },
  )
}
