import { MAX_TOKEN_BYTES, TokenFault } from './refusal.ts'
import { isJsonObject, toByteString } from '../text.ts'
import type { JsonObject } from '../text.ts'

/** Longest `kid` that is looked up, in bytes. */
const MAX_KID_BYTES = 128

/** Media types of tokens that log in; a token of another type was made for another purpose (RFC 8725 section 3.11). */
const TYPES: readonly string[] = ['jwt', 'at+jwt']

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Headers that are remembered, and the longest of them, in characters. */
const MOST_HEADERS = 64
const LONGEST_HEADER = 512

/** Headers by their base64url text: all tokens that an issuer signs with one key have the same. */
const headers = new Map<string, JsonObject>()

/** The decoded parts of a token, none of them verified. */
interface DecodedToken {
  readonly header: JsonObject
  readonly payload: JsonObject
  /** The payload as JSON text. */
  readonly json: string
}

/**
 * Splits and decodes the compact form of a signed token (RFC 7515 section 7.1). Lengths are checked before any decoding.
 *
 * @throws TokenFault
 */
export function decodeCompact(token: string): DecodedToken {
  if (token.length > MAX_TOKEN_BYTES)
    throw new TokenFault('malformed', `longer than ${MAX_TOKEN_BYTES} bytes`)
  const parts = token.split('.', 6)
  if (parts.length === 5)
    throw new TokenFault('malformed', 'encrypted (JWE); only signed tokens are accepted')
  const [header, payload, signature] = parts
  if (parts.length !== 3 || !header || !payload || !signature) {
    throw new TokenFault('malformed', 'not three parts with dots between them')
  }
  decodePart(signature, 'signature')
  const decodedHeader = decodeHeader(header)
  const json = decodeText(payload, 'payload')
  return { header: decodedHeader, payload: parseObject(json, 'payload'), json }
}

function decodeHeader(part: string): JsonObject {
  const known = headers.get(part)
  if (known !== undefined) return known
  const header = decodeObject(part, 'header')
  if (part.length <= LONGEST_HEADER) {
    if (headers.size >= MOST_HEADERS) headers.clear()
    // A copy: a slice would keep the whole token.
    headers.set(Buffer.from(part, 'latin1').toString('latin1'), header)
  }
  return header
}

/** Decodes base64url without padding, in its one canonical spelling (RFC 7515 section 2, RFC 4648 section 3.5). */
function decodePart(part: string, name: string): Buffer {
  const bytes = Buffer.from(part, 'base64url')
  if (bytes.toString('base64url') !== part)
    throw new TokenFault('malformed', `the ${name} is not base64url`)
  return bytes
}

/**
 * Decodes one part of a token to a JSON object.
 *
 * @param name Name of the part, for the fault.
 * @throws TokenFault
 */
export function decodeObject(part: string, name: string): JsonObject {
  return parseObject(decodeText(part, name), name)
}

/** Decodes one part of a token to text. Bytes that are not UTF-8 are refused: they would turn into other names. */
function decodeText(part: string, name: string): string {
  const bytes = decodePart(part, name)
  try {
    return UTF8.decode(bytes)
  } catch {
    throw notJson(name)
  }
}

/**
 * Parses a JSON object.
 *
 * @param name Name of the text, for the fault.
 * @throws TokenFault
 */
export function parseObject(json: string, name: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    throw notJson(name)
  }
  if (!isJsonObject(value)) throw new TokenFault('malformed', `the ${name} is not an object`)
  return value
}

function notJson(name: string): TokenFault {
  return new TokenFault('malformed', `the ${name} is not JSON in UTF-8`)
}

/**
 * Reads the header. `jku`, `x5u`, `jwk` and `x5c` are ignored: keys never come from a token.
 *
 * @throws TokenFault for a header that asks for more than a plain signed token (`crit`, `b64`, encryption, nesting).
 */
export function readHeader(header: JsonObject): { alg: string; kid: string | undefined } {
  const own = (name: string): unknown => (Object.hasOwn(header, name) ? header[name] : undefined)
  const alg = own('alg')
  if (typeof alg !== 'string') throw new TokenFault('header', 'the header names no algorithm')
  for (const name of ['crit', 'b64', 'enc', 'zip']) {
    if (own(name) !== undefined)
      throw new TokenFault('header', `'${name}' in the header is not accepted`)
  }
  const typ = own('typ') === undefined ? 'jwt' : mediaType(own('typ'))
  if (typ === undefined || !TYPES.includes(typ))
    throw new TokenFault('header', "its 'typ' is another one")
  if (own('cty') !== undefined) throw new TokenFault('header', 'nested tokens are not accepted')

  const kid = own('kid')
  if (kid === undefined) return { alg, kid }
  if (typeof kid !== 'string' || toByteString(kid).length > MAX_KID_BYTES) {
    throw new TokenFault('header', `'kid' is not a string of at most ${MAX_KID_BYTES} bytes`)
  }
  return { alg, kid }
}

/** The lower-case media type without its `application/` (RFC 7515 section 4.1.9). */
function mediaType(typ: unknown): string | undefined {
  return typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : undefined
}
