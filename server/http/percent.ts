/**
 * Decodes percent-encoding (RFC 3986 section 2.1) into a byte string: any bytes, not only UTF-8.
 *
 * @param isForm `+` is a space, as in a query string that a form made (application/x-www-form-urlencoded).
 * @returns Undefined where a `%` is not followed by two hexadecimal digits.
 */
export function percentDecoded(text: string, isForm = false): string | undefined {
  const spaced = isForm ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  if (/%(?![\da-fA-F]{2})/.test(spaced)) return undefined
  return spaced.replace(/%(..)/g, (_escape, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  )
}
