import { byteString } from '../bytes.ts'
import { RespProtocolError } from './error.ts'

/**
 * Reads the content of an integer line: 64 bits, signed.
 *
 * @returns A `number` where that is exact, else a `bigint`.
 * @throws {RespProtocolError} `ERR_RESP_LINE`
 */
export function parseInteger(line: Uint8Array): number | bigint {
  const text = byteString(line)
  if (!/^[+-]?\d{1,19}$/.test(text)) throw malformed('an integer', text)
  const value = Number(text)
  // Adding 0 turns a -0 into 0.
  if (Number.isSafeInteger(value)) return value + 0
  const exact = BigInt(text)
  if (BigInt.asIntN(64, exact) !== exact) throw malformed('a 64-bit integer', text)
  return exact
}

/**
 * Reads the length of a bulk string or the count of an aggregate.
 *
 * @returns -1 for a RESP2 null.
 * @throws {RespProtocolError} `ERR_RESP_LINE`
 */
export function parseLength(line: Uint8Array): number {
  // The one number that every bulk string has: read without making a string of it.
  let length = 0
  for (const byte of line) {
    const digit = byte - 0x30
    if (digit < 0 || digit > 9) return nullLength(line)
    length = length * 10 + digit
  }
  if (line.length === 0 || line.length > 15) throw malformed('a length', byteString(line))
  return length
}

function nullLength(line: Uint8Array): number {
  const text = byteString(line)
  if (text !== '-1') throw malformed('a length', text)
  return -1
}

/**
 * Reads the content of a double line.
 *
 * @throws {RespProtocolError} `ERR_RESP_LINE`
 */
export function parseDouble(line: Uint8Array): number {
  const text = byteString(line).toLowerCase()
  if (text === 'inf' || text === '+inf') return Infinity
  if (text === '-inf') return -Infinity
  if (text === 'nan' || text === '-nan') return NaN
  if (!/^[+-]?\d+(\.\d*)?(e[+-]?\d+)?$/.test(text)) throw malformed('a double', text)
  return Number(text)
}

/**
 * Reads the content of a big-number line.
 *
 * @throws {RespProtocolError} `ERR_RESP_LINE`
 */
export function parseBigNumber(line: Uint8Array): bigint {
  const text = byteString(line)
  if (!/^[+-]?\d+$/.test(text)) throw malformed('a big number', text)
  return BigInt(text)
}

/**
 * Reads the content of a boolean line.
 *
 * @throws {RespProtocolError} `ERR_RESP_LINE`
 */
export function parseBoolean(line: Uint8Array): boolean {
  const text = byteString(line)
  if (text !== 't' && text !== 'f') throw malformed('a boolean', text)
  return text === 't'
}

/**
 * Reads the content of a null line, which has none.
 *
 * @throws {RespProtocolError} `ERR_RESP_LINE`
 */
export function parseNull(line: Uint8Array): null {
  if (line.length > 0) throw malformed('a null', byteString(line))
  return null
}

function malformed(what: string, text: string): RespProtocolError {
  return new RespProtocolError('ERR_RESP_LINE', `Not ${what}: ${JSON.stringify(text.slice(0, 40))}`)
}
