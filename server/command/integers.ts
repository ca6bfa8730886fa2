/**
 * Reads an integer as Redis does: decimal, an optional `-`, no `+`, no leading zeros, no blanks.
 *
 * @returns Undefined for anything else, and for what does not fit a safe integer.
 */
export function parseInteger(text: string): number | undefined {
  if (!/^(0|-?[1-9]\d{0,15})$/.test(text)) return undefined
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : undefined
}
