import { closeSync, fstatSync, openSync, statSync, writeFileSync } from 'node:fs'
import type { Clock } from './clock.ts'

/** Interval at which the file is looked for under its name, in ms. */
const LOOK_MS = 1_000

/**
 * The directive `logfile`: lines are appended, each in one write.
 *
 * When another file has taken its name, or none has it any more, the file is opened anew within a second, and at once by
 * {@link reopen}. Until then lines go to the old one, so that none is lost.
 */
export class LogFile {
  readonly #path: string
  #file: number
  /** The last line could not be written, or not whole. */
  #isBroken = false

  /** @throws The system's error. */
  constructor(path: string, clock: Clock) {
    this.#path = path
    this.#file = openSync(path, 'a')
    clock.every(LOOK_MS, () => this.#look())
  }

  /** Writes a line. Never throws: a full disk must not end the server; standard error says so once. */
  write(line: string): void {
    try {
      writeFileSync(this.#file, this.#isBroken ? `\n${line}` : line)
      this.#isBroken = false
    } catch (error) {
      if (!this.#isBroken) console.error(`${this.#path} cannot be written: ${String(error)}`)
      this.#isBroken = true
    }
  }

  /**
   * Opens the file under its name anew.
   *
   * @throws The system's error: then the old one is still written to.
   */
  reopen(): void {
    const file = openSync(this.#path, 'a')
    closeSync(this.#file)
    this.#file = file
  }

  #look(): void {
    try {
      const named = statSync(this.#path, { throwIfNoEntry: false })
      const open = fstatSync(this.#file)
      if (named?.ino !== open.ino || named.dev !== open.dev) this.reopen()
    } catch {
      // The old file is written to until the next look.
    }
  }
}
