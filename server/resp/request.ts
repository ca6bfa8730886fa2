/**
 * One parsed command: its name is argument 0.
 *
 * The arguments are views of the bytes they arrived in. They are valid until the handler returns, or until what it
 * promised is done; what outlives that is copied ({@link Request.detach}, {@link Request.kept}) or turned into text.
 */
export interface Request {
  /** Number of arguments, the command's name included. */
  readonly count: number
  /** Argument `index` as bytes: a view, not a copy. */
  bytes(index: number): Buffer
  /** Argument `index` as a byte string: one UTF-16 unit (0–255) per byte, so that different bytes never collide. */
  text(index: number): string
  /** As {@link text}, for names that come again and again: the string is mostly one that there is already. */
  name(index: number): string
  /** Whether argument `index` has just these bytes (byte string). */
  equals(index: number, text: string): boolean
  /** Length of argument `index` in bytes. */
  length(index: number): number
  /** Copies argument `index` to `target`, from `at` on; cheaper than by way of {@link bytes}. */
  copy(index: number, target: Buffer, at: number): void
  /** Argument `index` as bytes that stay as they are, also when the request is gone. */
  kept(index: number): Buffer
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

  name(index: number): string {
    return this.text(index)
  }

  equals(index: number, text: string): boolean {
    return this.length(index) === text.length && this.text(index) === text
  }

  length(index: number): number {
    return this.bytes(index).length
  }

  copy(index: number, target: Buffer, at: number): void {
    this.bytes(index).copy(target, at)
  }

  kept(index: number): Buffer {
    return this.bytes(index)
  }

  detach(): Request {
    return this
  }
}
