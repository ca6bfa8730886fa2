import { createHash } from 'node:crypto'

/** Keys longer than this are replaced by their SHA-256. */
const LONGEST_PLAIN_KEY = 128

/**
 * Pool of one object per content. Objects are found by a key that describes all of their content, and are collected like any
 * other once nothing else refers to them.
 */
export class ContentPool<T extends object> {
  readonly #byKey = new Map<string, WeakRef<T>>()
  readonly #collected = new FinalizationRegistry<string>((key) => {
    if (this.#byKey.get(key)?.deref() === undefined) this.#byKey.delete(key)
  })

  /** Number of keys, including those of objects that were collected but not yet removed. */
  get size(): number {
    return this.#byKey.size
  }

  /** The object with this content; `make` is called if there is none. */
  get(content: string, make: () => T): T {
    const key =
      content.length <= LONGEST_PLAIN_KEY
        ? content
        : createHash('sha256').update(content, 'latin1').digest('base64')
    const known = this.#byKey.get(key)?.deref()
    if (known !== undefined) return known
    const made = make()
    this.#byKey.set(key, new WeakRef(made))
    this.#collected.register(made, key)
    return made
  }
}
