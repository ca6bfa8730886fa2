type Callback = () => unknown

interface Request {
  readonly isShared: boolean
  readonly callback: Callback
  readonly settled: (value: unknown) => void
}

/** Web Locks of one origin, as far as shared tabs use them. */
export class FakeLocks {
  readonly #held = new Set<string>()
  readonly #waiting = new Map<string, Request[]>()

  /** Names that somebody waits for. */
  get wanted(): string[] {
    return [...this.#waiting].filter(([, { length }]) => length > 0).map(([name]) => name)
  }

  /** Names that somebody holds. */
  get held(): string[] {
    return [...this.#held]
  }

  /** Somebody takes a lock and keeps it. */
  hold(name: string): void {
    this.#held.add(name)
  }

  /** Whoever holds the lock is gone. */
  free(name: string): void {
    this.#held.delete(name)
    const [first, ...rest] = this.#waiting.get(name) ?? []
    if (!first) return
    const granted = first.isShared ? [first, ...rest.filter(({ isShared }) => isShared)] : [first]
    this.#waiting.set(
      name,
      rest.filter((request) => !granted.includes(request)),
    )
    for (const request of granted) this.#grant(name, request)
  }

  /** As `navigator.locks.request`. */
  request(
    name: string,
    ...[first, second]: [Callback] | [{ mode?: string; signal?: AbortSignal }, Callback]
  ): Promise<unknown> {
    const options = typeof first === 'function' ? {} : first
    const callback = typeof first === 'function' ? first : second
    return new Promise((settled, reject) => {
      const request = {
        isShared: options.mode === 'shared',
        callback: callback as Callback,
        settled,
      }
      if (!this.#held.has(name)) {
        this.#grant(name, request)
        return
      }
      const waiting = this.#waiting.get(name) ?? []
      this.#waiting.set(name, [...waiting, request])
      options.signal?.addEventListener('abort', () => {
        const left = this.#waiting.get(name)?.filter((other) => other !== request) ?? []
        this.#waiting.set(name, left)
        reject(new DOMException('The request was aborted', 'AbortError'))
      })
    })
  }

  #grant(name: string, { callback, settled }: Request): void {
    const result = callback()
    if (!(result instanceof Promise)) {
      settled(result)
      return
    }
    this.#held.add(name)
    void result.then((value) => {
      settled(value)
      this.free(name)
    })
  }
}
