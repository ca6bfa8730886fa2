import type { CompiledGrant } from '../grant/grants.ts'
import { isFrom, isOfKey, issuedBy, nameKeys, namesOf, nameKey } from './revocation.ts'
import type { Revocation } from './revocation.ts'

/** Ended revocations that are remembered one by one. */
export const MOST_ENDED = 10_000

/**
 * The revocations that have ended: every token that they name has expired, or is refused for its lifetime.
 *
 * They are remembered for two kinds of tokens that would come back otherwise: those that a longer `jwt-max-lifetime` makes
 * valid, for which a record is put in force again ({@link take}), and those without `iat`, which may have been issued at any
 * time ({@link refusing}). Beyond {@link MOST_ENDED} the older half is put together into one record for each issuer, which
 * names all tokens of their time: nothing is forgotten, though a later raise refuses others of that age too.
 */
export class EndedRevocations {
  readonly #byId = new Map<number, Revocation>()
  readonly #byName = new Map<string, Revocation[]>()
  readonly #newId: () => number

  /** @param newId An id that no revocation has. */
  constructor(newId: () => number) {
    this.#newId = newId
  }

  get size(): number {
    return this.#byId.size
  }

  list(): IterableIterator<Revocation> {
    return this.#byId.values()
  }

  get(id: number): Revocation | undefined {
    return this.#byId.get(id)
  }

  add(record: Revocation): void {
    if (record.kind === 'channel') return
    this.#insert(record)
    if (this.#byId.size > MOST_ENDED) this.#merge()
  }

  /** Removes a revocation. @returns The record, if there was one. */
  delete(id: number): Revocation | undefined {
    const record = this.#byId.get(id)
    if (!record) return undefined
    this.#byId.delete(id)
    for (const key of nameKeys(record)) {
      const left = this.#byName.get(key)?.filter((each) => each !== record) ?? []
      if (left.length > 0) this.#byName.set(key, left)
      else this.#byName.delete(key)
    }
    return record
  }

  /** The revocation that still refuses a token, which has no `iat`, if there is one. */
  refusing(grant: CompiledGrant): Revocation | undefined {
    if (grant.issuedAtMs !== 0 || this.#byName.size === 0) return undefined
    for (const [kind, name] of namesOf(grant)) {
      for (const record of this.#byName.get(nameKey(kind, name)) ?? []) {
        if (holdsWithoutIssueTime(record) && isFrom(record, grant)) return record
      }
    }
    return undefined
  }

  /** Takes out the revocations that are in force again. */
  take(isInForce: (record: Revocation) => boolean): readonly Revocation[] {
    const taken = [...this.#byId.values()].filter(isInForce)
    for (const { id } of taken) this.delete(id)
    return taken
  }

  #insert(record: Revocation): void {
    this.#byId.set(record.id, record)
    for (const key of nameKeys(record)) {
      const known = this.#byName.get(key)
      if (known) known.push(record)
      else this.#byName.set(key, [record])
    }
  }

  /** Puts the older half together: one record for each issuer that FROM or ISSUER named, and one for all. */
  #merge(): void {
    const merged = new Map<string | undefined, Revocation>()
    for (const record of [...this.#byId.values()].slice(0, Math.ceil(MOST_ENDED / 2))) {
      this.delete(record.id)
      const issuer = record.kind === 'issuer' ? record.target : record.issuer
      merged.set(issuer, joined(record, merged.get(issuer), issuer))
    }
    for (const record of merged.values()) this.#insert({ ...record, id: this.#newId() })
  }
}

/**
 * Reports whether an ended revocation still holds against tokens without `iat`. One that ignores `iat` was to end for all
 * tokens when its TTL does; one that was put together names everybody.
 */
function holdsWithoutIssueTime({ kind, hard, isMerged }: Revocation): boolean {
  return !hard && !isOfKey(kind) && isMerged !== true
}

function joined(
  record: Revocation,
  other: Revocation | undefined,
  issuer: string | undefined,
): Revocation {
  return {
    id: 0,
    kind: issuer === undefined ? 'all' : 'issuer',
    target: issuer ?? '',
    issuer: undefined,
    scope: undefined,
    only: undefined,
    beforeMs: Math.max(issuedBy(record), other?.beforeMs ?? 0),
    hard: false,
    expiresAtMs: Math.max(record.expiresAtMs ?? 0, other?.expiresAtMs ?? 0),
    reason: 'ended revocations, put together',
    message: '',
    isMerged: true,
    by: record.by,
    atMs: Math.max(record.atMs, other?.atMs ?? 0),
    hit: record.hit + (other?.hit ?? 0),
  }
}
