import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock.ts'
import type { AuditEntry, AuditLog } from './audit.ts'
import type { Enforcement } from './enforcement.ts'
import { readOrder, type IssuerTerms, type ReadOrder } from './order.ts'
import type { RevocationStore } from './store.ts'
import { findTargets, type TargetSources } from './targets.ts'
import { isNamed, type Revocation, type RevocationOrder } from './revocation.ts'
import { fromByteString } from '../text.ts'

/** Who gives an order. */
export interface RevocationActor {
  /** Name of the ACL user, a byte string. */
  readonly user: string
  readonly address: string
}

/** What revoking needs. */
export interface RevocationParts {
  readonly clock: Clock
  readonly store: RevocationStore
  readonly sources: TargetSources
  readonly enforcement: Enforcement
  readonly issuers: () => readonly IssuerTerms[]
  readonly audit: AuditLog | undefined
  /** The audit log cannot be written. */
  readonly onAuditFailure: (error: unknown) => void
}

/** What a revocation did. */
export interface RevocationOutcome {
  /** Live sessions that it hit. */
  readonly sessions: number
  /** It is on disk. If not, it is in force all the same, as long as this process lives. */
  readonly durable: boolean
}

/** How long sessions are cut in one go, in ms; in between others get their turn. */
const SLICE_MS = 8

/** Sessions between two looks at the clock. */
const SESSIONS_PER_LOOK = 64

/** TOKEN REVOKE and TOKEN UNREVOKE: in force at once, then on disk, then answered. */
export class RevocationService {
  readonly #parts: RevocationParts
  #auditProblem: string | undefined

  constructor(parts: RevocationParts) {
    this.#parts = parts
    parts.store.onExpired((record) => this.#relax(record))
  }

  /** What `/readyz` reports: empty where nothing is wrong. */
  get problems(): readonly string[] {
    return [this.#parts.store.problem, this.#auditProblem].filter((one) => one !== undefined)
  }

  /** Whether there is no room for another record. */
  get isFull(): boolean {
    return this.#parts.store.isFull
  }

  /** Reads the words behind `TOKEN REVOKE`. */
  read(words: readonly string[]): ReadOrder {
    return readOrder(words, { nowMs: this.#parts.clock.wallMs(), issuers: this.#parts.issuers() })
  }

  /** The live sessions that an order would hit (DRYRUN). */
  targets(order: RevocationOrder): readonly Client[] {
    return findTargets(order, this.#parts.sources)
  }

  /** The revocations in force, oldest first. */
  list(): Iterable<Revocation> {
    return this.#parts.store.list()
  }

  /**
   * Carries an order out. From the moment of the call no token that it names logs in, and no session subscribes or publishes
   * what it takes away; when the promise settles, no session that it hits is given another message.
   *
   * Never rejects.
   */
  async revoke(order: RevocationOrder, actor: RevocationActor): Promise<RevocationOutcome> {
    const { store } = this.#parts
    const targets = findTargets(order, this.#parts.sources)
    const record = store.add(order, actor.user, targets.length)
    const [, durable] = await Promise.all([
      this.#enforce(record, targets),
      store.commit({ op: 'revoke', record }),
    ])
    await this.#note('revoke', record, actor, record.hit, durable)
    return { sessions: targets.length, durable }
  }

  /**
   * Takes a revocation back. Sessions that it ended stay ended.
   *
   * @returns Whether it was on disk; undefined where there is no such revocation.
   */
  async unrevoke(id: number, actor: RevocationActor): Promise<boolean | undefined> {
    const record = this.#parts.store.lift(id)
    if (!record) return undefined
    this.#relax(record)
    const durable = await this.#parts.store.commit({ op: 'lift', id })
    await this.#note('unrevoke', record, actor, 0, durable)
    return durable
  }

  /** The first slice is cut within the call. */
  async #enforce(record: Revocation, targets: readonly Client[]): Promise<void> {
    const { clock, enforcement } = this.#parts
    let startMs = clock.monotonicMs()
    for (const [i, client] of targets.entries()) {
      if (i % SESSIONS_PER_LOOK === SESSIONS_PER_LOOK - 1) {
        if (clock.monotonicMs() - startMs > SLICE_MS) {
          await new Promise<void>((resolve) => void clock.after(0, resolve))
          startMs = clock.monotonicMs()
        }
      }
      // Whoever left, or became somebody else meanwhile, is not its target any more.
      const grant = this.#parts.sources.grantOf(client)
      if (!grant) continue
      if (record.kind === 'channel') enforcement.restrict(client, record)
      else if (isNamed(record, grant)) enforcement.cut(client, record, clock.wallMs())
    }
  }

  #relax(record: Revocation): void {
    if (record.kind !== 'channel') return
    for (const client of findTargets(record, this.#parts.sources)) {
      this.#parts.enforcement.relax(client)
    }
  }

  async #note(
    action: AuditEntry['action'],
    record: Revocation,
    actor: RevocationActor,
    hit: number,
    durable: boolean,
  ): Promise<void> {
    const { audit, clock } = this.#parts
    if (!audit) return
    const entry: AuditEntry = {
      atMs: Math.floor(clock.wallMs()),
      action,
      by: fromByteString(actor.user),
      address: actor.address,
      id: record.id,
      kind: record.kind,
      target: fromByteString(record.target),
      options: fromByteString(optionsOf(record)),
      reason: record.reason,
      message: record.message,
      hit,
      durable,
    }
    try {
      await audit.append(entry)
      this.#auditProblem = undefined
    } catch (error) {
      this.#auditProblem = 'token-audit-file cannot be written'
      this.#parts.onAuditFailure(error)
    }
  }
}

/** The options of a record in the words of TOKEN REVOKE. */
export function optionsOf(record: Revocation): string {
  const { issuer, scope, only, beforeMs, hard, expiresAtMs } = record
  const words: string[] = []
  if (scope) words.push('FOR', scope.kind.toUpperCase(), scope.name)
  if (issuer !== undefined) words.push('FROM', issuer)
  if (only) words.push('ONLY', only.toUpperCase())
  if (hard) words.push('HARD')
  if (beforeMs !== undefined) words.push('BEFORE', String(beforeMs))
  if (expiresAtMs === undefined) words.push('PERSIST')
  else words.push('TTL', String(Math.round((expiresAtMs - record.atMs) / 1000)))
  return words.join(' ')
}
