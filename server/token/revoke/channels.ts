import { compileGlob } from '../../../shared/glob.ts'
import { PatternIndex, type PatternEntry } from '../../pubsub/pattern-index.ts'
import type { Overlay } from '../../pubsub/subscriber.ts'
import { isDenied, type CompiledGrant } from '../grant/grants.ts'
import { mayOverlap } from './reach.ts'
import { isInScope, type Revocation } from './revocation.ts'

type Direction = 'subscribe' | 'publish'

/** The channel that the glob `*` leaves out, though as a target it means every channel. */
const EMPTY = ''

/** The revocations of channels in force: which channels each session loses by them. */
export class RevokedChannels {
  readonly #index = new PatternIndex()
  readonly #byTarget = new Map<string, { readonly entry: PatternEntry; records: Revocation[] }>()

  add(record: Revocation): void {
    const known = this.#byTarget.get(record.target)
    if (known) known.records.push(record)
    else {
      this.#byTarget.set(record.target, {
        entry: this.#index.add(record.target),
        records: [record],
      })
    }
  }

  delete(record: Revocation): void {
    const known = this.#byTarget.get(record.target)
    if (!known) return
    known.records = known.records.filter(({ id }) => id !== record.id)
    if (known.records.length > 0) return
    this.#byTarget.delete(record.target)
    this.#index.delete(known.entry)
  }

  /** The revocation that takes a channel away from a session in one direction, if there is one. */
  find(grant: CompiledGrant, channel: string, direction: Direction): Revocation | undefined {
    if (this.#byTarget.size === 0) return undefined
    for (const { name } of this.#index.matching(channel)) {
      const found = this.#among(name, grant, direction)
      if (found) return found
    }
    return channel === EMPTY ? this.#among('*', grant, direction) : undefined
  }

  /** Whether a message that comes by `pattern` may be on a channel that a session has lost. */
  mayReach(grant: CompiledGrant, pattern: string): boolean {
    for (const target of this.#byTarget.keys()) {
      if (mayOverlap(pattern, target) && this.#among(target, grant, 'subscribe')) return true
    }
    return false
  }

  #among(target: string, grant: CompiledGrant, direction: Direction): Revocation | undefined {
    return this.#byTarget
      .get(target)
      ?.records.find(
        (record) =>
          (record.only === undefined || record.only === direction) && isInScope(record, grant),
      )
  }
}

/** What takes channels away from one token session: the claim `deny`, and the revocations of channels. */
export class TokenOverlay implements Overlay {
  readonly #grant: CompiledGrant
  readonly #revoked: RevokedChannels

  /** @param grant Of its login: neither roles nor ceilings play a part. */
  constructor(grant: CompiledGrant, revoked: RevokedChannels) {
    this.#grant = grant
    this.#revoked = revoked
  }

  mayReceive(channel: string): boolean {
    return !this.#isDenied(channel) && !this.#revoked.find(this.#grant, channel, 'subscribe')
  }

  mayPublish(channel: string): boolean {
    return !this.#isDenied(channel) && !this.#revoked.find(this.#grant, channel, 'publish')
  }

  mayDeny(pattern: string): boolean {
    if (this.#grant.deny.some((rule) => mayOverlap(rule.pattern, pattern))) return true
    return this.#revoked.mayReach(this.#grant, pattern)
  }

  #isDenied(channel: string): boolean {
    return this.#grant.deny.length > 0 && isDenied(this.#grant, channel)
  }
}

/** Makes the test whether a target of a revocation matches a channel. */
export function targetTest(target: string): (channel: string) => boolean {
  if (target === '*') return () => true
  const glob = compileGlob(target)
  return (channel) => glob.matches(channel)
}
