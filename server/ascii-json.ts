const BEYOND_ASCII = /[\x7f-\uffff]/

/** JSON in printable ASCII: the same bytes in every encoding, and the same text for the same value. */
export function asciiJson(value: object | string | null): string {
  const json = JSON.stringify(value)
  // Nearly all of it is ASCII, of which replacing costs more than looking.
  if (!BEYOND_ASCII.test(json)) return json
  return json.replaceAll(
    /[\x7f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
