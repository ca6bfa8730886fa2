import { expect, test } from 'vitest'
import { LocalAddress } from '../../../server/addresses.ts'
import { peerOf } from '../../../server/transport/tcp.ts'

const socket = {
  remoteAddress: '10.0.0.7',
  remotePort: 40_000,
  localAddress: '10.0.0.1',
  localPort: 6380,
}

test.each(['tcp', 'tls'] as const)('a peer over %s has the addresses of its socket', (kind) => {
  expect(peerOf(socket, { kind }, new LocalAddress())).toEqual({
    transport: kind,
    ip: '10.0.0.7',
    address: '10.0.0.7:40000',
    localAddress: '10.0.0.1:6380',
  })
})

test('a peer over IPv6 is written in brackets', () => {
  const over6 = { ...socket, remoteAddress: '2001:db8::7', localAddress: '::1' }
  expect(peerOf(over6, { kind: 'tcp' }, new LocalAddress())).toMatchObject({
    ip: '2001:db8::7',
    address: '[2001:db8::7]:40000',
    localAddress: '[::1]:6380',
  })
})

test('a peer for which a proxy speaks has its own address, and that of the listener', () => {
  const client = { ip: '2001:db8::7', port: 1 }
  expect(peerOf(socket, { kind: 'tcp' }, new LocalAddress(), client)).toEqual({
    transport: 'tcp',
    ip: '2001:db8::7',
    address: '[2001:db8::7]:1',
    localAddress: '10.0.0.1:6380',
  })
})

test('a peer of a Unix socket has the path for both addresses, and no IP', () => {
  expect(
    peerOf({} as typeof socket, { kind: 'unix', path: '/run/respcast' }, new LocalAddress()),
  ).toEqual({
    transport: 'unix',
    ip: '',
    address: '/run/respcast:0',
    localAddress: '/run/respcast:0',
  })
})

test('a socket that is gone already has an empty address', () => {
  const gone = { ...socket, remoteAddress: undefined, remotePort: undefined }
  expect(peerOf(gone, { kind: 'tcp' }, new LocalAddress())).toMatchObject({ ip: '', address: ':0' })
})
