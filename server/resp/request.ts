/**
 * One parsed command: its name is argument 0.
 *
 * The arguments are views of the bytes they arrived in. They are valid until the handler returns, or until its
 * promise settles; values that outlive that are copied ({@link Request.detach}, {@link Request.kept}) or turned into text.
 */
export interface Request {
  /** Number of arguments, the command's name included. */
  readonly count: number
  /** Argument `index` as bytes: a view, not a copy. */
  bytes(index: number): Buffer
  /** Argument `index` as a byte string: one UTF-16 unit (0–255) per byte, so that different bytes never collide. */
  text(index: number): string
  /** As {@link text}, for names that recur: mostly returns an existing string. */
  name(index: number): string
  /** Reports whether argument `index` has just these bytes (byte string). */
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

/** Longer names are made anew each time. */
const LONGEST_NAME_BYTES = 64

/** Names that are remembered; a power of two. */
const PLACES = 512

/**
 * Cache of the byte strings of recent names.
 *
 * A name that comes again costs the comparison of its bytes, instead of a new string and that string's hash at the next
 * look-up: 52 ns against 109 ns for 17 bytes (Node 20.20).
 */
export class RecentNames {
  readonly #names: string[] = Array<string>(PLACES).fill('')

  /** The byte string of `buffer[start, end)`. */
  of(buffer: Buffer, start: number, end: number): string {
    const length = end - start
    if (length === 0 || length > LONGEST_NAME_BYTES) return buffer.toString('latin1', start, end)
    // Names of one kind differ in their last digits.
    const place =
      ((buffer[end - 1] as number) * 31 + (buffer[end - 2] as number) * 7 + length * 3) &
      (PLACES - 1)
    const known = this.#names[place] as string
    if (known.length === length && isAt(known, buffer, start)) return known
    const name = buffer.toString('latin1', start, end)
    this.#names[place] = name
    return name
  }
}

function isAt(name: string, buffer: Buffer, start: number): boolean {
  for (let i = name.length - 1; i >= 0; i--) {
    if (buffer[start + i] !== name.charCodeAt(i)) return false
  }
  return true
}

/** Up to so many bytes a loop is cheaper than the call into the runtime (Node 20.20: 50 ns against 63 ns). */
const LOOPED_BYTES = 32

/** Shared by all requests: the next request mostly has a name that some request had before. */
const NAMES = new RecentNames()

const NOTHING = Buffer.alloc(0)

/** Shared by all that hold no request; never added to. */
const NO_BUFFERS: Buffer[] = []
const NO_PLACES: number[] = []

/** Positions kept between requests; a request with more gives them back. */
const KEPT_POSITIONS = 64

/**
 * A request as positions in the buffers that it arrived in: nothing is allocated for an argument that is not read.
 * The next request takes its place.
 */
export class ArgumentPositions implements Request {
  #buffers = NO_BUFFERS
  #starts = NO_PLACES
  #ends = NO_PLACES
  #count = 0

  get count(): number {
    return this.#count
  }

  bytes(index: number): Buffer {
    return (this.#buffers[index] as Buffer).subarray(this.#starts[index], this.#ends[index])
  }

  text(index: number): string {
    return (this.#buffers[index] as Buffer).toString(
      'latin1',
      this.#starts[index],
      this.#ends[index],
    )
  }

  name(index: number): string {
    return NAMES.of(
      this.#buffers[index] as Buffer,
      this.#starts[index] as number,
      this.#ends[index] as number,
    )
  }

  equals(index: number, text: string): boolean {
    const buffer = this.#buffers[index] as Buffer
    const start = this.#starts[index] as number
    if ((this.#ends[index] as number) - start !== text.length) return false
    for (let i = 0; i < text.length; i++) if (buffer[start + i] !== text.charCodeAt(i)) return false
    return true
  }

  length(index: number): number {
    return (this.#ends[index] as number) - (this.#starts[index] as number)
  }

  copy(index: number, target: Buffer, at: number): void {
    const source = this.#buffers[index] as Buffer
    const start = this.#starts[index] as number
    const end = this.#ends[index] as number
    if (end - start > LOOPED_BYTES) {
      source.copy(target, at, start, end)
      return
    }
    for (let from = start, to = at; from < end; from++, to++) target[to] = source[from] as number
  }

  kept(index: number): Buffer {
    return this.bytes(index)
  }

  detach(): Request {
    const own = Buffer.allocUnsafeSlow(this.argumentBytes)
    const args: Buffer[] = []
    let at = 0
    for (let i = 0; i < this.#count; i++) {
      const end = at + this.length(i)
      ;(this.#buffers[i] as Buffer).copy(own, at, this.#starts[i], this.#ends[i])
      args.push(own.subarray(at, end))
      at = end
    }
    return new ArgumentList(args)
  }

  /** Bytes of all arguments so far. */
  protected get argumentBytes(): number {
    let total = 0
    for (let i = 0; i < this.#count; i++) total += this.length(i)
    return total
  }

  /** Starts a request without arguments. */
  protected clear(): void {
    this.#count = 0
    if (this.#buffers.length > KEPT_POSITIONS || this.#buffers === NO_BUFFERS) {
      // Places for PUBLISH: an array that grows by itself begins with 17.
      this.#buffers = [NOTHING, NOTHING, NOTHING]
      this.#starts = [0, 0, 0]
      this.#ends = [0, 0, 0]
    }
  }

  /** Releases the bytes; the request cannot be read any more. */
  protected release(): void {
    this.#count = 0
    // Most connections are idle, and there may be very many.
    this.#buffers = NO_BUFFERS
    this.#starts = this.#ends = NO_PLACES
  }

  /** Reports whether argument `index` lies in `buffer`. */
  protected liesIn(index: number, buffer: Buffer): boolean {
    return this.#buffers[index] === buffer
  }

  /** The first position in `buffer` that an argument has; `otherwise` if none lies in it. */
  protected firstPositionIn(buffer: Buffer, otherwise: number): number {
    for (let i = 0; i < this.#count; i++) {
      if (this.#buffers[i] === buffer) return this.#starts[i] as number
    }
    return otherwise
  }

  /** Arguments that lie in `from` lie in `to` from now on, `by` bytes further to the front. */
  protected move(from: Buffer, to: Buffer, by: number): void {
    for (let i = 0; i < this.#count; i++) {
      if (this.#buffers[i] !== from) continue
      this.#buffers[i] = to
      this.#starts[i] = (this.#starts[i] as number) - by
      this.#ends[i] = (this.#ends[i] as number) - by
    }
  }

  /** Adds the argument `buffer[start, end)`. */
  protected add(buffer: Buffer, start: number, end: number): void {
    this.#buffers[this.#count] = buffer
    this.#starts[this.#count] = start
    this.#ends[this.#count] = end
    this.#count++
  }
}
