import { describe, expect, test } from 'vitest'
import { addValidators } from '../../../server/config/validators.ts'
import { settingsOf, type Directives } from '../../support/settings.ts'

/** Checks a configuration as a start does. */
function check(directives: Directives): void {
  const config = settingsOf(directives)
  addValidators(config)
  config.check()
}

const TLS = { 'tls-cert-file': 'c', 'tls-key-file': 'k' }

describe("The administrators' listener", () => {
  test.each(['0.0.0.0', '*', '::', '127.0.0.1 10.0.0.1', '-10.0.0.1', 'console.internal'])(
    'beyond loopback at %s is refused in plain HTTP, with one line',
    (bind) => {
      expect(() => check({ 'admin-bind': bind })).toThrow(
        'command line: admin-bind: admin-bind listens beyond loopback in plain HTTP, where passwords of administrators ' +
          'can be read; set http-tls yes, or admin-insecure yes for a network that you trust. See docs/directives.md.',
      )
    },
  )

  test.each<[string, Directives]>([
    ['on loopback', { 'admin-bind': '127.0.0.1 -::1 localhost 127.0.0.2' }],
    ['that is off', { 'admin-bind': '0.0.0.0', 'admin-port': '0' }],
    ['with TLS', { 'admin-bind': '0.0.0.0', 'http-tls': 'yes', ...TLS }],
    ['in a network that is trusted', { 'admin-bind': '0.0.0.0', 'admin-insecure': 'yes' }],
  ])('%s is accepted', (_what, directives) => {
    expect(() => check(directives)).not.toThrow()
  })
})
