/**
 * The subject of a token. Only tells tabs apart: whether the token is good is the server's business.
 *
 * @returns Empty for what is not a JWT.
 * @see RFC 7519 section 4.1.2
 */
export function subjectOf(token: string | undefined): string {
  try {
    const payload = token?.split('.')[1] ?? ''
    const text = atob(payload.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0))
    const { iss, sub } = JSON.parse(new TextDecoder().decode(bytes)) as Record<
      'iss' | 'sub',
      unknown
    >
    return JSON.stringify([iss, sub])
  } catch {
    return ''
  }
}
