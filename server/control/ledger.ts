import type { KeptRegister } from './journal.ts'
import { isNewer, splitKey, type Register, type Stamp } from './register.ts'

interface Known extends Stamp {
  readonly isDeleted: boolean
}

/** The newest version of each register that this gateway knows. The values are with their owners. */
export class Ledger {
  readonly #known = new Map<string, Known>()
  #sweep: IterableIterator<[string, Known]> | undefined

  /** Registers that are known, deleted ones included. */
  get size(): number {
    return this.#known.size
  }

  /** The version of a register that an edit follows; undefined if nobody has set it. */
  stampOf(key: string): Stamp | undefined {
    return this.#known.get(key)
  }

  /** Notes a register as known. @returns False if it is not newer than what is known. */
  take(register: Register | KeptRegister): boolean {
    const { key, version, uuid } = register
    if (!isNewer(register, this.#known.get(key))) return false
    const isDeleted = 'isDeleted' in register ? register.isDeleted : register.value === undefined
    this.#known.set(key, { version, uuid, isDeleted })
    return true
  }

  /** Those of these registers that are newer than what is known. */
  newer(registers: readonly Register[]): Register[] {
    return registers.filter((register) => isNewer(register, this.#known.get(register.key)))
  }

  /**
   * Looks at the next registers, a few at each call, and forgets those whose owner has forgotten them: a revocation that ended long ago
   * has no value any more, and was not deleted.
   *
   * @returns Their keys.
   */
  forgetSome(most: number, hasValue: (prefix: string, name: string) => boolean): string[] {
    this.#sweep ??= this.#known.entries()
    const forgotten: string[] = []
    for (let count = 0; count < most; count++) {
      const next = this.#sweep.next()
      if (next.done === true) {
        this.#sweep = undefined
        break
      }
      const [key, { isDeleted }] = next.value
      if (!isDeleted && !hasValue(...splitKey(key))) forgotten.push(key)
    }
    for (const key of forgotten) this.#known.delete(key)
    return forgotten
  }

  /**
   * Looks for the registers that are newer here than somewhere else, one at each step.
   *
   * @param there Keys of those that are not.
   * @param valueOf One whose owner has no value any more is left out.
   * @returns At each step the register, or undefined.
   */
  *lacking(
    there: ReadonlySet<string>,
    valueOf: (prefix: string, name: string) => string | undefined,
  ): IterableIterator<Register | undefined> {
    for (const [key, { version, uuid, isDeleted }] of this.#known) {
      const isThere = there.has(key)
      const value = isThere || isDeleted ? undefined : valueOf(...splitKey(key))
      const isLacking = !isThere && (isDeleted || value !== undefined)
      yield isLacking ? { key, version, uuid, value } : undefined
    }
  }
}
