/** Messages as a client's callback got them, to be waited for. */
export class Received {
  readonly #messages: string[] = []
  #wake: () => void = () => {}

  /** A message, in any form that tells it from others. */
  add(...parts: readonly (string | Buffer)[]): void {
    this.#messages.push(parts.map((part) => part.toString('latin1')).join(' '))
    this.#wake()
  }

  /** Reports whether such a message has come since the last {@link take}. */
  has(message: string): boolean {
    return this.#messages.includes(message)
  }

  /** Waits until there are so many. @returns All of them; the list is empty then. */
  async take(count: number): Promise<string[]> {
    const deadline = performance.now() + 10_000
    while (this.#messages.length < count) {
      const leftMs = deadline - performance.now()
      if (leftMs <= 0) throw new Error(`${count} messages expected, got ${this.#messages.join()}`)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    return this.#messages.splice(0)
  }
}

/** Asks again and again until the answer is the one. @throws Error It never was. */
export async function eventually<T>(
  ask: () => Promise<T>,
  isRight: (answer: T) => boolean,
): Promise<T> {
  const deadline = performance.now() + 10_000
  for (;;) {
    const answer = await ask()
    if (isRight(answer)) return answer
    if (performance.now() > deadline) throw new Error(`still ${JSON.stringify(answer)}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
