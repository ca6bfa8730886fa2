import { settingsOf } from '../../support/settings.ts'
import { describe, expect, test } from 'vitest'

import { AclLog } from '../../../server/acl/log.ts'
import type { AclLogEvent } from '../../../server/acl/log.ts'

function event(object: string, changes: Partial<AclLogEvent> = {}): AclLogEvent {
  return {
    reason: 'channel',
    context: 'toplevel',
    object,
    username: 'u',
    clientInfo: 'id=1',
    ...changes,
  }
}

const objects = (log: AclLog, count?: number): string[] =>
  log.list(count).map((entry) => entry.object)

describe('the ACL log', () => {
  test('shows entries newest first, ten unless asked otherwise', () => {
    const log = new AclLog(settingsOf())
    for (let index = 0; index < 12; index++) log.add(event(`c${index}`), 1000 + index)
    expect(objects(log)).toEqual(['c11', 'c10', 'c9', 'c8', 'c7', 'c6', 'c5', 'c4', 'c3', 'c2'])
    expect(objects(log, 2)).toEqual(['c11', 'c10'])
    expect(objects(log, 0)).toEqual([])
    expect(objects(log, -1)).toEqual([])
    expect(objects(log, 100)).toHaveLength(12)
  })

  test('folds an event into an equal entry of the last minute, which moves to the front', () => {
    const log = new AclLog(settingsOf())
    log.add(event('a'), 0)
    log.add(event('b'), 10)
    log.add(event('a', { clientInfo: 'id=2' }), 60_000)
    expect(log.list()).toEqual([
      { ...event('a'), clientInfo: 'id=2', entryId: 0, count: 2, createdMs: 0, updatedMs: 60_000 },
      { ...event('b'), entryId: 1, count: 1, createdMs: 10, updatedMs: 10 },
    ])
    log.add(event('a'), 120_000)
    expect(log.list()[0]?.count).toBe(3)
    log.add(event('a'), 180_001)
    expect(log.list()[0]).toMatchObject({ count: 1, entryId: 2 })
  })

  test('folds nothing where reason, context, object or user differ', () => {
    const log = new AclLog(settingsOf())
    log.add(event('a'), 0)
    log.add(event('a', { reason: 'key' }), 0)
    log.add(event('a', { context: 'multi' }), 0)
    log.add(event('a', { username: 'v' }), 0)
    log.add(event('b'), 0)
    expect(log.list().map((entry) => entry.count)).toEqual([1, 1, 1, 1, 1])
  })

  test('looks at the ten newest entries only', () => {
    const log = new AclLog(settingsOf())
    for (let index = 0; index < 11; index++) log.add(event(`c${index}`), 0)
    log.add(event('c1'), 0)
    expect(log.list(1)[0]?.count).toBe(2)
    log.add(event('c0'), 0)
    expect(log.list(1)[0]?.count).toBe(1)
  })

  test('drops the oldest entries beyond its length, after it was lowered at the next refusal', () => {
    const settings = settingsOf({ 'acllog-max-len': '3' })
    const log = new AclLog(settings)
    for (let index = 0; index < 5; index++) log.add(event(`c${index}`), 0)
    expect(objects(log)).toEqual(['c4', 'c3', 'c2'])
    settings.set([['acllog-max-len', '2']])
    expect(objects(log)).toEqual(['c4', 'c3', 'c2'])
    log.add(event('d'), 0)
    expect(objects(log)).toEqual(['d', 'c4'])
    settings.set([['acllog-max-len', '0']])
    expect(objects(log)).toEqual(['d', 'c4'])
    log.add(event('e'), 0)
    expect(objects(log)).toEqual([])
  })

  test('logs nothing at length 0, and counts refusals all the same', () => {
    const log = new AclLog(settingsOf({ 'acllog-max-len': '0' }))
    log.add(event('a'), 0)
    log.add(event('AUTH', { reason: 'auth' }), 0)
    expect(objects(log)).toEqual([])
    expect(log.denied).toEqual({ auth: 1, command: 0, key: 0, channel: 1 })
  })

  test('goes on with its entry ids after a reset', () => {
    const log = new AclLog(settingsOf())
    log.add(event('a'), 0)
    log.reset()
    expect(objects(log)).toEqual([])
    log.add(event('a'), 0)
    expect(log.list()[0]).toMatchObject({ entryId: 1, count: 1 })
  })

  test('keeps whole names, and 64 KB of one that only fills memory', () => {
    const log = new AclLog(settingsOf())
    log.add(event('x'.repeat(100_000), { username: 'y'.repeat(65_536) }), 0)
    log.add(event('x'.repeat(100_000), { username: 'y'.repeat(65_536) }), 0)
    expect(log.list()).toMatchObject([
      { object: 'x'.repeat(65_536), username: 'y'.repeat(65_536), count: 2 },
    ])
  })
})
