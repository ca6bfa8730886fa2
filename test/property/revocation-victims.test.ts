import fc from 'fast-check'
import { expect, test } from 'vitest'
import { reaches, steps } from '../support/naive-pattern.ts'
import { TestCore, type TestClient } from '../support/test-core.ts'

const name = fc.string({ unit: fc.constantFrom('a', 'b', ':'), minLength: 1, maxLength: 3 })
const glob = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), minLength: 1, maxLength: 3 })
const rules = fc.array(glob, { maxLength: 3 })

/** Subscriptions of a connection: channels, patterns and shard channels. */
const held = fc.record({
  subscribe: fc.array(name, { maxLength: 2 }),
  psubscribe: fc.array(glob, { maxLength: 2 }),
  ssubscribe: fc.array(name, { maxLength: 2 }),
})

type Held = {
  readonly subscribe: string[]
  readonly psubscribe: string[]
  readonly ssubscribe: string[]
}

/** Rules cover a channel that one of them matches, and a pattern that is one of them, letter by letter, or any where `*` is. */
function covers(patterns: readonly string[], one: Held): boolean {
  const isCovered = (channel: string): boolean =>
    patterns.some((text) => reaches(steps(text), channel))
  return (
    [...one.subscribe, ...one.ssubscribe].every(isCovered) &&
    one.psubscribe.every((pattern) => patterns.includes('*') || patterns.includes(pattern))
  )
}

function subscribe(client: TestClient, one: Held): void {
  for (const [command, names] of Object.entries(one))
    if (names.length > 0) client.send(command, ...names)
}

const channelRules = (patterns: readonly string[]): string =>
  [
    'resetchannels',
    ...(patterns.includes('*') ? ['allchannels'] : patterns.map((text) => `&${text}`)),
  ].join(' ')

test('a change of rules closes exactly the connections with a subscription that is no longer covered', () => {
  let closed = 0
  let pardoned = 0
  fc.assert(
    fc.property(rules, fc.array(held, { minLength: 1, maxLength: 4 }), (after, holders) => {
      const core = new TestCore()
      core.setUser('u', 'on nopass +@all allchannels')
      core.setUser('other', 'on nopass +@all allchannels')
      const clients = holders.map((one) => {
        const client = core.connect({ protocol: 3 })
        client.send('AUTH', 'u', 'p')
        subscribe(client, one)
        return client
      })
      const bystander = core.connect({ protocol: 3 })
      bystander.send('AUTH', 'other', 'p')
      subscribe(bystander, { subscribe: ['a'], psubscribe: ['*'], ssubscribe: ['b'] })
      core.connect().send('ACL', 'SETUSER', 'u', ...channelRules(after).split(' '))
      for (const [at, one] of holders.entries()) {
        const mustStay = covers(after, one)
        expect([one, after, clients[at]?.client.closed]).toEqual([one, after, !mustStay])
        if (mustStay) pardoned++
        else closed++
      }
      expect(bystander.client.closed).toBe(false)
    }),
    { numRuns: 300 },
  )
  expect(Math.min(closed, pardoned)).toBeGreaterThan(50)
})
