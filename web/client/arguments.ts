import type { CommandArgument } from '../../shared/resp/command.ts'
import { utf8Bytes } from '../../shared/bytes.ts'
import type { Codec } from './codec.ts'

/**
 * Reads a value that is sent: callers may be plain JavaScript.
 *
 * @param what Named in the error: `A channel`.
 * @param remedy Completes the error.
 * @returns A text, which is sent as UTF-8, or bytes, as they lie in memory.
 * @throws {TypeError} For anything else.
 */
export function argumentOf(
  value: unknown,
  what: string,
  remedy = 'give a string or bytes',
): CommandArgument {
  if (typeof value === 'string' || value instanceof Uint8Array) return value
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  }
  if (isArrayBuffer(value)) return new Uint8Array(value)
  throw new TypeError(`${what} cannot be ${kindOf(value)}: ${remedy}`)
}

/** {@link argumentOf}, as bytes that later changes by the caller do not affect. */
export function bytesOf(value: unknown, what: string): Uint8Array {
  const argument = argumentOf(value, what)
  return typeof argument === 'string' ? utf8Bytes(argument) : new Uint8Array(argument)
}

/**
 * Makes a payload: bytes are sent unchanged, everything else passes the codec.
 *
 * @throws {TypeError} For data that the codec does not make text or bytes of. What the codec throws.
 */
export function payloadOf(data: unknown, codec: Codec<unknown>): CommandArgument {
  const isBinary = ArrayBuffer.isView(data) || isArrayBuffer(data)
  const encoded = isBinary ? data : codec.encode(data)
  return argumentOf(encoded, 'A payload', "give a string or bytes, or use codec: 'json'")
}

/** Also for buffers of another frame, or of a test environment with globals of its own. */
function isArrayBuffer(value: unknown): value is ArrayBuffer {
  return Object.prototype.toString.call(value) === '[object ArrayBuffer]'
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
