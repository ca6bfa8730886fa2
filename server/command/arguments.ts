import type { Client } from '../client/client.ts'
import type { ErrorLine } from '../resp/reply-writer.ts'
import type { Request } from '../resp/request.ts'

/** The error line if CLIENT SETNAME or HELLO SETNAME may not give a client this name. */
export function nameError(client: Client, name: string): ErrorLine | undefined {
  if (!isPrintableName(name)) {
    return 'ERR Client names cannot contain spaces, newlines or special characters.'
  }
  return nameTooLong(client, name)
}

/** The error line if a name is longer than a client may give itself or its library. */
export function nameTooLong({ limits }: Client, name: string): ErrorLine | undefined {
  const most = limits.maxClientNameBytes
  if (name.length <= most) return undefined
  return `ERR a name of more than ${most} bytes is not allowed on this connection`
}

/** Reports whether a name has only the characters `!` to `~`, as names in CLIENT LIST must. */
export function isPrintableName(name: string): boolean {
  return /^[!-~]*$/.test(name)
}

/**
 * Parses an integer of 64 bits as Redis does: decimal, an optional `-`, no `+`, no leading zeros, no spaces.
 *
 * @returns The integer, beyond 2^53 the `number` nearest to it; undefined for anything else.
 */
export function parseInteger(text: string): number | undefined {
  if (!/^(0|-?[1-9]\d{0,18})$/.test(text)) return undefined
  const value = Number(text)
  if (Number.isSafeInteger(value)) return value
  const exact = BigInt(text)
  return BigInt.asIntN(64, exact) === exact ? value : undefined
}

/**
 * Parses a time to wait in milliseconds, as WAIT and CLIENT PAUSE do.
 *
 * @param nowMs Wall clock: the end of the wait has to be an integer of 64 bits.
 * @returns The milliseconds, or the error line.
 */
export function parseTimeout(text: string, nowMs: number): number | ErrorLine {
  const timeoutMs = parseInteger(text)
  if (timeoutMs === undefined) return 'ERR timeout is not an integer or out of range'
  if (timeoutMs < 0) return 'ERR timeout is negative'
  return timeoutMs > 2 ** 63 - nowMs ? 'ERR timeout is out of range' : timeoutMs
}

/** The arguments from a position on, as byte strings. */
export function textsFrom(request: Request, from: number): string[] {
  const texts: string[] = []
  for (let i = from; i < request.count; i++) texts.push(request.text(i))
  return texts
}

/** A request within a request: the arguments from a position on. */
export class InnerRequest implements Request {
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
    return new InnerRequest(this.#request.detach(), this.#from)
  }
}
