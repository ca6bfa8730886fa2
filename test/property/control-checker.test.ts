import { describe, expect, test } from 'vitest'
import { Dice } from '../fuzz/dice.ts'
import { checkControl } from '../history/control-checker.ts'
import type {
  Commit,
  ControlOrder,
  OrderKind,
  RegisterValue,
  TokenIdentity,
} from '../history/control-history.ts'
import { InForce } from '../history/in-force.ts'
import type { Message } from '../history/history.ts'
import type { Teller } from '../unit/history/builder.ts'
import { ControlStory, type ControlDraft } from '../unit/history/control-builder.ts'

const RUNS = 60
const SUBS = ['ann', 'bob', 'eve']
const CHANNELS = ['a', 'b', 'ab']
const PLACES = ['g1', 'g2']
const LEASE_MS = 3_000

/** A token session of the model. */
interface Holder {
  readonly teller: Teller
  readonly identity: TokenIdentity
  readonly place: string
  /** Messages that its gateway has not handed on. */
  readonly queue: Message[]
}

/** What a right upstream and right gateways could have done. */
class Model {
  readonly told = new ControlStory()
  readonly native = this.told.native(...CHANNELS)
  readonly holders: Holder[]
  readonly inForce = new InForce()
  readonly #versions = new Map<string, number>()
  readonly #dice: Dice
  /** What a cut-off gateway could not hand on. */
  readonly lost: { readonly holder: Holder; readonly message: Message }[] = []
  #cut: string | undefined

  constructor(dice: Dice) {
    this.#dice = dice
    this.holders = PLACES.flatMap((place) =>
      SUBS.map((sub) => {
        const openedMs = this.told.story.nowMs
        const teller = this.told.session(sub, place)
        for (const channel of CHANNELS) teller.join(channel)
        return { teller, identity: { sub, role: 'r', openedMs }, place, queue: [] }
      }),
    )
    this.told.story.wait(1_000)
  }

  publish(): void {
    const message = this.told.story.publish(this.#dice.pick(CHANNELS), 0)
    const { channel } = message
    this.native.get(message)
    for (const holder of this.holders) {
      const wanted = { kind: 'channel', name: channel, channel } as const
      if (this.inForce.denial(holder.identity, wanted) !== undefined) continue
      if (holder.place === this.#cut) this.lost.push({ holder, message })
      else holder.queue.push(message)
    }
    for (const holder of this.holders) this.#drain(holder, this.#dice.below(3))
  }

  order(kind: OrderKind): void {
    const order = this.told.order(kind, this.#dice.pick(PLACES))
    if (this.#dice.oneIn(4)) this.publish()
    const [key, value] = this.#registerOf(order)
    const version = (this.#versions.get(key) ?? 0) + 1
    this.#versions.set(key, version)
    const uuid =
      kind.type === 'kill' ? this.told.killing(kind.sub) : this.told.entry(key, version, value)
    this.native.control(uuid)
    this.inForce.apply(this.told.history.commits.get(uuid) as Commit)
    // Queued messages are dropped with the session.
    for (const { identity, queue } of this.holders) {
      const kept = queue.filter(
        ({ channel }) =>
          this.inForce.denial(identity, { kind: 'channel', name: channel, channel }) === undefined,
      )
      queue.splice(0, queue.length, ...kept)
    }
    if (this.#dice.oneIn(4)) this.publish()
    if (this.#dice.oneIn(8)) return
    this.told.answer(order)
  }

  /** The upstream does not hear a gateway for longer than its lease. */
  cutOff(): void {
    const { story } = this.told
    for (const holder of this.holders) this.#drain(holder, 1_000)
    const place = this.#dice.pick(PLACES)
    const fromMs = story.nowMs
    story.wait(LEASE_MS + 1_100)
    this.#cut = place
    this.publish()
    this.publish()
    story.wait(100)
    this.told.cutOff(place, fromMs, story.nowMs)
    this.#cut = undefined
  }

  end(): ControlDraft {
    for (const holder of this.holders) this.#drain(holder, 1_000)
    const { history } = this.told
    const lifted = new Set(
      history.orders.flatMap(({ kind }) => (kind.type === 'lift' ? [kind.label] : [])),
    )
    const revoking = history.orders.filter(({ kind }) => kind.type.startsWith('revoke'))
    const revocations = revoking.filter(({ label }) => !lifted.has(label))
    const refused = revocations.flatMap(({ kind }) =>
      kind.type === 'revoke-sub' ? [kind.sub] : [],
    )
    const grown = grownBy(history).map((label) => `&${label}`)
    for (const place of PLACES)
      this.told.final(place, {
        users: ['user default on', ['user role:grown off', ...grown].join(' ')],
        revocations: revocations.map(({ label }) => label),
        refused,
        nodes: ['1', '2'],
      })
    return this.told.history
  }

  #drain({ teller, queue }: Holder, most: number): void {
    for (const message of queue.splice(0, most)) teller.get(message)
  }

  #registerOf({
    kind,
    label,
  }: ControlOrder): readonly [key: string, value: RegisterValue | undefined] {
    switch (kind.type) {
      case 'lift':
        return [`r:${kind.label}`, undefined]
      case 'role':
        return ['u:role:r', kind]
      case 'kill':
        return ['', undefined]
      case 'grow':
        return [
          'u:role:grown',
          { type: 'role', role: 'grown', channels: grownBy(this.told.history) },
        ]
      default:
        return [`r:${label}`, kind]
    }
  }
}

/** What the role has that only ever grows. */
function grownBy({ orders }: ControlDraft): string[] {
  return orders.filter(({ kind }) => kind.type === 'grow').map(({ label }) => label)
}

function play(dice: Dice): { readonly model: Model; readonly history: ControlDraft } {
  const model = new Model(dice)
  const standing: string[] = []
  for (let step = 0; step < 60; step++) {
    const choice = dice.below(20)
    const { orders } = model.told.history
    if (choice === 0) {
      model.order({ type: 'revoke-sub', sub: dice.pick(SUBS) })
      standing.push((orders.at(-1) as ControlOrder).label)
    } else if (choice === 1) {
      const role = dice.oneIn(2) ? 'r' : undefined
      model.order({ type: 'revoke-channel', channel: dice.pick(['a', 'a*', 'b']), role })
      standing.push((orders.at(-1) as ControlOrder).label)
    } else if (choice < 5 && standing.length > 0) {
      const [label = ''] = standing.splice(dice.below(standing.length), 1)
      model.order({ type: 'lift', label })
    } else if (choice === 5) {
      model.order({ type: 'role', role: 'r', channels: dice.pick([['*'], ['a', 'b'], ['a*']]) })
    } else if (choice === 6 && dice.oneIn(4)) model.order({ type: 'kill', sub: dice.pick(SUBS) })
    else if (choice === 7) model.cutOff()
    else if (choice === 8) model.order({ type: 'grow', role: 'grown' })
    else model.publish()
  }
  return { model, history: model.end() }
}

/** Damages that a checker has to see. They answer false where a history has nothing to damage so. */
const DAMAGES: Readonly<
  Record<string, (model: Model, history: ControlDraft, dice: Dice) => boolean>
> = {
  'a message reaches whom the log has taken it from': ({ holders, told }, history) => {
    const { story } = told
    for (const { identity, teller } of holders) {
      const inForce = new InForce()
      const isDenied = ({ channel }: Message): boolean =>
        inForce.denial(identity, { kind: 'channel', name: channel, channel }) !== undefined
      // What is given back later may come.
      let forbidden: Message[] = []
      for (const event of nativeEvents(history)) {
        if (event.type === 'control') {
          inForce.apply(history.commits.get(event.payload) as Commit)
          forbidden = forbidden.filter(isDenied)
        }
        if (event.type === 'message' && event.message && isDenied(event.message))
          forbidden.push(event.message)
      }
      const [message] = forbidden
      if (!message) continue
      story.wait(1)
      teller.get(message)
      return true
    }
    return false
  },
  'what is sent after an answer reaches whom it takes it from': ({ holders, told }, { orders }) => {
    const lifted = new Set(orders.flatMap(({ kind }) => (kind.type === 'lift' ? [kind.label] : [])))
    const order = orders.find(
      ({ kind, answered, label }) => kind.type === 'revoke-sub' && answered && !lifted.has(label),
    )
    if (order?.kind.type !== 'revoke-sub') return false
    const { sub } = order.kind
    const { teller } = holders.find(({ identity }) => identity.sub === sub) as Holder
    teller.get(told.story.publish('a', 1))
    return true
  },
  'a gateway hands on what it got beyond its lease': ({ lost }) => {
    const [one] = lost
    one?.holder.teller.get(one.message)
    return one !== undefined
  },
  'a revocation is lost at one gateway': (_, { finals, orders }, dice) => {
    const at = dice.below(finals.length)
    const final = finals[at]
    const settled = final?.revocations.find((label) =>
      orders.some((order) => order.label === label && order.answered),
    )
    if (!final || settled === undefined) return false
    finals[at] = { ...final, revocations: final.revocations.filter((label) => label !== settled) }
    return true
  },
  'a revoked token logs in': (_, { finals, orders }) => {
    const [final] = finals
    const isSettled = orders.some(
      ({ kind, answered, label }) =>
        kind.type === 'revoke-sub' && answered && final?.revocations.includes(label),
    )
    if (!final || !isSettled) return false
    finals[0] = { ...final, refused: [] }
    return true
  },
  'a revocation that was lifted is back': (_, { finals, orders }) => {
    const lift = orders.find(({ kind, answered }) => kind.type === 'lift' && answered)
    if (lift?.kind.type !== 'lift') return false
    const { label } = lift.kind
    for (const [at, final] of finals.entries())
      finals[at] = { ...final, revocations: [...final.revocations, label] }
    return orders.some((order) => order.label === label && order.answered)
  },
  'two edits follow one version': ({ told, native }, { commits }) => {
    const edit = [...commits.values()].findLast(({ registers }) =>
      registers.some(({ key, version }) => key.startsWith('u:') && version > 1),
    )
    const [register] = edit?.registers ?? []
    if (!register) return false
    native.control(told.entry(register.key, register.version, register.value))
    return true
  },
  'an edit is made on top of one that is not the last': (_, { finals, orders }) => {
    const order = orders.find(({ kind, answered }) => kind.type === 'grow' && answered)
    if (!order) return false
    for (const [at, final] of finals.entries()) {
      const users = final.users.map((line) =>
        line
          .split(' ')
          .filter((rule) => rule !== `&${order.label}`)
          .join(' '),
      )
      finals[at] = { ...final, users }
    }
    return true
  },
  'users differ': (_, { finals }) => {
    finals[1] = { ...finals[1]!, users: [] }
    return true
  },
}

function nativeEvents({ history }: ControlDraft) {
  return history.sessions.find(({ place }) => place === 'upstream')?.events ?? []
}

test('A right history of gateways breaks no promise', () => {
  const sums = { withheld: 0, beyondLease: 0, placed: 0, edits: 0 }
  for (let seed = 1; seed <= RUNS; seed++) {
    const { violations, figures } = checkControl(play(new Dice(seed)).history)
    expect({ seed, violations }).toEqual({ seed, violations: [] })
    for (const name of ['withheld', 'beyondLease', 'placed', 'edits'] as const)
      sums[name] += figures[name]
  }
  expect(sums.withheld).toBeGreaterThan(RUNS)
  expect(sums.beyondLease).toBeGreaterThan(RUNS)
  expect(sums.placed).toBeGreaterThan(RUNS)
  expect(sums.edits).toBeGreaterThan(RUNS)
})

describe('A damaged history of gateways is found', () => {
  test.each(Object.entries(DAMAGES))('%s', (_, damage) => {
    let damaged = 0
    for (let seed = 1; seed <= RUNS; seed++) {
      const dice = new Dice(seed)
      const { model } = play(dice)
      if (!damage(model, model.told.history, dice)) continue
      damaged++
      const { violations } = checkControl(model.told.history)
      expect({ seed, isFound: violations.length > 0 }).toEqual({ seed, isFound: true })
    }
    expect(damaged).toBeGreaterThan(3)
  })
})
