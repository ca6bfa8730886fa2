import type { CommitOutcome, CommitRequest } from '../../server/control/control.ts'
import type { Journal, Position } from '../../server/control/journal.ts'
import { controlNames } from '../../server/control/names.ts'
import type { Change, SharedPart } from '../../server/control/part.ts'
import type { Register } from '../../server/control/register.ts'
import { SharedControl } from '../../server/control/shared-control.ts'
import { splitKey } from '../../server/control/register.ts'
import { FakeClock } from './fake-clock.ts'
import { FakeSubscriptions } from './fake-subscriptions.ts'
import { ModelServer, type ModelGateway } from './model-store.ts'
import { recordedLog, type LogLine } from './recorded-log.ts'
import { settingsOf, type Directives } from './settings.ts'

/** A part whose values mean nothing: it keeps them, and says how many sessions each change hit. */
export class FakePart implements SharedPart {
  readonly prefix: string
  /** As revocations, which end. */
  readonly forgets: boolean
  readonly onlyTakes: boolean
  readonly values = new Map<string, string>()
  /** Names in the order in which they were put in force, with the changes. */
  readonly applied: { readonly registers: readonly Register[]; readonly change: Change }[] = []
  readonly obeyed: string[] = []
  /** Values that begin so are not accepted. */
  unknown: string | undefined
  /** Sessions that each change hits. */
  sessions = 0
  /** Changes settle when the test says so. */
  isSlow = false
  #slow: (() => void)[] = []
  /** As users: what a gateway brings is dropped where others are. */
  isDroppedLater = false

  constructor(prefix: string) {
    this.prefix = prefix
    this.forgets = this.onlyTakes = prefix === 'r'
  }

  names(): Iterable<string> {
    return this.values.keys()
  }

  valueOf(name: string): string | undefined {
    return this.values.get(name)
  }

  strays(isKnown: (name: string) => boolean, isNew: boolean): { name: string; value: string }[] {
    const strays = [...this.values].filter(([name]) => !isKnown(name))
    if (!isNew && this.isDroppedLater) {
      for (const [name] of strays) this.values.delete(name)
      return []
    }
    return strays.map(([name, value]) => ({ name, value }))
  }

  accepts(_name: string, value: string): boolean {
    return this.unknown === undefined || !value.startsWith(this.unknown)
  }

  apply(registers: readonly Register[], change: Change): number | Promise<number> {
    this.applied.push({ registers, change })
    for (const { key, value } of registers) {
      const [, name] = splitKey(key)
      if (value === undefined) this.values.delete(name)
      else this.values.set(name, value)
    }
    if (!this.isSlow) return this.sessions
    return new Promise((resolve) => this.#slow.push(() => resolve(this.sessions)))
  }

  understands(value: string): boolean {
    return this.accepts('', value)
  }

  obey(value: string): number {
    this.obeyed.push(value)
    return this.sessions
  }

  /** Lets slow changes settle. */
  finish(): void {
    const slow = this.#slow
    this.#slow = []
    for (const settle of slow) settle()
  }
}

/** A disk: it outlives the gateway. */
export class FakeDisk implements Journal {
  readonly registers: Register[] = []
  position: Position | undefined
  isBroken = false

  get kept(): Journal['kept'] {
    const registers = this.registers.map((each) => ({
      ...each,
      isDeleted: each.value === undefined,
    }))
    return { registers, position: this.position }
  }

  append(registers: readonly Register[], position: Position): Promise<boolean> {
    if (this.isBroken) return Promise.resolve(false)
    this.registers.push(...registers)
    this.position = position
    return Promise.resolve(true)
  }

  note(registers: readonly Register[]): void {
    if (!this.isBroken) this.registers.push(...registers)
  }
}

/** One gateway of a {@link Fleet}. */
export interface FleetGateway {
  readonly control: SharedControl
  readonly model: ModelGateway
  readonly users: FakePart
  readonly revocations: FakePart
  readonly disk: FakeDisk
  readonly local: FakeSubscriptions
  readonly lines: readonly LogLine[]
  /** What its fence said, in order. */
  readonly fences: boolean[]
}

/** Gateways in front of one upstream, in memory, and their time. */
export class Fleet {
  readonly clock = new FakeClock()
  readonly server = new ModelServer(this.clock)
  readonly gateways: FleetGateway[] = []
  #ids = 0

  /** Starts a gateway. @param disk Of one that has ended. @param users That it brings along. */
  async add(
    options: {
      readonly disk?: FakeDisk
      readonly users?: Readonly<Record<string, string>>
      readonly directives?: Directives
      readonly isConnected?: boolean
      readonly issuers?: string
    } = {},
  ): Promise<FleetGateway> {
    const { disk = new FakeDisk(), users = {}, directives = {}, isConnected = true } = options
    const model = this.server.gateway()
    const { log, lines } = recordedLog()
    const settings = settingsOf({ upstream: 'redis://127.0.0.1:6379', ...directives })
    const serial = ++this.#ids
    const local = new FakeSubscriptions()
    const control = new SharedControl({
      clock: this.clock,
      log,
      settings,
      line: model.line,
      store: model.store,
      journal: disk,
      names: controlNames('model'),
      id: serial.toString(16).padStart(16, '0'),
      describe: () => ({
        name: `gateway-${serial}`,
        version: '1.0.0',
        addresses: { resp: '', http: '', admin: '' },
        startedAtMs: 0,
        clients: 0,
        sessions: 0,
        subscriptions: 0,
        isDraining: false,
        digests: { issuers: options.issuers ?? '0'.repeat(16), acl: '0'.repeat(16) },
      }),
      local,
      random: () => 0.5,
    })
    const gateway = {
      control,
      model,
      users: new FakePart('u'),
      revocations: new FakePart('r'),
      disk,
      local,
      lines,
      fences: [] as boolean[],
    }
    gateway.users.isDroppedLater = true
    for (const [name, value] of Object.entries(users)) gateway.users.values.set(name, value)
    control.share(gateway.users)
    control.share(gateway.revocations)
    control.onFence((isFenced) => gateway.fences.push(isFenced))
    this.gateways.push(gateway)
    control.start()
    if (isConnected) model.connect()
    await this.settled()
    return gateway
  }

  /** So many gateways that serve. */
  async of(count: number): Promise<FleetGateway[]> {
    for (let i = 0; i < count; i++) await this.add()
    await this.pass(1_000)
    return this.gateways
  }

  /** Ends a gateway without a word. @returns Its disk. */
  kill(gateway: FleetGateway): FakeDisk {
    gateway.model.cut()
    void gateway.control.stop()
    this.gateways.splice(this.gateways.indexOf(gateway), 1)
    return gateway.disk
  }

  settled(): Promise<void> {
    return this.server.settled()
  }

  /** Lets time pass, in steps small enough for everything that happens meanwhile. */
  async pass(ms: number, stepMs = 100): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.clock.advance(Math.min(stepMs, ms - passed))
      await this.settled()
    }
  }

  /** Commits, and lets time pass until there is an answer. */
  async commit(
    gateway: FleetGateway,
    changes: CommitRequest['changes'],
    more: Partial<CommitRequest> = {},
  ): Promise<CommitOutcome> {
    const outcome = gateway.control.commit({
      changes,
      actor: { user: 'admin', address: '127.0.0.1:1' },
      wait: { count: 'all', ms: 1_000 },
      ...more,
    })
    return this.outcome(outcome)
  }

  /** Lets time pass until a promise has settled. */
  async outcome<T>(promise: Promise<T>): Promise<T> {
    let isThere = false
    const noted = promise.then((value) => {
      isThere = true
      return value
    })
    await this.settled()
    for (let step = 0; step < 200; step++) {
      if (isThere) return noted
      await this.pass(20, 20)
    }
    throw new Error('no answer after four seconds')
  }

  /** Revokes as TOKEN REVOKE does: in force here, then committed. */
  async revoke(
    gateway: FleetGateway,
    name: string,
    more: Partial<CommitRequest> = {},
  ): Promise<CommitOutcome> {
    gateway.revocations.values.set(name, `revoked ${name}`)
    return this.commit(gateway, [{ key: `r:${name}`, value: `revoked ${name}` }], {
      enforced: Promise.resolve(gateway.revocations.sessions),
      ...more,
    })
  }
}
