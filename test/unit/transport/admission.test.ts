import { expect, test } from 'vitest'
import { CLOSES } from '../../../server/client/close.ts'
import { TestCore } from '../../support/test-core.ts'

/** Admits connections of these addresses over WebSocket. @returns Why each was rejected, or undefined. */
function admit(core: TestCore, ...addresses: readonly string[]) {
  return addresses.map((ip) => {
    const rejection = core.admission.admit({ transport: 'websocket', ip })
    if (rejection === undefined) {
      core.admission.joined(core.connect({ transport: 'websocket' }).client, ip)
    }
    return rejection
  })
}

test('counts connections of one address, and forgets them when they close', () => {
  const core = new TestCore({ 'ws-max-connections-per-ip': '1' })
  expect(admit(core, '192.0.2.1', '192.0.2.1', '192.0.2.9')).toEqual([
    undefined,
    'address',
    undefined,
  ])
  core.setUser('default', 'off')
  expect(core.admission.admit({ transport: 'tcp', ip: '192.0.2.1' })).toBeUndefined()
  for (const client of [...core.clients.all()]) client.close(CLOSES.peerClosed)
  expect(admit(core, '192.0.2.1')).toEqual([undefined])
  expect(core.counters.connectionsReceived).toBe(5)
  expect(core.counters.rejections.get('address')).toBe(1)
})

test.each([
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true],
  ['2001:db8:1:2::1', '2001:0DB8:0001:0002:0:0:0:5', true],
  ['2001:db8::1', '2001:db8:0:0:1::', true],
  ['fe80::1%eth0', 'fe80::2%eth0', true],
  ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ['::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
])('%s and %s are one address: %s', (first, second, isSame) => {
  const core = new TestCore({ 'ws-max-connections-per-ip': '1' })
  expect(admit(core, first, second)).toEqual([undefined, isSame ? 'address' : undefined])
})

test('has room for maxclients, an unlimited number per address by default, and for none once closed', () => {
  const core = new TestCore({ maxclients: '2' })
  expect(admit(core, '192.0.2.1', '192.0.2.1', '192.0.2.1')).toEqual([
    undefined,
    undefined,
    'maxclients',
  ])
  core.admission.close()
  expect(admit(core, '')).toEqual(['shutdown'])
})

test('counts TCP and TLS connections of one address together, and apart from WebSockets', () => {
  const core = new TestCore({ 'tcp-max-connections-per-ip': '1', 'protected-mode': 'no' })
  core.admission.joined(core.connect({ transport: 'websocket' }).client, '192.0.2.1')
  expect(core.admission.admit({ transport: 'tls', ip: '192.0.2.1' })).toBeUndefined()
  core.admission.joined(core.connect({ transport: 'tls' }).client, '192.0.2.1')
  expect(core.admission.admit({ transport: 'tcp', ip: '192.0.2.1' })).toBe('address')
})

test.each([
  ['tcp', '192.0.2.1', 'protected-mode'],
  ['tls', '2001:db8::1', 'protected-mode'],
  ['tcp', '127.0.0.1', undefined],
  ['tcp', '::ffff:127.0.0.1', undefined],
  ['tcp', '::1', undefined],
  ['unix', '', undefined],
  ['websocket', '192.0.2.1', undefined],
] as const)('protected mode rejects %s from %j: %s', (transport, ip, rejection) => {
  const core = new TestCore()
  expect(core.admission.admit({ transport, ip })).toBe(rejection)
  core.set('protected-mode', 'no')
  expect(core.admission.admit({ transport, ip })).toBeUndefined()
  core.set('protected-mode', 'yes')
  core.set('requirepass', 'secret')
  expect(core.admission.admit({ transport, ip })).toBeUndefined()
  expect(core.counters.connectionsReceived).toBe(3)
})
