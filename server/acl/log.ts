import type { Config } from '../config/store.ts'

/** The reason of a refusal. */
type AclLogReason = 'auth' | 'command' | 'key' | 'channel'

/** The place of the refused command: alone, or in a MULTI or EXEC. */
type AclLogContext = 'toplevel' | 'multi'

/** A refusal to be logged. Texts are byte strings. */
export interface AclLogEvent {
  readonly reason: AclLogReason
  readonly context: AclLogContext
  /** Full command name, key, channel, or for `auth` the command word as typed. */
  readonly object: string
  readonly username: string
  /** The CLIENT LIST line of the offender, without a newline. */
  readonly clientInfo: string
}

/** One entry of ACL LOG. Times are milliseconds since 1970. */
export interface AclLogEntry extends AclLogEvent {
  /** Unique since the server's start, from 0; kept when an event is folded into the entry. */
  readonly entryId: number
  /** Events folded into this entry, 1 or more. */
  readonly count: number
  readonly createdMs: number
  readonly updatedMs: number
}

/** Number of newest entries into which a new event may be folded. */
const GROUPING_DEPTH = 10

/** The longest time between an entry's last update and an event that is folded into it. */
const GROUPING_MS = 60_000

/** Bytes kept of an object or user name: whole names, but for those that only fill memory. */
const KEPT_BYTES = 65_536

/**
 * The ACL LOG: refusals, newest first; equal events of the last minute are folded into one entry.
 *
 * It holds at most `acllog-max-len` entries with at most 64 KB of each name. A shorter length takes
 * entries away at the next refusal, as in Redis.
 */
export class AclLog {
  readonly #config: Config
  #entries: AclLogEntry[] = []
  #nextEntryId = 0
  readonly #denied: Record<AclLogReason, number> = { auth: 0, command: 0, key: 0, channel: 0 }

  constructor(config: Config) {
    this.#config = config
  }

  /** Refusals since the start, logged or not: INFO's `acl_access_denied_auth`, `_cmd`, `_key`, `_channel`. */
  get denied(): Readonly<Record<AclLogReason, number>> {
    return this.#denied
  }

  /** @param nowMs Wall clock, milliseconds since 1970. */
  add(event: AclLogEvent, nowMs: number): void {
    this.#denied[event.reason] += 1
    if (this.#config.integer('acllog-max-len') === 0) {
      this.#trim()
      return
    }

    const object = event.object.slice(0, KEPT_BYTES)
    const username = event.username.slice(0, KEPT_BYTES)
    const newest = this.#entries.slice(0, GROUPING_DEPTH)
    const index = newest.findIndex(
      (entry) =>
        entry.reason === event.reason &&
        entry.context === event.context &&
        entry.object === object &&
        entry.username === username &&
        Math.abs(nowMs - entry.updatedMs) <= GROUPING_MS,
    )
    const match = newest[index]
    if (match) {
      this.#entries.splice(index, 1)
      this.#entries.unshift({
        ...match,
        count: match.count + 1,
        clientInfo: event.clientInfo,
        updatedMs: nowMs,
      })
      return
    }
    this.#entries.unshift({
      reason: event.reason,
      context: event.context,
      object,
      username,
      clientInfo: event.clientInfo,
      entryId: this.#nextEntryId,
      count: 1,
      createdMs: nowMs,
      updatedMs: nowMs,
    })
    this.#nextEntryId += 1
    this.#trim()
  }

  /** The newest entries first. A negative count is 0. */
  list(count = 10): readonly AclLogEntry[] {
    return this.#entries.slice(0, Math.max(count, 0))
  }

  /** ACL LOG RESET. Entry ids go on from where they were. */
  reset(): void {
    this.#entries = []
  }

  #trim(): void {
    const most = this.#config.integer('acllog-max-len')
    if (this.#entries.length > most) this.#entries.length = most
  }
}
