/** What CLIENT SETNAME and HELLO SETNAME answer to a name they do not take. */
export const NAME_ERROR = 'ERR Client names cannot contain spaces, newlines or special characters.'

/** Whether a name has only the characters `!` to `~`, as names in CLIENT LIST must. */
export function isPrintableName(name: string): boolean {
  return /^[!-~]*$/.test(name)
}
