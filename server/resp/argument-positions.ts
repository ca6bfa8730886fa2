import { ArgumentList, type Request } from './request.ts'

/** Positions kept between requests; a request with more gives them back. */
const KEPT_POSITIONS = 64

/**
 * A request as positions in the buffers that it arrived in: nothing is allocated for an argument that nobody asks for.
 * The next request takes its place.
 */
export class ArgumentPositions implements Request {
  readonly #buffers: Buffer[] = []
  readonly #starts: number[] = []
  readonly #ends: number[] = []
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
    if (this.#buffers.length > KEPT_POSITIONS) {
      this.#buffers.length = this.#starts.length = this.#ends.length = 0
    }
    this.#count = 0
  }

  /** Lets go of the bytes; the request cannot be read any more. */
  protected release(): void {
    this.#buffers.length = 0
    this.#count = 0
  }

  /** Adds the argument `buffer[start, end)`. */
  protected add(buffer: Buffer, start: number, end: number): void {
    this.#buffers[this.#count] = buffer
    this.#starts[this.#count] = start
    this.#ends[this.#count] = end
    this.#count++
  }
}
