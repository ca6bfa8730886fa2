import type {
  CommitOutcome,
  CommitRequest,
  Control,
  ControlFigures,
} from '../../server/control/control.ts'
import type { KnownNode, NodeRecord } from '../../server/control/node.ts'
import type { SharedPart } from '../../server/control/part.ts'
import { splitKey } from '../../server/control/register.ts'
import { silentLog } from '../../server/log.ts'
import { alone } from '../../server/upstream/backplane.ts'
import type { Directives } from './settings.ts'
import { TestCore } from './test-core.ts'

/** A record of a gateway. */
export function nodeRecord(fields: Partial<NodeRecord> = {}): NodeRecord {
  return {
    id: '0000000000000001',
    number: 1,
    name: 'one',
    version: '1.0.0',
    addresses: { resp: '10.0.0.1:6379', http: '10.0.0.1:80', admin: '' },
    startedAtMs: 1_000,
    clients: 3,
    sessions: 2,
    subscriptions: 5,
    applied: '7-1',
    isDraining: false,
    digests: { issuers: 'i', acl: 'a' },
    parts: [],
    ...fields,
  }
}

/** A control plane that answers when the test says so. */
export class FakeControl implements Control {
  readonly isAlone = false
  readonly number = 1
  readonly self = nodeRecord()
  nodes: readonly KnownNode[] = []
  readonly problems: readonly string[] = []
  refusal: Control['refusal'] = undefined
  figures: ControlFigures = {
    lag: 0,
    ackSeconds: Number.NaN,
    ackSecondsTotal: 0,
    acks: 0,
    rejected: new Map(),
    leaseSeconds: 9.5,
    isFenced: false,
    fences: 0,
    fencedSeconds: 0,
    pending: 0,
    questions: new Map(),
  }
  readonly upstreamMs = 0
  questions: Control['questions'] = undefined
  /** What was to be committed, oldest first, answered or not. */
  readonly requests: CommitRequest[] = []
  readonly #parts = new Map<string, SharedPart>()
  #answers: ((outcome: CommitOutcome) => void)[] = []
  #fences: ((isFenced: boolean) => void)[] = []

  share(part: SharedPart): void {
    this.#parts.set(part.prefix, part)
  }

  start(): void {}

  commit(request: CommitRequest): Promise<CommitOutcome> {
    this.requests.push(request)
    return new Promise((resolve) => this.#answers.push(resolve))
  }

  /** Answers the commit that has waited longest. */
  answer(outcome: CommitOutcome): void {
    this.#answers.shift()?.(outcome)
  }

  /** The commit that has waited longest comes back in the log, and is answered: the others have confirmed. */
  commitNext(more: Partial<Extract<CommitOutcome, { state: 'committed' }>> = {}): void {
    const request = this.requests.at(-this.#answers.length)
    if (request && request.enforced === undefined) this.putInForce(request.changes)
    this.answer({ ...COMMITTED, ...more })
  }

  /** Values come in the log. */
  putInForce(changes: CommitRequest['changes']): void {
    const change = { origin: undefined, atMs: 0, isLate: false }
    for (const { key, value } of changes) {
      const register = { key, value, version: 1, uuid: '0'.repeat(16) }
      void this.#parts.get(splitKey(key)[0])?.apply([register], change)
    }
  }

  onFence(listener: (isFenced: boolean) => void): void {
    this.#fences.push(listener)
  }

  /** The lease has lapsed, or there is one again. */
  fence(isFenced: boolean): void {
    this.refusal = isFenced ? 'TRYAGAIN this gateway is cut off' : undefined
    for (const listener of this.#fences) listener(isFenced)
  }

  checkLease(): void {}

  async stop(): Promise<void> {}
}

/** A commit that everybody has confirmed. */
export const COMMITTED: Extract<CommitOutcome, { state: 'committed' }> = {
  state: 'committed',
  sessions: 0,
  confirmed: ['two'],
  missing: [],
  fenced: [],
  isDurable: true,
  isHere: true,
}

/** A core that shares users and revocations with others. */
export function coreWithControl(directives: Directives = {}): {
  server: TestCore
  control: FakeControl
} {
  const control = new FakeControl()
  const server = new TestCore(directives, silentLog(), undefined, alone, () => 1, control)
  return { server, control }
}
