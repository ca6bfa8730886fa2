/**
 * One parsed command: its name is argument 0.
 *
 * The arguments are views of the bytes they arrived in. They are valid until the handler returns, or until what it
 * promised is done; what outlives that (a queued command, a name that is kept) is copied with {@link Request.detach}
 * or turned into text.
 */
export interface Request {
  /** Number of arguments, the command's name included. */
  readonly count: number
  /** Argument `index` as bytes: a view, not a copy. */
  bytes(index: number): Buffer
  /** Argument `index` as a byte string: one UTF-16 unit (0–255) per byte, so that different bytes never collide. */
  text(index: number): string
  /** Whether argument `index` has just these bytes (byte string). */
  equals(index: number, text: string): boolean
  /** Length of argument `index` in bytes. */
  length(index: number): number
  /** A copy whose arguments own their bytes. */
  detach(): Request
}

/** A command whose arguments are already separate buffers. */
export class ArgumentList implements Request {
  readonly #args: readonly Buffer[]

  constructor(args: readonly Buffer[]) {
    this.#args = args
  }

  /** Makes a command from byte strings (one unit per byte). */
  static of(...args: string[]): ArgumentList {
    return new ArgumentList(args.map((arg) => Buffer.from(arg, 'latin1')))
  }

  get count(): number {
    return this.#args.length
  }

  bytes(index: number): Buffer {
    return this.#args[index] as Buffer
  }

  text(index: number): string {
    return this.bytes(index).toString('latin1')
  }

  equals(index: number, text: string): boolean {
    return this.length(index) === text.length && this.text(index) === text
  }

  length(index: number): number {
    return this.bytes(index).length
  }

  detach(): Request {
    return this
  }
}
