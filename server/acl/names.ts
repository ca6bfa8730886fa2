/**
 * White space of C's `isspace` in the C locale, and NUL: what user names, patterns and first arguments must
 * not contain, since ACL text is split at blanks and lines.
 */
const SPACE_OR_NUL = /[\0\t-\r ]/

/** Whether a byte string contains white space or NUL. */
export function hasSpaceOrNul(text: string): boolean {
  return SPACE_OR_NUL.test(text)
}

/** Whether a byte string may be a user's name: any bytes but white space and NUL, the empty name included. */
export function isValidUserName(name: string): boolean {
  return !hasSpaceOrNul(name)
}

/** Whether users of this name are roles, which tokens name and nobody logs in as. */
export function isRoleName(name: string): boolean {
  return name.startsWith('role:')
}

/** Whether this is the name of a token's user, so that a stored user of it is a ceiling on what tokens grant. */
export function isTokenUserName(name: string): boolean {
  return name.startsWith('jwt:') || name.startsWith('jwt@')
}
