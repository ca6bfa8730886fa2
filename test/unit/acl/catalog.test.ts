import { describe, expect, test } from 'vitest'

import { CATEGORIES } from '../../../server/acl/categories.ts'
import { CommandCatalog, withKnownCommands } from '../../../server/acl/catalog.ts'
import { KNOWN_COMMANDS } from '../../../server/acl/known-commands.ts'
import { catalog, userOf } from './support.ts'

function namesIn(category: (typeof CATEGORIES)[number]): string[] {
  return catalog
    .inCategory(category)
    .map((entry) => entry.name)
    .sort()
}

describe('the catalog', () => {
  test('numbers its entries without holes and finds each by its name', () => {
    for (const [index, entry] of catalog.all.entries()) {
      expect(entry.id).toBe(index)
      expect(catalog.lookup(entry.name)).toBe(entry)
    }
    expect(catalog.lookup('GET')).toBeUndefined()
    expect(catalog.lookup('client|id|x')).toBeUndefined()
    expect(catalog.lookup('constructor')).toBeUndefined()
  })

  test('ties subcommands to their container, whichever is told first', () => {
    const small = new CommandCatalog([
      { name: 'client|id', categories: ['slow'] },
      { name: 'client', categories: ['slow'] },
    ])
    const container = small.lookup('client')
    expect(small.lookup('client|id')?.parent).toBe(container)
    expect(container?.subcommands).toEqual([small.lookup('client|id')])
    expect(container?.parent).toBeUndefined()
  })

  test('refuses a name told twice and a subcommand without its container', () => {
    expect(
      () =>
        new CommandCatalog([
          { name: 'get', categories: [] },
          { name: 'get', categories: [] },
        ]),
    ).toThrow("Command 'get' is in the catalog twice")
    expect(() => new CommandCatalog([{ name: 'a|b', categories: [] }])).toThrow(
      "Subcommand 'a|b' has no container in the catalog",
    )
  })

  test('takes the categories of the server over the known ones', () => {
    const merged = new CommandCatalog(withKnownCommands([{ name: 'get', categories: ['slow'] }]))
    expect(merged.lookup('get')?.categories).toEqual(['slow'])
    expect(merged.all.length).toBe(KNOWN_COMMANDS.length)
  })
})

describe('known commands', () => {
  test.each([
    ['get', 'read string fast'],
    ['set', 'write string slow'],
    ['client|kill', 'admin slow dangerous connection'],
    ['client|no-touch', 'slow connection'],
    ['client|import-source', 'slow connection'],
    ['cluster|myshardid', 'slow'],
    ['hexpire', 'write hash fast'],
    ['httl', 'read hash fast'],
    ['commandlog|get', 'admin slow dangerous'],
    ['commandlog', 'slow'],
    ['waitaof', 'slow blocking connection'],
    ['sort', 'write set sortedset list slow dangerous'],
    ['eval', 'slow scripting'],
    ['info', 'slow dangerous'],
    ['lolwut', 'read fast'],
    ['publish', 'pubsub fast'],
    ['keys', 'keyspace read slow dangerous'],
  ])('%s is in %s', (name, categories) => {
    expect(catalog.lookup(name)?.categories.join(' ')).toBe(categories)
  })

  test('are each in exactly one of @fast and @slow', () => {
    for (const { name, categories } of catalog.all) {
      const speeds = categories.filter((category) => category === 'fast' || category === 'slow')
      expect([name, speeds.length]).toEqual([name, 1])
    }
  })

  test('are @dangerous where they are @admin', () => {
    for (const { name, categories } of catalog.inCategory('admin')) {
      expect([name, categories]).toEqual([name, expect.arrayContaining(['dangerous'])])
    }
  })

  test('leave no category empty', () => {
    for (const category of CATEGORIES) expect(namesIn(category)).not.toEqual([])
  })

  test('have @pubsub for these 13, without the container and its help', () => {
    expect(namesIn('pubsub')).toEqual([
      'psubscribe',
      'publish',
      'pubsub|channels',
      'pubsub|numpat',
      'pubsub|numsub',
      'pubsub|shardchannels',
      'pubsub|shardnumsub',
      'punsubscribe',
      'spublish',
      'ssubscribe',
      'subscribe',
      'sunsubscribe',
      'unsubscribe',
    ])
  })

  test('have @transaction for these five', () => {
    expect(namesIn('transaction')).toEqual(['discard', 'exec', 'multi', 'unwatch', 'watch'])
  })

  test('have @connection for every subcommand of client and command', () => {
    for (const container of ['client', 'command']) {
      const subcommands = catalog.lookup(container)?.subcommands ?? []
      expect(subcommands.length).toBeGreaterThan(5)
      for (const { name, categories } of subcommands) {
        expect([name, categories.includes('connection')]).toEqual([name, true])
      }
    }
  })
})

describe('a rule for a container', () => {
  test('allows all its subcommands, and one for a subcommand that one alone', () => {
    const allowed = (rules: string): string[] => {
      const root = userOf(rules).selectors[0]
      return catalog.all
        .filter(({ id }) => (((root?.allowed[id >>> 5] ?? 0) >>> (id & 31)) & 1) === 1)
        .map((entry) => entry.name)
        .sort()
    }
    expect(allowed('+token')).toEqual(['token', 'token|revoke', 'token|why'])
    expect(allowed('+token -token|revoke')).toEqual(['token', 'token|why'])
    expect(allowed('+token|why')).toEqual(['token|why'])
    expect(allowed('+@pubsub')).toEqual(namesIn('pubsub'))
    expect(allowed('+@all')).toHaveLength(catalog.all.length)
    expect(allowed('+@all -@all')).toEqual([])
  })
})
