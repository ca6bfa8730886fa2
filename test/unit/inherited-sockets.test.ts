import { expect, test } from 'vitest'
import { takeInheritedSockets } from '../../server/inherited-sockets.ts'

const handedOver = (changes: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  LISTEN_PID: '42',
  LISTEN_FDS: '3',
  LISTEN_FDNAMES: 'resp:http:http',
  PATH: '/bin',
  ...changes,
})

test('Sockets that were handed over are known by their names, from descriptor 3 on', () => {
  expect(takeInheritedSockets(handedOver({}), 42)).toEqual({ resp: [3], http: [4, 5], admin: [] })
})

test('Nothing of them stays in the environment, so that no child takes them', () => {
  const env = handedOver({})
  takeInheritedSockets(env, 42)
  expect(env).toEqual({ PATH: '/bin' })
})

test.each<[string, NodeJS.ProcessEnv]>([
  ['another process', { LISTEN_PID: '43' }],
  ['nobody', { LISTEN_PID: undefined }],
  ['this one, and are none', { LISTEN_FDS: '0' }],
  ['this one, and are no number', { LISTEN_FDS: '3x' }],
])('Sockets are left alone that are for %s', (_whom, changes) => {
  expect(takeInheritedSockets(handedOver(changes), 42)).toBeUndefined()
})

test.each([
  ['resp', "a socket for ''"],
  ['resp:http:respcast.socket', "a socket for 'respcast.socket'"],
])('A name that no listener has is refused, with the remedy: %s', (names, text) => {
  const take = (): unknown => takeInheritedSockets(handedOver({ LISTEN_FDNAMES: names }), 42)
  expect(take).toThrow(text)
  expect(take).toThrow('Set FileDescriptorName in its .socket unit to one of resp, http, admin.')
})
