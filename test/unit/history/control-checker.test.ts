import { describe, expect, test } from 'vitest'
import { checkControl } from '../../history/control-checker.ts'
import type { RegisterValue } from '../../history/control-history.ts'
import { ControlStory } from './control-builder.ts'

function broken({ history }: ControlStory): string[] {
  const { violations } = checkControl(history)
  return [...new Set(violations.map(({ promise }) => promise))].toSorted()
}

const PLACES = ['g1', 'g2']
const GONE = { type: 'revoke-sub', sub: 'eve' } as const
const CLOSED = { type: 'revoke-channel', channel: 'room:*', role: undefined } as const
const roleOf = (...channels: string[]) => ({ type: 'role', role: 'r', channels }) as const

/** An entry, and a message after it that a session gets. */
function afterEntry(value: RegisterValue, channel = 'news', topology?: 'sentinel' | 'cluster') {
  const told = new ControlStory(topology)
  const native = told.native('news', 'room:1')
  const eve = told.session('eve').join(channel)
  native.control(told.entry('r:1', 1, value))
  const message = told.story.publish(channel, 2)
  native.get(message)
  return { told, native, eve, message }
}

describe('C1 by the place among the messages', () => {
  test.each([
    ['a subject', GONE, 'news'],
    ['a channel', CLOSED, 'room:1'],
    ['a role', roleOf('other'), 'news'],
  ] as const)('nothing may come after the commit that takes it away: %s', (_, value, channel) => {
    const { told, eve, message } = afterEntry(value, channel)
    eve.get(message)
    expect(broken(told)).toEqual(['C1'])
  })

  test('others get what is taken from one', () => {
    const { told, message } = afterEntry(GONE)
    told.session('bob').join('news').get(message)
    expect(broken(told)).toEqual([])
  })

  test('what was published before the commit may come after it', () => {
    const told = new ControlStory()
    const native = told.native('news')
    const eve = told.session('eve').join('news')
    const message = told.story.publish('news', 2)
    native.get(message)
    native.control(told.entry('r:1', 1, GONE))
    eve.get(message)
    expect(broken(told)).toEqual([])
  })

  test('a revocation that was lifted takes nothing, and its older version that comes late neither', () => {
    const { told, native } = afterEntry(GONE)
    native.control(told.entry('r:1', 2, undefined))
    native.control(told.entry('r:1', 1, GONE))
    const message = told.story.publish('news', 2)
    native.get(message)
    told.session('eve').join('news').get(message)
    expect(broken(told)).toEqual([])
  })

  test('what is given back before it is delivered may be delivered', () => {
    const { told, native, eve, message } = afterEntry(roleOf('other'))
    native.control(told.entry('r:1', 2, roleOf('news')))
    expect(broken(told)).toEqual([])
    eve.get(message)
    expect(broken(told)).toEqual([])
    const late = told.story.publish('news', 2)
    native.control(told.entry('r:1', 3, roleOf('other')))
    native.get(late)
    eve.get(late)
    native.control(told.entry('r:1', 4, roleOf('news')))
    expect(broken(told)).toEqual(['C1'])
  })

  test('a revocation that is being lifted takes nothing before that is committed', () => {
    const told = new ControlStory()
    const native = told.native('news')
    const eve = told.session('eve').join('news')
    const { label } = told.ordered(GONE)
    native.control(told.entry('r:1', 1, { ...GONE, label }))
    told.order({ type: 'lift', label })
    const message = told.story.publish('news', 2)
    native.get(message)
    eve.get(message)
    expect(broken(told)).toEqual([])
  })

  test('an entry that is published again is none', () => {
    const told = new ControlStory()
    const before = told.native('news')
    const entry = told.entry('r:1', 1, GONE)
    before.control(entry)
    const native = told.native('news')
    native.control(told.entry('r:1', 2, undefined))
    native.control(entry)
    const message = told.story.publish('news', 2)
    native.get(message)
    told.session('eve').join('news').get(message)
    expect(broken(told)).toEqual([])
  })

  test('a pattern has to be granted as it is written', () => {
    const { told, eve, message } = afterEntry(roleOf('news', 'n*s'))
    eve.join('n*', 'pattern').get(message, 'n*', 'pattern')
    expect(broken(told)).toEqual(['C1'])
  })

  test('in a cluster nobody knows the place', () => {
    const { told, eve, message } = afterEntry(GONE, 'news', 'cluster')
    eve.get(message)
    expect(broken(told)).toEqual([])
  })

  test('while masters change, nobody knows the place', () => {
    const told = new ControlStory('sentinel')
    const native = told.native('news')
    const eve = told.session('eve').join('news')
    native.control(told.entry('r:1', 1, GONE))
    told.story.disturb(5)
    const message = told.story.publish('news', 2)
    native.get(message)
    eve.get(message)
    expect(broken(told)).toEqual([])
  })

  test('a kill reaches connections that are older, unless the log was lost', () => {
    const told = new ControlStory()
    const native = told.native('news')
    const old = told.session('eve').join('news')
    told.story.wait(1_000)
    native.control(told.killing('eve'))
    const young = told.session('eve').join('news')
    const message = told.story.publish('news', 2)
    native.get(message)
    young.get(message)
    expect(broken(told)).toEqual([])
    old.get(message)
    expect(broken(told)).toEqual(['C1'])
    told.forget(told.story.nowMs - 10, told.story.nowMs)
    expect(broken(told)).toEqual([])
  })
})

describe('C1 by answers', () => {
  test.each([GONE, { type: 'kill', sub: 'eve' } as const, roleOf('other')])(
    'nothing that is sent after the answer may come: $type',
    (kind) => {
      const told = new ControlStory('cluster')
      const eve = told.session('eve', 'g2').join('news')
      told.story.wait(1_000)
      const order = told.order(kind)
      const between = told.story.publish('news', 1)
      told.answer(order)
      eve.get(between)
      expect(broken(told)).toEqual([])
      eve.get(told.story.publish('news', 1))
      expect(broken(told)).toEqual(['C1'])
    },
  )

  test('what was not confirmed binds the gateway when it is fenced', () => {
    const told = new ControlStory()
    const eve = told.session('eve', 'g2').join('news')
    told.ordered(GONE, { state: 'partly', missing: ['g2'], fencedInMs: 500 })
    eve.get(told.story.publish('news', 1))
    expect(broken(told)).toEqual([])
    told.story.wait(1_600)
    eve.get(told.story.publish('news', 1))
    expect(broken(told)).toEqual(['C1'])
  })

  test('what is in force at one gateway binds it alone', () => {
    const told = new ControlStory()
    const here = told.session('eve', 'g1').join('news')
    const there = told.session('eve', 'g2').join('news')
    told.ordered(GONE, { state: 'here' })
    there.get(told.story.publish('news', 1))
    expect(broken(told)).toEqual([])
    here.get(told.story.publish('news', 1))
    expect(broken(told)).toEqual(['C1'])
  })

  test('what is being lifted binds nobody', () => {
    const told = new ControlStory()
    const eve = told.session('eve').join('news')
    const { label } = told.ordered(GONE)
    told.order({ type: 'lift', label })
    eve.get(told.story.publish('news', 1))
    expect(broken(told)).toEqual([])
  })

  test('a role is what the last edit says, or one that may have come after it', () => {
    const told = new ControlStory()
    const eve = told.session('eve').join('news')
    told.ordered(roleOf('other'))
    const open = told.order(roleOf('news'))
    eve.get(told.story.publish('news', 1))
    told.answer(open, { state: 'none' })
    expect(broken(told)).toEqual(['C1'])
    open.outcome = { state: 'open' }
    expect(broken(told)).toEqual([])
  })
})

describe('C2', () => {
  test('nothing comes from a gateway a second past its lease', () => {
    const told = new ControlStory()
    const { story } = told
    const cut = told.session('bob', 'g1').join('news')
    const well = told.session('bob', 'g2').join('news')
    const fromMs = story.nowMs
    story.wait(3_500)
    const early = story.publish('news', 2)
    cut.get(early)
    well.get(early)
    story.wait(1_000)
    const late = story.publish('news', 1)
    well.get(late)
    story.wait(100)
    told.cutOff('g1', fromMs, story.nowMs)
    expect(broken(told)).toEqual([])
    // It was kept, and comes when the gateway is heard again.
    cut.get(late)
    expect(broken(told)).toEqual(['C2'])
  })

  test('what is published after the gateway is heard again may come', () => {
    const told = new ControlStory()
    const { story } = told
    const cut = told.session('bob', 'g1').join('news')
    const fromMs = story.nowMs
    story.wait(6_000)
    told.cutOff('g1', fromMs, story.nowMs)
    cut.get(story.publish('news', 1))
    expect(broken(told)).toEqual([])
  })
})

describe('C3 and C4', () => {
  const both = (told: ControlStory, state: Parameters<ControlStory['final']>[1]): void => {
    told.final('g1', state)
    told.final('g2', state)
  }

  test('what was acknowledged is in force in the end, and refuses tokens', () => {
    for (const state of ['everywhere', 'here'] as const) {
      const told = new ControlStory()
      const { label } = told.ordered(GONE, { state })
      both(told, { revocations: [label], refused: ['eve'] })
      expect(broken(told)).toEqual([])
      told.history.finals[1] = { ...told.history.finals[0]!, place: 'g2', refused: [] }
      expect(broken(told)).toEqual(['C3'])
    }
  })

  test('what was acknowledged is lost', () => {
    const told = new ControlStory()
    told.ordered(CLOSED)
    both(told, {})
    expect(broken(told)).toEqual(['C3'])
  })

  test('what was lifted does not come back', () => {
    const told = new ControlStory()
    const { label } = told.ordered(CLOSED)
    told.ordered({ type: 'lift', label })
    both(told, { revocations: [label] })
    expect(broken(told)).toEqual(['C3'])
  })

  test('what nobody knows may be so or so, but everywhere the same', () => {
    const told = new ControlStory()
    const { label } = told.order(CLOSED)
    told.final('g1', { revocations: [label] })
    told.final('g2')
    expect(broken(told)).toEqual(['C4'])
    told.history.finals.pop()
    expect(broken(told)).toEqual([])
  })

  test('users and gateways are the same everywhere', () => {
    for (const state of [{ users: ['user a on'] }, { nodes: ['0123'] }]) {
      const told = new ControlStory()
      told.final('g1', state)
      told.final('g2')
      expect(broken(told)).toEqual(['C4'])
    }
  })
})

test('C6: a kill closes nothing that came after it', () => {
  const told = new ControlStory()
  const old = told.session('eve').join('news')
  told.ordered({ type: 'kill', sub: 'eve' })
  old.close('server', '1000 ')
  expect(broken(told)).toEqual([])
  told.story.wait(1_000)
  told.session('eve').join('news').close('server', '1000 ')
  expect(broken(told)).toEqual(['C6'])
})

describe('C7', () => {
  const edited = (told: ControlStory, version: number, of?: string): string =>
    told.entry('u:role:r', version, roleOf(`${version}`), of)

  test('each edit follows the one before it', () => {
    const told = new ControlStory()
    const native = told.native()
    for (const version of [4, 5, 6]) native.control(edited(told, version))
    expect(checkControl(told.history)).toMatchObject({ violations: [], figures: { edits: 2 } })
    native.control(edited(told, 6))
    expect(broken(told)).toEqual(['C7'])
  })

  test('an edit may not leave a version out', () => {
    const told = new ControlStory()
    const native = told.native()
    for (const version of [1, 3]) native.control(edited(told, version))
    expect(broken(told)).toEqual(['C7'])
  })

  test('nobody knows what an edit follows where the entry before it was not seen', () => {
    const told = new ControlStory()
    const native = told.native()
    native.control(edited(told, 1))
    told.entry('r:1', 1, GONE)
    native.control(edited(told, 3))
    expect(broken(told)).toEqual([])
  })

  test('what is committed anew is no edit, and has what it had', () => {
    const told = new ControlStory()
    const native = told.native()
    const first = edited(told, 1)
    native.control(first)
    native.control(edited(told, 2))
    native.control(edited(told, 1, first))
    native.control(edited(told, 3))
    expect(broken(told)).toEqual([])
    native.control(told.entry('u:role:r', 1, roleOf('another'), first))
    expect(broken(told)).toEqual(['C7'])
  })

  test('an entry that is published again is none', () => {
    const told = new ControlStory()
    const native = told.native()
    const [first, second] = [edited(told, 1), edited(told, 2)]
    for (const entry of [first, second, first]) native.control(entry)
    native.control(edited(told, 3))
    expect(broken(told)).toEqual([])
  })

  test('a revocation may be lifted at two gateways', () => {
    const told = new ControlStory()
    const native = told.native()
    native.control(told.entry('r:1', 1, GONE))
    for (const _ of PLACES) native.control(told.entry('r:1', 2, undefined))
    expect(broken(told)).toEqual([])
  })

  const grown = (told: ControlStory, ...labels: readonly string[]): void => {
    const line = ['user role:grown off', ...labels.map((label) => `&${label}`), '-@all'].join(' ')
    for (const place of PLACES) told.final(place, { users: [line] })
  }

  test('what was added and acknowledged is not overwritten', () => {
    const told = new ControlStory()
    const [one, two, open] = ['everywhere', 'everywhere', 'open'].map((state) =>
      told.ordered({ type: 'grow', role: 'grown' }, { state: state as 'open' }),
    )
    grown(told, one!.label, two!.label)
    expect(broken(told)).toEqual([])
    told.history.finals.length = 0
    grown(told, two!.label, open!.label)
    expect(broken(told)).toEqual(['C7'])
  })

  test('of two edits one may be lost where the upstream has forgotten the other', () => {
    const told = new ControlStory()
    told.ordered({ type: 'grow', role: 'grown' })
    told.forget(told.story.nowMs - 10, told.story.nowMs)
    grown(told)
    expect(broken(told)).toEqual([])
  })

  test('what was answered to have changed nothing has changed nothing', () => {
    const told = new ControlStory()
    const { label } = told.ordered({ type: 'grow', role: 'grown' }, { state: 'none' })
    grown(told, label)
    expect(broken(told)).toEqual(['C7'])
  })
})

test('Figures say how much was looked at', () => {
  const { told, message } = afterEntry(GONE)
  told.session('bob').join('news').get(message)
  expect(checkControl(told.history).figures).toMatchObject({
    commits: 1,
    deliveries: 1,
    placed: 1,
    withheld: 1,
  })
})
