import type { Request } from '../resp/request.ts'

/** A request within a request: the arguments from one position on. */
export class Slice implements Request {
  readonly #request: Request
  readonly #from: number

  constructor(request: Request, from: number) {
    this.#request = request
    this.#from = from
  }

  get count(): number {
    return this.#request.count - this.#from
  }

  bytes(index: number): Buffer {
    return this.#request.bytes(index + this.#from)
  }

  text(index: number): string {
    return this.#request.text(index + this.#from)
  }

  name(index: number): string {
    return this.#request.name(index + this.#from)
  }

  equals(index: number, text: string): boolean {
    return this.#request.equals(index + this.#from, text)
  }

  length(index: number): number {
    return this.#request.length(index + this.#from)
  }

  copy(index: number, target: Buffer, at: number): void {
    this.#request.copy(index + this.#from, target, at)
  }

  kept(index: number): Buffer {
    return this.#request.kept(index + this.#from)
  }

  detach(): Request {
    return new Slice(this.#request.detach(), this.#from)
  }
}
