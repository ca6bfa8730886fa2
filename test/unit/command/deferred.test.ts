import { describe, expect, test } from 'vitest'
import { afterwards, Deferred } from '../../../server/command/deferred.ts'
import { command } from '../../support/test-core.ts'
import { coreWithUpstream } from '../../support/fake-backplane.ts'
import { recordedLog } from '../../support/recorded-log.ts'

describe('A deferred value', () => {
  test('calls back within settle, through every conversion', () => {
    const seen: number[] = []
    const other = new Deferred<number>()
    const doubled = afterwards(other, (value) => value * 2) as Deferred<number>
    doubled.whenSettled((value) => seen.push(value))
    expect([seen, other.value]).toEqual([[], undefined])
    other.settle(4)
    expect([seen, other.value, doubled.value]).toEqual([[8], 4, 8])
  })

  test('calls back at once where it is there already', () => {
    const deferred = new Deferred<string>()
    deferred.settle('a')
    const seen: string[] = []
    deferred.whenSettled((value) => seen.push(value))
    expect(seen).toEqual(['a'])
  })

  test('keeps its first value', () => {
    const deferred = new Deferred<string>()
    const seen: string[] = []
    deferred.whenSettled((value) => seen.push(value))
    deferred.settle('a')
    deferred.settle('b')
    expect([seen, deferred.value]).toEqual([['a'], 'a'])
  })
})

test('A promise is converted as promises are', async () => {
  expect(await afterwards(Promise.resolve(2), (value) => value + 1)).toBe(3)
})

test('A completion that comes within another command closes its client, and no other', async () => {
  const { log, lines } = recordedLog()
  const { server, upstream } = coreWithUpstream({}, log)
  const subscriber = server.connect({ protocol: 3 })
  subscriber.write(command('SUBSCRIBE', 'a'))
  const other = server.connect()
  const countOf = server.registry.countOf.bind(server.registry)
  server.registry.countOf = (space, name) => {
    upstream.confirm()
    return countOf(space, name)
  }
  expect(other.send('PUBSUB', 'NUMSUB', 'a')).toBe('*2\r\n$1\r\na\r\n:0\r\n')
  await subscriber.settled()
  expect(subscriber.client.closeCause?.name).toBe('server-error')
  expect(JSON.stringify(lines)).toContain('ERR_NESTED_COMMAND')
  expect(other.send('PING')).toBe('+PONG\r\n')
})
