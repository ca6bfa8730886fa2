/** Beginnings of the details of refused tokens, and what would have such a token accepted. */
const FIXES: readonly (readonly [start: string, fix: string])[] = [
  ['expired', 'a new token'],
  ['its key was removed', 'a new token, signed with a key of now'],
  ['no issuer of this name', "a configured issuer with exactly this 'iss'"],
  ['the algorithm is not', 'its algorithm among those pinned for the issuer'],
  ['no key of the issuer fits', 'its kid in the key set of the issuer'],
  ['the signature is wrong', 'a token signed with a key of the issuer'],
  [
    "'aud' names somebody else",
    "a token for this server, or its 'aud' among the audiences of the issuer",
  ],
  ["no 'aud'", "a token with an 'aud' of the issuer's audiences"],
  ["no 'exp'", "a token with an 'exp'"],
  ['valid for longer', 'a shorter life, or a longer max-lifetime of the issuer'],
  ["'iat' lies in the future", "the issuer's clock set right"],
  ["'nbf' lies in the future", 'waiting until nbf'],
  ['its roles expand to', 'fewer values in the claims that its roles expand'],
  ['more than 256', 'fewer names in the claim; a role can hold more'],
]

/** What would have a refused token accepted; undefined where there is no saying. @param detail Of the refusal. */
export function fixForRefusal(detail: string): string | undefined {
  return FIXES.find(([start]) => detail.startsWith(start))?.[1]
}
