/** Keys that are remembered, of all users and of one. For a new one an old one is forgotten. */
const MOST_KEYS = 20_000
const MOST_KEYS_OF_USER = 1_000

/** What was done under a key. */
interface Done<Answer> {
  /** Says what was asked for. */
  readonly print: string
  readonly answer: Promise<Answer>
  /** Monotonic milliseconds at which it is forgotten. */
  readonly untilMs: number
}

/** The outcome of {@link IdempotentAnswers.once}. */
export type Once<Answer> =
  | { readonly answer: Promise<Answer>; readonly isRepeated: boolean }
  /** The key was used for something else. */
  | 'other-request'

/**
 * Answers to requests with an `Idempotency-Key`, by user and key: a request that is repeated gets the same answer, and nothing is
 * done again. A bounded number is remembered for a bounded time, in this process alone.
 *
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
 */
export class IdempotentAnswers<Answer> {
  /** By user, the one that came longest ago first; the keys of each, the oldest first. */
  readonly #users = new Map<string, Map<string, Done<Answer>>>()
  readonly #isFinal: (answer: Answer) => boolean
  #size = 0

  /** @param isFinal False: nothing was done, so that a repetition may do it. */
  constructor(isFinal: (answer: Answer) => boolean) {
    this.#isFinal = isFinal
  }

  /** Keys that are remembered. */
  get size(): number {
    return this.#size
  }

  /**
   * Does something, unless it has been done under this key. One that is under way is waited for.
   *
   * @param user Keys of users do not meet.
   * @param print Of two requests that ask for the same it is the same.
   * @param act Does not reject.
   */
  once(
    { user, key, print }: { readonly user: string; readonly key: string; readonly print: string },
    { nowMs, windowMs }: { readonly nowMs: number; readonly windowMs: number },
    act: () => Promise<Answer>,
  ): Once<Answer> {
    const known = this.#users.get(user)?.get(key)
    if (known !== undefined && known.untilMs > nowMs) {
      if (known.print !== print) return 'other-request'
      return { answer: known.answer, isRepeated: true }
    }
    if (known) this.#delete(user, key)
    const done = { print, answer: act(), untilMs: nowMs + windowMs }
    this.#add(user, key, done, nowMs)
    void done.answer.then((answer) => {
      const isThis = this.#users.get(user)?.get(key) === done
      if (isThis && !this.#isFinal(answer)) this.#delete(user, key)
    })
    return { answer: done.answer, isRepeated: false }
  }

  #add(user: string, key: string, done: Done<Answer>, nowMs: number): void {
    const keys = this.#users.get(user) ?? new Map<string, Done<Answer>>()
    this.#users.delete(user)
    this.#users.set(user, keys)
    keys.set(key, done)
    this.#size++
    for (const [oldest, { untilMs }] of keys) {
      if (untilMs > nowMs && keys.size <= MOST_KEYS_OF_USER) break
      this.#delete(user, oldest)
    }
    if (this.#size <= MOST_KEYS) return
    for (const [idlest, theirs] of this.#users) {
      for (const oldest of theirs.keys()) {
        this.#delete(idlest, oldest)
        return
      }
    }
  }

  #delete(user: string, key: string): void {
    const keys = this.#users.get(user)
    if (!keys?.delete(key)) return
    this.#size--
    if (keys.size === 0) this.#users.delete(user)
  }
}
