/** Named events with typed arguments. */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<(argument: never) => void>>()

  /**
   * Calls `listener` for each event of that name.
   *
   * @returns A function that removes the listener.
   */
  on<Name extends keyof Events>(
    name: Name,
    listener: (argument: Events[Name]) => void,
  ): () => void {
    let listeners = this.#listeners.get(name)
    if (!listeners) this.#listeners.set(name, (listeners = new Set()))
    // A separate function, so that the same listener may be added twice and removed once.
    const own = (argument: Events[Name]): void => listener(argument)
    listeners.add(own)
    return () => void listeners.delete(own)
  }

  /**
   * Calls the listeners in the order in which they were added.
   *
   * @param failed Takes errors of listeners; the other listeners are still called.
   */
  emit<Name extends keyof Events>(
    name: Name,
    argument: Events[Name],
    failed: (error: unknown) => void,
  ): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        // Only listeners of this name are in the set.
        ;(listener as (argument: Events[Name]) => void)(argument)
      } catch (error) {
        failed(error)
      }
    }
  }

  /** Reports whether the event has a listener. */
  has(name: keyof Events): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0
  }
}
