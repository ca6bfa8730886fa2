import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto'
import type { Settings } from '../config/settings.ts'
import { RespcastError } from '../errors.ts'
import { readNamedFile } from '../files.ts'

/** Shorter keys can be guessed. */
const LEAST_BYTES = 32

/** HMAC-SHA256 as 64 lower-case hexadecimal digits, or {@link UNSIGNED}. */
export type Mac = string

/** Stands where a signature would be. */
export const UNSIGNED: Mac = '-'

/** Signs what gateways write to the upstream, and verifies what they read from there. */
export interface Signature {
  sign(text: string): Mac
  /** @returns Undefined where the text is to be taken. */
  problemOf(text: string, mac: string): 'unsigned' | 'forged' | undefined
}

/** Signs nothing and takes everything: without `upstream-control-key-file`. */
export const NO_SIGNATURE: Signature = { sign: () => UNSIGNED, problemOf: () => undefined }

/**
 * Signs with the first key, and takes what any of the keys signed.
 *
 * @param keys One, or two while they are rotated.
 */
export function signatureBy(keys: readonly [Buffer, ...Buffer[]]): Signature {
  const objects = keys.map((key) => createSecretKey(key))
  const [first] = objects as [KeyObject, ...KeyObject[]]
  const macOf = (key: KeyObject, text: string): Mac =>
    createHmac('sha256', key).update(text, 'latin1').digest('hex')
  return {
    sign: (text) => macOf(first, text),
    problemOf: (text, mac) => {
      if (mac === UNSIGNED) return 'unsigned'
      if (!/^[0-9a-f]{64}$/.test(mac)) return 'forged'
      const given = Buffer.from(mac, 'latin1')
      const isSigned = (key: KeyObject): boolean =>
        timingSafeEqual(Buffer.from(macOf(key, text), 'latin1'), given)
      return objects.some(isSigned) ? undefined : 'forged'
    },
  }
}

/**
 * The signature that `upstream-control-key-file` asks for. A file holds one key or two, a line each; spaces around a key, and empty lines,
 * do not count.
 *
 * @throws RespcastError `ERR_CONFIG` names the directive and the file, and never repeats a key.
 */
export function readSignature(settings: Settings): Signature {
  if (settings.text('upstream-control-key-file') === '') return NO_SIGNATURE
  const path = settings.path('upstream-control-key-file')
  const lines = readNamedFile('upstream-control-key-file', path).toString('latin1').split('\n')
  const [first, ...others] = lines
    .map((line) => line.replaceAll(/^[ \t\r]+|[ \t\r]+$/g, ''))
    .filter((line) => line !== '')
    .map((line) => Buffer.from(line, 'latin1'))
  if (first === undefined || others.length > 1) {
    throw unusable(path, first === undefined ? 'is empty' : 'has more than two keys')
  }
  if ([first, ...others].some(({ length }) => length < LEAST_BYTES)) {
    throw unusable(path, `a key has fewer than ${LEAST_BYTES} bytes`)
  }
  return signatureBy([first, ...others])
}

function unusable(path: string, problem: string): RespcastError {
  return new RespcastError(
    'ERR_CONFIG',
    `upstream-control-key-file ${path}: ${problem}. ` +
      'Write one key into it, or two while they are rotated, a line each. Make one with: openssl rand -hex 32',
  )
}
