import { setTimeout as wait } from 'node:timers/promises'
import type { Dice } from '../../fuzz/dice.ts'
import type { ControlOrder, OrderKind } from '../../history/control-history.ts'
import type { Place, Recorder } from '../../history/recorder.ts'
import type { Actor } from '../actors.ts'
import { Operator, outcomeOf } from './operator.ts'

/** What operators order in turn, and whom it concerns. */
export interface Realm {
  readonly subs: readonly string[]
  readonly roles: readonly string[]
  readonly channels: readonly string[]
  readonly patterns: readonly string[]
  /** What they order at all. */
  readonly kinds: readonly OrderKind['type'][]
}

/** Everything that an operator can order. */
export const ALL_KINDS: Realm['kinds'] = [
  'revoke-sub',
  'revoke-channel',
  'lift',
  'role',
  'grow',
  'kill',
]

/** A role that nobody has, and that only ever grows. */
const GROWN = 'grown'

/** Rules of a role beside its channels. */
const ROLE = ['off', 'resetchannels', '+subscribe', '+psubscribe', '+ssubscribe'] as const

/** Of so many revocations one is never lifted. */
const LASTING = 5

/** All orders of a run. */
export class Orders {
  readonly all: ControlOrder[] = []
  readonly replies = new Map<string, number>()
  /** Revocations that somebody may lift. */
  readonly #standing = new Map<string, OrderKind>()
  readonly #recorder: Recorder
  readonly #dice: Dice
  readonly #realm: Realm

  constructor(recorder: Recorder, dice: Dice, realm: Realm) {
    this.#recorder = recorder
    this.#dice = dice
    this.#realm = realm
  }

  /** Gives one order, and waits for its answer. @throws Error The connection ended before. */
  async give(operator: Operator, place: string): Promise<void> {
    const kind = this.#choose()
    if (this.#realm.kinds.includes(kind.type)) await this.order(operator, place, kind)
  }

  /** @throws Error The connection ended before the answer. */
  async order(operator: Operator, place: string, kind: OrderKind): Promise<void> {
    let words: readonly string[]
    if (kind.type === 'lift') {
      const id = (await operator.revocations()).get(kind.label)
      if (id === undefined) return
      words = ['TOKEN', 'UNREVOKE', `${id}`]
    } else words = this.#wordsOf(kind, `o${this.all.length}`)
    const order: ControlOrder = {
      label: `o${this.all.length}`,
      place,
      kind,
      sent: this.#recorder.moment(),
      answered: undefined,
      outcome: { state: 'open' },
    }
    this.all.push(order)
    if (kind.type === 'lift') this.#standing.delete(kind.label)
    else if (kind.type.startsWith('revoke') && !isGhost(kind)) this.#standing.set(order.label, kind)
    const reply = await operator.ask(...words)
    order.answered = this.#recorder.moment()
    order.outcome = outcomeOf(reply)
    const text = typeof reply === 'string' ? reply.replaceAll(/\d+/g, 'N') : order.outcome.state
    const what = `${kind.type}: ${text}`
    this.replies.set(what, (this.replies.get(what) ?? 0) + 1)
  }

  #wordsOf(kind: Exclude<OrderKind, { readonly type: 'lift' }>, label: string): string[] {
    const end = ['PERSIST', 'REASON', label]
    if (this.#dice.oneIn(3)) end.push('WAIT', 'ALL', '1000')
    switch (kind.type) {
      case 'revoke-sub':
        return ['TOKEN', 'REVOKE', 'SUB', kind.sub, 'HARD', ...end]
      case 'revoke-channel': {
        const scope = kind.role === undefined ? [] : ['FOR', 'ROLE', kind.role]
        return ['TOKEN', 'REVOKE', 'CHANNEL', kind.channel, ...scope, ...end]
      }
      case 'role':
        return roleWords(kind.role, kind.channels)
      case 'grow':
        return ['ACL', 'SETUSER', `role:${kind.role}`, `&${label}`]
      case 'kill':
        return ['CLIENT', 'KILL', 'JWT-SUB', kind.sub]
    }
  }

  #choose(): OrderKind {
    const dice = this.#dice
    const { subs, roles, channels, patterns } = this.#realm
    const standing = [...this.#standing]
    const held = standing.filter(([, { type }]) => type === 'revoke-sub').length
    const choice = dice.below(20)
    if (choice < 6 && held < subs.length / 3) {
      if (dice.oneIn(LASTING)) return { type: 'revoke-sub', sub: `${GHOST}${this.all.length}` }
      return { type: 'revoke-sub', sub: dice.pick(subs) }
    }
    if (choice < 8 && standing.length - held < 2) {
      const role = dice.oneIn(2) ? dice.pick(roles) : undefined
      return { type: 'revoke-channel', channel: dice.pick([...channels, ...patterns]), role }
    }
    if (choice < 15 && standing.length > 0) return { type: 'lift', label: dice.pick(standing)[0] }
    if (choice < 18) {
      const kept = [...channels, ...patterns].filter(() => !dice.oneIn(4))
      return { type: 'role', role: dice.pick(roles), channels: kept }
    }
    return choice === 18 ? { type: 'kill', sub: dice.pick(subs) } : { type: 'grow', role: GROWN }
  }
}

/** Subjects that never log in but at the end. */
const GHOST = 'ghost-'

function isGhost(kind: OrderKind): boolean {
  return kind.type === 'revoke-sub' && kind.sub.startsWith(GHOST)
}

/** The command that lets a role have these channels and patterns, and no others. */
export function roleWords(role: string, channels: readonly string[]): string[] {
  return ['ACL', 'SETUSER', `role:${role}`, ...ROLE, ...channels.map((name) => `&${name}`)]
}

/** Gives orders at a gateway until it is told to stop. */
export function startOperator(orders: Orders, place: Place, dice: Dice, restMs: number): Actor {
  const state = { isResting: false, isStopped: false, isBusy: false }
  let operator: Operator | undefined
  const run = async (): Promise<void> => {
    while (!state.isStopped) {
      try {
        operator = await Operator.connect(place.port)
        while (operator.isOpen && !state.isStopped) {
          if (!state.isResting) {
            state.isBusy = true
            await orders.give(operator, place.name).finally(() => (state.isBusy = false))
          }
          await wait(restMs / 2 + dice.below(restMs))
        }
      } catch {
        // The gateway was killed, or does not answer.
      }
      operator?.close()
      if (!state.isStopped) await wait(100)
    }
  }
  const ended = run()
  return {
    rest: () => (state.isResting = true),
    idle: async () => {
      while (state.isBusy) await wait(20)
    },
    stop: async () => {
      state.isStopped = true
      operator?.close()
      await ended
    },
  }
}
