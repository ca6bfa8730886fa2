import type {
  Commit,
  ControlHistory,
  ControlOrder,
  CutOff,
  FinalState,
  OrderKind,
  OrderOutcome,
  RegisterValue,
  TokenIdentity,
} from '../../history/control-history.ts'
import { NATIVE, type History, type Session, type Span } from '../../history/history.ts'
import { Story, type Teller } from './builder.ts'

/** A history that may still be changed. */
export type ControlDraft = ControlHistory & {
  readonly orders: ControlOrder[]
  readonly cutOffs: CutOff[]
  readonly finals: FinalState[]
  readonly forgetful: Span[]
  readonly commits: Map<string, Commit>
}

/** Writes the history of gateways and their operators by hand. */
export class ControlStory {
  readonly story: Story
  readonly #identities = new Map<string, TokenIdentity>()
  readonly #commits = new Map<string, Commit>()
  readonly #orders: ControlOrder[] = []
  readonly #cutOffs: CutOff[] = []
  readonly #finals: FinalState[] = []
  readonly #forgetful: Span[] = []

  constructor(topology: History['topology'] = 'standalone') {
    this.story = new Story(topology)
  }

  /** A session with a token. */
  session(sub: string, place = 'g1', role = 'r', transport?: Session['transport']): Teller {
    const moment = this.story.moment()
    const name = `${sub}@${place}#${moment.tick}`
    this.#identities.set(name, { sub, role, openedMs: moment.ms })
    return this.story.session(name, place, transport)
  }

  /** A client of the upstream, which gets entries among its messages. */
  native(...channels: readonly string[]): Teller {
    const teller = this.story.session(`native#${this.story.moment().tick}`, NATIVE, 'tcp')
    for (const channel of channels) teller.join(channel)
    return teller
  }

  /**
   * An entry with one register, after the one that was made before it. @returns Its payload.
   *
   * @param of The entry that is committed anew.
   */
  entry(key: string, version: number, value: RegisterValue | undefined, of?: string): string {
    const uuid = `u${this.#commits.size}`
    this.#commit(uuid, [{ key, version, uuid: of ?? uuid, value }], undefined)
    return uuid
  }

  /** An entry that closes connections. */
  killing(sub: string): string {
    const uuid = `u${this.#commits.size}`
    this.#commit(uuid, [], sub)
    return uuid
  }

  /** An order; its answer comes later. */
  order(kind: OrderKind, place = 'g1'): ControlOrder {
    const order: ControlOrder = {
      label: `o${this.#orders.length}`,
      place,
      kind,
      sent: this.story.moment(),
      answered: undefined,
      outcome: { state: 'open' },
    }
    this.#orders.push(order)
    return order
  }

  answer(order: ControlOrder, outcome: OrderOutcome = { state: 'everywhere' }): ControlOrder {
    order.answered = this.story.moment()
    order.outcome = outcome
    return order
  }

  /** An order that is answered. */
  ordered(kind: OrderKind, outcome?: OrderOutcome): ControlOrder {
    return this.answer(this.order(kind), outcome)
  }

  cutOff(place: string, fromMs: number, toMs: number): void {
    this.#cutOffs.push({ place, fromMs, toMs })
  }

  forget(fromMs: number, toMs: number): void {
    this.#forgetful.push({ fromMs, toMs })
  }

  final(place: string, state: Partial<FinalState> = {}): void {
    this.#finals.push({ place, users: [], revocations: [], nodes: [], refused: [], ...state })
  }

  #commit(uuid: string, registers: Commit['registers'], kill: string | undefined): void {
    const size = this.#commits.size
    const place = { id: `${size + 1}-0`, previous: size === 0 ? '' : `${size}-0` }
    this.#commits.set(uuid, { uuid, ...place, atMs: this.story.nowMs, registers, kill })
  }

  get history(): ControlDraft {
    return {
      history: this.story.history,
      identities: this.#identities,
      orders: this.#orders,
      cutOffs: this.#cutOffs,
      leaseMs: 3_000,
      forgetful: this.#forgetful,
      finals: this.#finals,
      commits: this.#commits,
      read: (payload) => this.#commits.get(payload),
    }
  }
}
