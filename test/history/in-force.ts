import { compileGlob } from '../../shared/glob.ts'
import type { Commit, RegisterValue, TokenIdentity } from './control-history.ts'
import type { SubscriptionKind } from './history.ts'

/** What a session wants to have. */
export interface Wanted {
  readonly kind: SubscriptionKind
  /** The subscription. */
  readonly name: string
  readonly channel: string
}

interface Stamp {
  readonly version: number
  readonly uuid: string
}

/** Clocks of gateways and upstream differ by less: a connection that is younger may live after a kill. */
const KILL_SLACK_MS = 500

/** What is in force after some entries of a log. What no entry has said is unknown, and denies nothing. */
export class InForce {
  readonly #stamps = new Map<string, Stamp>()
  readonly #values = new Map<string, RegisterValue>()
  readonly #kills: { readonly sub: string; readonly atMs: number }[] = []

  /** Takes an entry; registers that are older than what is known are left out. */
  apply({ registers, kill, atMs }: Commit): void {
    for (const { key, version, uuid, value } of registers) {
      const known = this.#stamps.get(key)
      const isNewer =
        known === undefined ||
        version > known.version ||
        (version === known.version && uuid > known.uuid)
      if (!isNewer) continue
      this.#stamps.set(key, { version, uuid })
      if (value === undefined) this.#values.delete(key)
      else this.#values.set(key, value)
    }
    if (kill !== undefined) this.#kills.push({ sub: kill, atMs })
  }

  /** Kills were not kept. */
  forgetKills(): void {
    this.#kills.length = 0
  }

  /**
   * @param isLifted Asked for the label of a revocation: one that is being lifted counts no more.
   * @returns The reason for which a session may not have a message; undefined if none is known.
   */
  denial(
    identity: TokenIdentity,
    wanted: Wanted,
    isLifted: (label: string) => boolean = () => false,
  ): string | undefined {
    for (const [key, value] of this.#values) {
      if (!denies(value, identity, wanted)) continue
      if (!('label' in value) || !isLifted(value.label)) return key
    }
    const kill = this.#kills.find(
      ({ sub, atMs }) => sub === identity.sub && identity.openedMs < atMs - KILL_SLACK_MS,
    )
    return kill && `kill of ${kill.sub} at ${kill.atMs}`
  }
}

/** Reports whether a revocation or a role takes a message from a session. */
export function denies(
  value: RegisterValue,
  { sub, role }: TokenIdentity,
  { kind, name, channel }: Wanted,
): boolean {
  switch (value.type) {
    case 'revoke-sub':
      return value.sub === sub
    case 'revoke-channel':
      return (
        (value.role === undefined || value.role === role) && globOf(value.channel).matches(channel)
      )
    case 'role':
      if (value.role !== role) return false
      // A pattern has to be granted as it is written.
      return kind === 'pattern'
        ? !value.channels.includes(name)
        : !value.channels.some((granted) => globOf(granted).matches(channel))
    case 'other':
      return false
  }
}

const globs = new Map<string, ReturnType<typeof compileGlob>>()

function globOf(text: string): ReturnType<typeof compileGlob> {
  let glob = globs.get(text)
  if (!glob) globs.set(text, (glob = compileGlob(text)))
  return glob
}
