import type { Origin } from './entry.ts'
import type { Register } from './register.ts'

/** Where a change came from, as its owner notes it. */
export interface Change {
  /** Undefined where whole state was read: nobody knows any more who ordered what. */
  readonly origin: Origin | undefined
  /** By the clock of the upstream, in ms since 1970. */
  readonly atMs: number
  /** It was committed before this gateway came, or while it was cut off. */
  readonly isLate: boolean
}

/**
 * State of one kind that gateways share, as its owner keeps it: users, revocations. The owner alone knows what a value means; the
 * control plane carries values and decides which is the newest.
 */
export interface SharedPart {
  /** Names its registers and orders: `u` users, `r` revocations, `k` kills. */
  readonly prefix: string
  /** What a journal has kept of it is in force before the control plane starts. */
  readonly restoresItself?: boolean
  /** Values end by themselves: one that the owner does not have any more, though it was not deleted, is of no use to anybody. */
  readonly forgets?: boolean
  /**
   * Each value takes something from sessions, whatever the others are: very many are put in force in several turns of the event loop, and
   * before what may give something.
   */
  readonly onlyTakes?: boolean
  /** The names that have a value now. */
  names(): Iterable<string>
  /** The value of a name now; undefined if it has none. */
  valueOf(name: string): string | undefined
  /**
   * Settles what this gateway has and its namespace does not know, once, when it has read the namespace for the first time: drops it,
   * or returns it to be committed. Each is asked for when the one before has been taken.
   *
   * @param isKnown Reports whether the namespace has a register of this name, deleted or not.
   * @param isNew Nobody has shared anything of this part there: this gateway is the first.
   */
  strays(
    isKnown: (name: string) => boolean,
    isNew: boolean,
  ): Iterable<{ readonly name: string; readonly value: string } | undefined>
  /** Reports whether a value can be put in force. An entry is applied as a whole or not at all. */
  accepts(name: string, value: string): boolean
  /**
   * Puts values in force within the call: no command that comes later, and no login, sees what was before.
   *
   * @param registers Of this part, each accepted, and each newer than what is in force.
   * @returns When no session gets anything any more that the change takes from it: the number of sessions that it hit.
   */
  apply(registers: readonly Register[], change: Change): number | Promise<number>
  /** Reports whether an order can be carried out. */
  understands?(value: string): boolean
  /** Carries an order out that it understands. @returns See {@link apply}. */
  obey?(value: string, change: Change): number | Promise<number>
}
