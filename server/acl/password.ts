import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

import { isRoleName, type User } from './user.ts'

const HASH_PATTERN = /^[0-9a-f]{64}$/

/** Stand for the hashes of a user who has none, so that such a login costs the same comparison. */
const NO_HASHES: readonly string[] = ['0'.repeat(64)]

/** SHA-256 of a password (byte string) as 64 lower-case hex digits, the form in which users keep it. */
export function hashPassword(password: string): string {
  return createHash('sha256').update(password, 'latin1').digest('hex')
}

/** Reports whether a text has the form of a hash of {@link hashPassword}. */
export function isPasswordHash(text: string): boolean {
  return HASH_PATTERN.test(text)
}

/**
 * Reports whether `password` logs in as `user` (AUTH, HELLO AUTH): the user exists, is on, is no role, and has either
 * `nopass` or this password.
 *
 * The password is hashed and compared in constant time for every user, so that timing reveals neither which users exist
 * nor how much of a hash is right. Each password of a user beyond the first costs one comparison more.
 */
export function passwordLogsIn(user: User | undefined, password: string): boolean {
  const given = Buffer.from(hashPassword(password), 'latin1')
  let found = false
  for (const hash of comparedHashes(user)) {
    if (timingSafeEqual(given, Buffer.from(hash, 'latin1'))) found = true
  }
  if (user === undefined || !user.enabled || isRoleName(user.name)) return false
  return user.noPassword || (found && user.passwords.length > 0)
}

/** The hashes with which a password for `user` is compared: never none. */
export function comparedHashes(user: User | undefined): readonly string[] {
  return user !== undefined && user.passwords.length > 0 ? user.passwords : NO_HASHES
}

/**
 * A random password (ACL GENPASS): `bits` rounded up to whole hex digits.
 *
 * @param bits 1 to 4096.
 * @throws {RangeError} `bits` is not an integer in that range.
 */
export function generatePassword(bits = 256): string {
  if (!Number.isInteger(bits) || bits < 1 || bits > 4096) {
    throw new RangeError('bits must be an integer from 1 to 4096')
  }
  const digits = Math.ceil(bits / 4)
  return randomBytes(Math.ceil(digits / 2))
    .toString('hex')
    .slice(0, digits)
}
