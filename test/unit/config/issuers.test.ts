import { expect, test } from 'vitest'
import { issuersOf } from '../../../server/config/issuers.ts'
import { configOf, configOfFile } from './support.ts'

test('without any line there is no issuer', () => {
  expect(issuersOf(configOf())).toEqual([])
})

test('the default issuer comes of jwt directives, may name every role, and has no ceiling', () => {
  const config = configOf({
    argv: [
      '--jwt-issuer',
      'https://id.test',
      '--jwt-audience',
      'a b',
      '--jwt-secret-file',
      'key',
      '--dir',
      '/srv',
    ],
  })
  expect(issuersOf(config)).toEqual([
    {
      alias: undefined,
      issuer: 'https://id.test',
      audience: ['a', 'b'],
      algorithms: [],
      jwksUrl: '',
      jwksFile: '',
      publicKeyFile: '',
      secretFile: '/srv/key',
      secret: '',
      previousSecretFile: '',
      previousSecret: '',
      previousSecretUntil: 0,
      claim: 'respcast',
      leewaySeconds: 5,
      maxLifetimeSeconds: 86_400,
      roles: undefined,
      ceiling: '',
    },
  ])
})

test('a named issuer is put together from its lines: the last one of a property counts, no role by default', () => {
  const config = configOfFile(
    'dir /srv\nissuer acme issuer https://old.test\nissuer b secret 0123\nissuer b roles "guest *" member\n' +
      'issuer acme issuer https://acme.test\nissuer acme algorithms ES256 EdDSA\nissuer acme jwks-file keys.json\n' +
      'issuer acme leeway 0\nissuer acme ceiling partners\n',
  )
  const [acme, b, ...others] = issuersOf(config)
  expect(acme).toMatchObject({
    alias: 'acme',
    issuer: 'https://acme.test',
    algorithms: ['ES256', 'EdDSA'],
    jwksFile: '/srv/keys.json',
    leewaySeconds: 0,
    maxLifetimeSeconds: 86_400,
    roles: [],
    ceiling: 'partners',
  })
  expect(b).toMatchObject({ alias: 'b', issuer: '', secret: '0123', roles: ['guest *', 'member'] })
  expect(others).toEqual([])
})
