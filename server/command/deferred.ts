/**
 * A value that comes later. What waits for it runs at once, within {@link settle}; with a promise it would run only after
 * everything that the same read of a socket has brought.
 */
export class Deferred<T> {
  #settled: { readonly value: T } | undefined
  #waiting: ((value: T) => void) | undefined

  /** The value; undefined until it has come. */
  get value(): T | undefined {
    return this.#settled?.value
  }

  /** Hands over the value. The first call counts. */
  settle(value: T): void {
    if (this.#settled) return
    this.#settled = { value }
    this.#waiting?.(value)
    this.#waiting = undefined
  }

  /**
   * Calls back with the value: within {@link settle}, or at once if it is there. Only one may wait.
   *
   * @returns The callback's result, later.
   */
  whenSettled<U>(callback: (value: T) => U): Deferred<U> {
    const result = new Deferred<U>()
    const run = (value: T): void => result.settle(callback(value))
    if (this.#settled) run(this.#settled.value)
    else this.#waiting = run
    return result
  }
}

/** A value that comes later, in a turn of its own or within an event. */
export type Later<T> = Promise<T> | Deferred<T>

/** Maps a value that comes later. */
export function afterwards<T, U>(later: Later<T>, convert: (value: T) => U): Later<U> {
  return later instanceof Deferred ? later.whenSettled(convert) : later.then(convert)
}
