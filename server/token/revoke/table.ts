import type { Clock, Timer } from '../../clock.ts'
import type { CompiledGrant } from '../grant/grants.ts'
import { RevokedChannels } from './channels.ts'
import {
  coversIssueTime,
  isFrom,
  namesOf,
  type Revocation,
  type RevocationKind,
} from './revocation.ts'

/** How often records are looked at that have come to their end, in ms. */
const LOOK_MS = 1_000

interface Kept {
  readonly record: Revocation
  /** Monotonic: it is kept until then, however the wall clock was set. */
  readonly untilMs: number
}

/**
 * The revocations in force, found by what they name.
 *
 * A record ends when both clocks say so: a wall clock that is set forwards and back again must not let a token return.
 */
export class RevocationTable {
  readonly channels = new RevokedChannels()
  readonly #clock: Clock
  readonly #onExpired: (record: Revocation) => void
  readonly #byId = new Map<number, Kept>()
  readonly #byName = new Map<string, Revocation[]>()
  /** Records that end, by the second in which they do. */
  readonly #ends = new Map<number, number[]>()
  #nextEnd = Number.POSITIVE_INFINITY
  #timer: Timer | undefined

  /** @param onExpired Called once for each record that has ended, when it is no longer in force. */
  constructor(clock: Clock, onExpired: (record: Revocation) => void) {
    this.#clock = clock
    this.#onExpired = onExpired
  }

  get size(): number {
    return this.#byId.size
  }

  /** Oldest first. */
  *list(): IterableIterator<Revocation> {
    for (const { record } of this.#byId.values()) yield record
  }

  get(id: number): Revocation | undefined {
    return this.#byId.get(id)?.record
  }

  add(record: Revocation): void {
    const { expiresAtMs } = record
    const leftMs = expiresAtMs === undefined ? Infinity : expiresAtMs - this.#clock.wallMs()
    this.#byId.set(record.id, { record, untilMs: this.#clock.monotonicMs() + leftMs })
    if (record.kind === 'channel') this.channels.add(record)
    else {
      const key = nameKey(record.kind, record.target)
      const known = this.#byName.get(key)
      if (known) known.push(record)
      else this.#byName.set(key, [record])
    }
    if (expiresAtMs !== undefined) this.#endAt(record.id, Math.ceil(expiresAtMs / 1000))
  }

  /** @returns The record, if there was one. */
  delete(id: number): Revocation | undefined {
    const record = this.#byId.get(id)?.record
    if (!record) return undefined
    this.#byId.delete(id)
    if (record.kind === 'channel') {
      this.channels.delete(record)
    } else {
      const key = nameKey(record.kind, record.target)
      const left = this.#byName.get(key)?.filter((each) => each !== record) ?? []
      if (left.length > 0) this.#byName.set(key, left)
      else this.#byName.delete(key)
    }
    return record
  }

  /** The revocation that refuses a token, if there is one. */
  refusing(grant: CompiledGrant): Revocation | undefined {
    if (this.#byName.size === 0) return undefined
    for (const [kind, name] of namesOf(grant)) {
      for (const record of this.#byName.get(nameKey(kind, name)) ?? []) {
        if (isFrom(record, grant) && coversIssueTime(record, grant.issuedAtMs)) return record
      }
    }
    return undefined
  }

  /** Stops looking for records that have ended. */
  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #endAt(id: number, second: number): void {
    const ids = this.#ends.get(second)
    if (ids) ids.push(id)
    else this.#ends.set(second, [id])
    this.#nextEnd = Math.min(this.#nextEnd, second)
    this.#timer ??= this.#clock.every(LOOK_MS, () => this.#look())
  }

  #look(): void {
    const nowSecond = this.#clock.wallMs() / 1000
    if (nowSecond < this.#nextEnd) return
    const nowMs = this.#clock.monotonicMs()
    const ended: Revocation[] = []
    this.#nextEnd = Number.POSITIVE_INFINITY
    for (const [second, ids] of this.#ends) {
      const left = second > nowSecond ? ids : this.#end(ids, nowMs, ended)
      if (left.length === 0) {
        this.#ends.delete(second)
        continue
      }
      this.#ends.set(second, left)
      this.#nextEnd = Math.min(this.#nextEnd, second)
    }
    if (this.#ends.size === 0) this.stop()
    for (const record of ended) this.#onExpired(record)
  }

  /** @returns Those that the monotonic clock still holds. */
  #end(ids: readonly number[], nowMs: number, ended: Revocation[]): number[] {
    const left: number[] = []
    for (const id of ids) {
      const kept = this.#byId.get(id)
      if (!kept) continue
      if (kept.untilMs > nowMs) {
        left.push(id)
        continue
      }
      this.delete(id)
      ended.push(kept.record)
    }
    return left
  }
}

function nameKey(kind: RevocationKind, name: string): string {
  return `${kind}\n${name}`
}
