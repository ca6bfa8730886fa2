import { hostname } from 'node:os'
import { describe, expect, test } from 'vitest'
import { nodeAddresses, type Bound, type NodeAddresses } from '../../server/node-facts.ts'
import { settingsOf, type Directives } from '../support/settings.ts'
import { TestCore } from '../support/test-core.ts'

const NOWHERE = { resp: [], http: [], admin: [] }

function addressesOf(
  bound: Partial<Record<keyof NodeAddresses, readonly Bound[]>>,
  directives: Directives = {},
): NodeAddresses {
  return nodeAddresses(settingsOf(directives), { ...NOWHERE, ...bound })
}

const at = (host: string, port: number): Bound => ({ host, port })

describe('Addresses of a gateway that others are shown', () => {
  test('are empty where a listener is closed', () => {
    expect(addressesOf({})).toEqual({ resp: '', http: '', admin: '' })
  })

  test('are those that were bound, IPv6 in brackets', () => {
    expect(
      addressesOf({
        resp: [at('127.0.0.1', 6379), at('::1', 6379)],
        http: [at('10.0.0.7', 8080)],
        admin: [at('fd00::7', 8081)],
      }),
    ).toEqual({ resp: '127.0.0.1:6379', http: '10.0.0.7:8080', admin: '[fd00::7]:8081' })
  })

  test('are not on loopback where others reach the gateway too', () => {
    const resp = [at('127.0.0.1', 6379), at('10.0.0.7', 6379), at('10.0.0.7', 6380)]
    expect(addressesOf({ resp }).resp).toBe('10.0.0.7:6379')
  })

  test.each(['0.0.0.0', '::'])('name the machine where a listener is open at %s', (host) => {
    const bound = [at(host, 7000)]
    const name = `${hostname()}:7000`
    expect(addressesOf({ resp: bound, http: bound, admin: bound })).toEqual({
      resp: name,
      http: name,
      admin: name,
    })
  })

  test('name the announced host instead of the machine, its name before its IP address', () => {
    const bound = { resp: [at('0.0.0.0', 7000)], http: [at('10.0.0.7', 8080)] }
    const announced = { 'cluster-announce-ip': '192.0.2.1' }
    expect(addressesOf(bound, announced)).toMatchObject({
      resp: '192.0.2.1:7000',
      http: '10.0.0.7:8080',
    })
    const named = { ...announced, 'cluster-announce-hostname': 'redis.test' }
    expect(addressesOf(bound, named).resp).toBe('redis.test:7000')
  })

  test('name a host of administrators that their listener answers to', () => {
    const bound = { http: [at('::', 8080)], admin: [at('::', 8081)] }
    const directives = { 'admin-hosts': 'console.test other.test' }
    expect(addressesOf(bound, directives)).toMatchObject({
      http: `${hostname()}:8080`,
      admin: 'console.test:8081',
    })
  })
})

describe('The name of a gateway', () => {
  test('is that of the configuration', () => {
    expect(new TestCore({ 'node-name': 'left' }).control.self.name).toBe('left')
  })

  test('is otherwise the machine and the port that is open', () => {
    const core = new TestCore({ port: '7001' })
    expect(core.control.self.name).toBe(`${hostname()}:7001`)
    core.addresses = { resp: '', http: '[::1]:8080', admin: '127.0.0.1:8081' }
    expect(core.control.self.name).toBe(`${hostname()}:8080`)
    core.addresses = { resp: '127.0.0.1:40000', http: '[::1]:8080', admin: '' }
    expect(core.control.self.name).toBe(`${hostname()}:40000`)
  })
})
