import { asciiJson } from '../../ascii-json.ts'
import type { Client } from '../../client/client.ts'
import { CLOSES, closeWith, type CodedCause } from '../../client/close.ts'
import {
  lostSubscriptions,
  ruleOfSession,
  type Subscription,
} from '../../client/lost-subscriptions.ts'
import { issuersOf } from '../../config/issuers.ts'
import type { Change } from '../../control/part.ts'
import type { Space } from '../../pubsub/subscriber.ts'
import type { MessageKind } from '../../resp/push.ts'
import type { CompiledGrant } from '../grant/grants.ts'
import { tell, tokenPushes, unsubscribePush, type LostSubscription } from '../session/pushes.ts'
import { ReturnSlots } from '../session/return-slots.ts'
import type { SessionHost } from '../session/sessions.ts'
import { fromByteString } from '../text.ts'
import type { AuditEntry } from './audit.ts'
import { reachOf } from './channels.ts'
import { optionsOf, readOrder, type ReadOrder } from './order.ts'
import { isFrom, isNamed, isOfKey, messageOf, namesKey } from './revocation.ts'
import type { Revocation, RevocationOrder } from './revocation.ts'
import type { RevocationTable } from './table.ts'
import { findTargets, sessionsOfScope, type LiveSessions } from './targets.ts'

/** The administrator who gives an order. */
export interface RevocationActor {
  /** Name of the ACL user, a byte string. */
  readonly user: string
  readonly address: string
  /** Id of the gateway; left out by one that is alone. */
  readonly node?: string | undefined
}

/** A revocation that was just ordered, and is in force here. */
interface BegunRevocation {
  readonly record: Revocation
  /** Settles when no session that it hits here gets anything any more, with their number. */
  readonly enforced: Promise<number>
  /** Settles when it is on disk as well, or cannot be. Never rejects. */
  readonly done: Promise<RevocationOutcome>
}

/** A revocation that was just taken back. */
interface BegunLift {
  readonly record: Revocation
  /** Settles with true when that is on disk, with false if it cannot be. Never rejects. */
  readonly done: Promise<boolean>
}

/** The result of a revocation. */
interface RevocationOutcome {
  /** Live sessions that it hit. */
  readonly sessions: number
  /** It is on disk. If not, it is still in force while this process lives. */
  readonly durable: boolean
}

/** Time for which sessions are cut in one go, in ms; then other clients get their turn. */
const SLICE_MS = 8

/** Sessions between two readings of the clock. */
const SESSIONS_PER_LOOK = 64

const SPACES: Readonly<Record<MessageKind, Space>> = {
  message: 'channel',
  pmessage: 'pattern',
  smessage: 'shard',
}

/**
 * Carries out TOKEN REVOKE and TOKEN UNREVOKE (in force at once, then on disk, then answered), and takes from live
 * sessions the subscriptions, queued messages or connections that they lose.
 */
export class Enforcement {
  readonly #parts: SessionHost
  readonly #table: RevocationTable
  readonly #sessions: LiveSessions
  readonly #returns: ReturnSlots
  /** Cuts under way, by the id of their record. */
  readonly #cutting = new Map<number, Promise<void>>()
  /** Called with a record in force here that gateways do not have so, and are to have. */
  onUncommitted: (record: Revocation) => void = () => {}

  constructor(parts: SessionHost, table: RevocationTable, sessions: LiveSessions) {
    this.#parts = parts
    this.#table = table
    this.#sessions = sessions
    this.#returns = new ReturnSlots(parts.clock)
    table.onExpired = (record) => this.#relax(record)
  }

  /** The problems that `/readyz` reports; empty if there are none. */
  get problems(): readonly string[] {
    const ofLocks = this.#parts.locks.map(({ problem }) => problem)
    return [...ofLocks, this.#table.problem, this.#parts.audit.problem].filter(
      (one) => one !== undefined,
    )
  }

  /** The logs that cannot be written; a folder that another process has taken over holds neither. */
  get broken(): { readonly revocations: boolean; readonly audit: boolean } {
    const isLost = this.#parts.locks.some(({ problem }) => problem !== undefined)
    return {
      revocations: isLost || this.#table.problem !== undefined,
      audit: isLost || this.#parts.audit.problem !== undefined,
    }
  }

  /** Parses the words after `TOKEN REVOKE`. */
  read(words: readonly string[]): ReadOrder {
    const { clock, config } = this.#parts
    const read = readOrder(words, { nowMs: clock.wallMs(), issuers: issuersOf(config) })
    if ('error' in read || !isOfKey(read.order.kind)) return read
    return { ...read, order: { ...read.order, keys: this.#keysOf(read.order) } }
  }

  /**
   * The revocation that refuses a token.
   *
   * A key of a secret or a PEM file has no `kid` but what tokens call it. Where a token is refused by its header, the
   * revocation holds against its key from now on: whoever stole that key leaves the `kid` out.
   */
  refusing(grant: CompiledGrant): Revocation | undefined {
    const record = this.#table.refusing(grant)
    if (record?.kind === 'kid' && grant.key.kid === undefined) {
      this.#addKeys(record, [grant.key.thumbprint])
    }
    return record
  }

  /**
   * Lets the revocations of keys hold against the keys that they name in the key sets of now. Call it whenever those have
   * changed: a key that is renamed later stays revoked.
   */
  followKeys(): void {
    for (const record of this.#table.ofKeys()) this.#addKeys(record, this.#keysOf(record))
  }

  /** The live sessions that an order would hit (DRYRUN). */
  targets(order: RevocationOrder): readonly Client[] {
    return findTargets(order, this.#sessions, this.#parts.registry)
  }

  /**
   * Carries an order out. From the call on, no token that it names logs in, and no session subscribes to or publishes on a
   * channel that it takes away. After the promise has settled, no session that it hits receives another message.
   *
   * Never rejects.
   */
  revoke(order: RevocationOrder, actor: RevocationActor): Promise<RevocationOutcome> {
    return this.begin(order, actor).done
  }

  /** As {@link revoke}, with the record at once, so that others can be told of it meanwhile. */
  begin(order: RevocationOrder, actor: RevocationActor): BegunRevocation {
    const targets = this.targets(order)
    const record = this.#table.add(order, actor.user, targets.length)
    const enforced = this.#enforce(record, targets).then(() => targets.length)
    const written = this.#table.commit({ op: 'revoke', record })
    const finish = async (): Promise<RevocationOutcome> => {
      const [sessions, durable] = await Promise.all([enforced, written])
      await this.#note('revoke', record, actor, sessions, durable)
      return { sessions, durable }
    }
    return { record, enforced, done: finish() }
  }

  /**
   * Puts records of other gateways in force, and takes others out of it, within the call.
   *
   * @param lifted Ids.
   * @returns When no session gets anything any more that the records take from it: the number of sessions that they hit here.
   */
  async adopt(
    records: readonly Revocation[],
    lifted: readonly number[],
    change: Change,
  ): Promise<number> {
    const cuts: Promise<void>[] = []
    const adopted = records.map((record) => this.#adoptOne(record, change))
    for (const id of lifted) this.#drop(id, change)
    // All are in force before the first session is cut: cutting leaves time to others.
    const hit = new Set<Client>()
    for (const record of adopted) {
      const targets = this.targets(record)
      for (const client of targets) hit.add(client)
      if (targets.length > 0) cuts.push(this.#enforce(record, targets))
      this.#noteShared('revoke', record, change, targets.length)
    }
    await Promise.all(cuts)
    return hit.size
  }

  /** The cut of the sessions of a revocation, if it is under way. */
  cutOf(id: number): Promise<void> | undefined {
    return this.#cutting.get(id)
  }

  /** @returns The record as it is in force now. */
  #adoptOne(record: Revocation, change: Change): Revocation {
    const known = this.#table.get(record.id)
    if (known && isSameOrder(known, record)) {
      // Keys that each of two gateways has found are revoked at both.
      const keys = [...new Set([...(record.keys ?? []), ...(known.keys ?? [])])]
      const grown = keys.length > (record.keys?.length ?? 0)
      const joined = grown ? { ...record, keys } : record
      this.#table.adopt(joined)
      if (grown) this.onUncommitted(joined)
      return joined
    }
    if (known && !this.#table.isShared(known.id)) {
      // Two gateways had the same number one after the other, and this one was cut off when it used it.
      for (const moved of this.#table.renumber([known.id]).records) this.onUncommitted(moved)
    } else if (known) this.#drop(known.id, { ...change, origin: undefined })
    this.#table.adopt(record, false)
    return record
  }

  #drop(id: number, change: Change): void {
    this.#table.passed(id)
    const record = this.#table.lift(id)
    if (!record) return
    this.#relax(record)
    this.#noteShared('unrevoke', record, change, 0)
  }

  /**
   * Takes a revocation back. Sessions that it ended stay ended.
   *
   * @returns Undefined if there is no such revocation.
   */
  unrevoke(id: number, actor: RevocationActor): BegunLift | undefined {
    const record = this.#table.lift(id)
    if (!record) return undefined
    this.#relax(record)
    const written = this.#table.commit({ op: 'lift', id })
    const finish = async (): Promise<boolean> => {
      const durable = await written
      await this.#note('unrevoke', record, actor, 0, durable)
      return durable
    }
    return { record, done: finish() }
  }

  /** Ends a session whose token is revoked. Its queued messages are dropped. */
  cut(client: Client, record: Revocation): void {
    const text = messageOf(record)
    const retryMs = this.#table.retryAfterMs(record)
    this.end(
      client,
      closeWith(CLOSES.sessionRevoked, { text }),
      tokenPushes.revoked('', text),
      retryMs,
    )
  }

  /**
   * Closes a session. Where many are closed at once, each is told a time of its own at which to return.
   *
   * @param retryMs It need not return before so many milliseconds.
   */
  end(client: Client, cause: CodedCause, push?: Buffer, retryMs?: number): void {
    const slotMs = client.isWeb ? this.#returns.next() : undefined
    const hintMs = slotMs === undefined ? retryMs : slotMs + (retryMs ?? 0)
    client.close(closeWith(cause, { retryMs: hintMs }), push)
  }

  /**
   * Ends subscriptions that a session may not hold under the current rules. TCP is closed without a line, as Redis does; a
   * WebSocket is told, and closed or unsubscribed.
   *
   * @returns False if it had lost nothing.
   */
  dropLost(client: Client, message: string): boolean {
    const { catalog, config } = this.#parts
    const lost = lostSubscriptions(client, ruleOfSession(client, catalog))
    if (lost.length === 0) return false
    const [only] = lost
    const push = tokenPushes.revoked(lost.length === 1 && only ? only.name : '', message)
    if (!client.isWeb || config.choice('ws-revocation') === 'close') {
      this.end(client, closeWith(CLOSES.permissionsChanged, { text: message }), push)
      return true
    }
    const names = new Set(lost.map(({ space, name }) => `${space}\n${name}`))
    client.output.dropQueued((kind, name) => names.has(`${SPACES[kind]}\n${name}`))
    for (const one of lost)
      client.output.push(unsubscribePush(client, this.unsubscribe(client, one)))
    tell(client, push)
    return true
  }

  /** Ends one subscription, without a push. */
  unsubscribe(client: Client, { space, name }: Subscription): LostSubscription {
    this.#parts.registry.unsubscribe(space, client, name)
    const { count, shardCount } = client.subscriptions
    return { space, name, left: space === 'shard' ? shardCount : count }
  }

  /** Thumbprints of the keys that an order of KID or KEY names: those of key sets, and those that live sessions call so. */
  #keysOf(order: RevocationOrder): readonly string[] {
    const { issuers } = this.#parts.authenticator
    const held = issuers.keyNames((issuerAlias) => isFrom(order, { issuerAlias }))
    const keys = held.filter((key) => namesKey(order, key))
    if (order.kind === 'kid') {
      for (const client of this.#sessions.index.find('kid', order.target)) {
        const grant = this.#sessions.grantOf(client)
        if (grant && grant.key.kid === undefined && isFrom(order, grant)) keys.push(grant.key)
      }
    }
    return [...new Set(keys.map(({ thumbprint }) => thumbprint))]
  }

  #addKeys(record: Revocation, keys: readonly string[]): void {
    const grown = this.#table.addKeys(record, keys)
    if (!grown) return
    const { log } = this.#parts
    log.warn({ revocation: grown.id, keys: grown.keys }, 'a revocation holds against further keys')
    void this.#enforce(grown, this.targets(grown))
    void this.#table.commit({ op: 'revoke', record: grown })
    this.onUncommitted(grown)
  }

  /** Cuts or restricts the sessions that a record hits. The first slice is done within the call. */
  async #enforce(record: Revocation, targets: readonly Client[]): Promise<void> {
    if (targets.length === 0) return
    const { id } = record
    const cut = this.#inSlices(targets, (client, grant) => {
      if (record.kind === 'channel') this.#restrict(client, record)
      else if (isNamed(record, grant)) this.cut(client, record)
    })
    this.#cutting.set(id, cut)
    await cut
    if (this.#cutting.get(id) === cut) this.#cutting.delete(id)
  }

  /** Calls `act` for each client that has a session still; one may have logged in as another subject meanwhile. */
  async #inSlices(
    clients: readonly Client[],
    act: (client: Client, grant: CompiledGrant) => void,
  ): Promise<void> {
    const { clock } = this.#parts
    let startMs = clock.monotonicMs()
    for (const [i, client] of clients.entries()) {
      if (i % SESSIONS_PER_LOOK === SESSIONS_PER_LOOK - 1) {
        if (clock.monotonicMs() - startMs > SLICE_MS) {
          await new Promise<void>((resolve) => void clock.after(0, resolve))
          startMs = clock.monotonicMs()
        }
      }
      const grant = this.#sessions.grantOf(client)
      if (grant) act(client, grant)
    }
  }

  /**
   * Takes a channel from a session: lost subscriptions end, patterns that reach the channel are filtered from now on, and its
   * queued messages are dropped.
   */
  #restrict(client: Client, record: Revocation): void {
    const { overlay } = client
    const text = messageOf(record)
    if (!overlay) return
    // Also closes an open share, which would let a pattern's messages through in this turn.
    client.output.dropQueued((_kind, _name, channel) => !overlay.mayReceive(channel))
    this.#parts.registry.regroup(client, () => {})
    if (!this.dropLost(client, text)) tell(client, tokenPushes.revoked(record.target, text))
  }

  /** Lets patterns of sessions receive a channel again after its revocation has ended, and tells those that it concerned. */
  #relax(record: Revocation): void {
    if (record.kind !== 'channel') return
    for (const client of this.targets(record)) this.#parts.registry.regroup(client, () => {})
    const reaches = reachOf(record.target)
    void this.#inSlices(sessionsOfScope(record, this.#sessions), (client, { user }) => {
      if (reaches(user.selectors)) tell(client, tokenPushes.granted())
    })
  }

  /** Notes an entry of the log of gateways, which is durable there. */
  #noteShared(
    action: AuditEntry['action'],
    record: Revocation,
    { origin, atMs }: Change,
    hit: number,
  ): void {
    if (origin) void this.#note(action, record, origin, hit, true, atMs)
  }

  async #note(
    action: AuditEntry['action'],
    record: Revocation,
    actor: RevocationActor,
    hit: number,
    durable: boolean,
    atMs = Math.floor(this.#parts.clock.wallMs()),
  ): Promise<void> {
    const { audit, log } = this.#parts
    const entry: AuditEntry = {
      atMs,
      action,
      by: fromByteString(actor.user),
      address: actor.address,
      ...(actor.node === undefined ? {} : { node: actor.node }),
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
    } catch (error) {
      log.error({ err: error }, 'token-audit-file cannot be written')
    }
  }
}

/** Reports whether two records are one order; either may know of keys that the other does not. */
function isSameOrder(one: Revocation, other: Revocation): boolean {
  return asciiJson({ ...one, keys: undefined }) === asciiJson({ ...other, keys: undefined })
}
