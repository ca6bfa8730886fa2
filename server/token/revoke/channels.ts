import type { StepMeter } from '../../../shared/glob-automaton.ts'
import { compileGlob, type Glob } from '../../../shared/glob.ts'
import type { Selectors } from '../../acl/user.ts'
import { PatternIndex, type PatternEntry } from '../../pubsub/pattern-index.ts'
import type { Overlay } from '../../pubsub/subscriber.ts'
import { isDenied, type CompiledGrant } from '../grant/grants.ts'
import { isInScope, type Revocation } from './revocation.ts'

type Direction = 'subscribe' | 'publish'

/** The one channel that the glob `*` does not match, though as a target it means every channel. */
const EMPTY = ''

/** The revocations of channels in force, and which channels each session loses by them. */
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

  /** Reports whether a message that comes by `pattern` may be on a channel that a session has lost. */
  mayReach(grant: CompiledGrant, pattern: Glob, meter: StepMeter): boolean {
    for (const [target, { entry }] of this.#byTarget) {
      if (!this.#among(target, grant, 'subscribe')) continue
      if (pattern.mayOverlap(entry.glob, meter)) return true
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

/** The channels that are taken away from one token session, by the claim `deny` and by revocations. */
export class TokenOverlay implements Overlay {
  readonly #grant: CompiledGrant
  readonly #revoked: RevokedChannels

  /** @param grant The grant of its login; roles and ceilings play no part. */
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

  mayDeny(pattern: Glob): boolean {
    const meter = { steps: 0 }
    if (this.#grant.deny.some(({ glob }) => glob.mayOverlap(pattern, meter))) return true
    return this.#revoked.mayReach(this.#grant, pattern, meter)
  }

  #isDenied(channel: string): boolean {
    return this.#grant.deny.length > 0 && isDenied(this.#grant, channel)
  }
}

/**
 * Returns a function that reports whether selectors allow a channel that the target of a revocation matches. Sessions share
 * selectors, so that each list is looked at once.
 */
export function reachOf(target: string): (selectors: Selectors) => boolean {
  const glob = compileGlob(target)
  const meter = { steps: 0 }
  const known = new Map<Selectors, boolean>()
  return (selectors) => {
    let reaches = known.get(selectors)
    if (reaches === undefined) {
      reaches = selectors.some(
        (one) => one.allChannels || one.channels.some((rule) => rule.glob.mayOverlap(glob, meter)),
      )
      known.set(selectors, reaches)
    }
    return reaches
  }
}

/** Returns a function that reports whether the target of a revocation matches a channel. */
export function targetTest(target: string): (channel: string) => boolean {
  if (target === '*') return () => true
  const glob = compileGlob(target)
  return (channel) => glob.matches(channel)
}
