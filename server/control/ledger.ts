import { isNewer, splitKey, type Register, type Stamp } from './register.ts'

interface Known extends Stamp {
  readonly isDeleted: boolean
}

/** The newest version of each register that this gateway knows. The values are with their owners. */
export class Ledger {
  readonly #known = new Map<string, Known>()
  #sweep: IterableIterator<[string, Known]> | undefined

  /** The version of a register that an edit follows; undefined if nobody has set it. */
  stampOf(key: string): Stamp | undefined {
    return this.#known.get(key)
  }

  /** Notes a register as known. @returns False if it is not newer than what is known. */
  take({ key, version, uuid, value }: Register): boolean {
    if (!isNewer({ version, uuid }, this.#known.get(key))) return false
    this.#known.set(key, { version, uuid, isDeleted: value === undefined })
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
   * The registers that are newer here than somewhere else.
   *
   * @param there The versions there.
   * @param valueOf One whose owner has no value any more is left out.
   */
  lacking(
    there: ReadonlyMap<string, Stamp>,
    valueOf: (prefix: string, name: string) => string | undefined,
  ): Register[] {
    const lacking: Register[] = []
    for (const [key, known] of this.#known) {
      if (!isNewer(known, there.get(key))) continue
      const { version, uuid, isDeleted } = known
      const value = isDeleted ? undefined : valueOf(...splitKey(key))
      if (isDeleted || value !== undefined) lacking.push({ key, version, uuid, value })
    }
    return lacking
  }
}
