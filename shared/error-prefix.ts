/**
 * The code of an error reply: its first word, if that is written as Redis writes codes (`NOPERM`, `ERR`), else `ERR`.
 *
 * @param text The line after `-`, without its line end.
 */
export function errorPrefix(text: string): string {
  const end = text.indexOf(' ')
  const word = end < 0 ? text : text.slice(0, end)
  return /^[A-Z][A-Z0-9_]*$/.test(word) ? word : 'ERR'
}
