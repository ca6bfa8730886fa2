import { expect, test } from 'vitest'
import { CLOSES } from '../../../server/client/close.ts'
import { TestCore } from '../../support/test-core.ts'

/** Admits connections of these addresses over WebSocket. @returns What was refused, or undefined. */
function admit(core: TestCore, ...addresses: readonly string[]) {
  return addresses.map((ip) => {
    const refusal = core.admission.refusal('ws', ip)
    if (refusal === undefined) {
      core.admission.joined(core.connect({ transport: 'websocket' }).client, 'ws', ip)
    }
    return refusal
  })
}

test('counts connections of one address, and forgets them when they close', () => {
  const core = new TestCore({ 'ws-max-connections-per-ip': '1' })
  expect(admit(core, '192.0.2.1', '192.0.2.1', '192.0.2.9')).toEqual([
    undefined,
    'address',
    undefined,
  ])
  expect(core.admission.refusal('tcp', '192.0.2.1')).toBeUndefined()
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
