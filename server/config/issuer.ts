import type { Spec } from './spec.ts'
import { parseValue } from './values.ts'

/** Issuer alias: part of user names, `jwt@<alias>:<sub>`. */
const ALIAS = /^[a-z0-9-]{1,32}$/

/** How commands name the issuer of the `jwt-` directives, so that no other can have the name. */
const DEFAULT_ISSUER = 'default'

/**
 * Makes the check of `issuer <alias> <name> <value>...` lines: alias, property name, and the value by the
 * property's own rules.
 *
 * @param properties What an issuer may be described by.
 */
export function issuerCheck(
  properties: Readonly<Record<string, Spec>>,
): (words: readonly string[]) => string | undefined {
  const known = new Map(Object.entries(properties))
  return ([alias, name, ...value]) => {
    if (alias === undefined || name === undefined || value.length === 0) {
      return 'wrong number of arguments: an issuer line is an alias, a property and its value'
    }
    if (!ALIAS.test(alias)) return 'an issuer alias is 1 to 32 of a-z, 0-9 and -'
    if (alias === DEFAULT_ISSUER) return "the issuer 'default' is that of the jwt- directives"
    const property = known.get(name)
    if (!property) return `an issuer has these properties: ${[...known.keys()].join(', ')}`
    const parsed = parseValue(property, value)
    return 'reason' in parsed ? `${name}: ${parsed.reason}` : undefined
  }
}

/** Tells whether the words of an `issuer` line give a secret itself. */
export function holdsSecret(words: readonly string[]): boolean {
  return words[1] === 'secret' || words[1] === 'previous-secret'
}
