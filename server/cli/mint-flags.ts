import type { TokenRequest } from '../token/mint.ts'

/** Defaults for absent flags of `respcast token mint`. */
export type MintDefaults = Pick<TokenRequest, 'iss' | 'aud' | 'claim'>

type ListName = 'roles' | 'channels' | 'subscribe' | 'publish' | 'deny'

const LISTS: ReadonlyMap<string, ListName> = new Map([
  ['--role', 'roles'],
  ['--channel', 'channels'],
  ['--subscribe', 'subscribe'],
  ['--publish', 'publish'],
  ['--deny', 'deny'],
])

/** One line per flag, for `respcast token mint --help`. */
export const MINT_FLAGS: readonly (readonly [flag: string, text: string])[] = [
  ['--sub <text>', 'subject; required'],
  ['--ttl <seconds>', 'life of the token, 3600 by default'],
  ['--role <name>', 'a role, without role:; may be repeated'],
  ['--channel <pattern>', 'subscribe to and publish on it; may be repeated'],
  ['--subscribe <pattern>', 'subscribe only; may be repeated'],
  ['--publish <pattern>', 'publish only; may be repeated'],
  ['--deny <pattern>', 'neither, whatever else allows it; may be repeated'],
  ['--group <name>', 'handle for revoking many at once'],
  ['--jti <id>', 'id of the token'],
  ['--iss <text>', 'issuer, the configured one by default'],
  ['--aud <text>', 'audience, the configured one by default'],
  ['--claim <name>=<json>', 'a further claim, for placeholders in roles; may be repeated'],
]

/**
 * Reads the flags of `respcast token mint`, each followed by its value.
 *
 * @returns The request, or the error as a sentence.
 */
export function readMintFlags(
  args: readonly string[],
  defaults: MintDefaults,
): TokenRequest | string {
  const lists: Partial<Record<ListName, string[]>> = {}
  const claims: [string, unknown][] = []
  const single = new Map<string, string>()
  for (let at = 0; at < args.length; at += 2) {
    const flag = args[at] as string
    const value = args[at + 1]
    if (value === undefined) return `${flag} needs a value`
    const list = LISTS.get(flag)
    if (list !== undefined) (lists[list] ??= []).push(value)
    else if (flag === '--claim') {
      const claim = readClaim(value)
      if (claim === undefined) return `--claim needs <name>=<json>, not '${value}'`
      claims.push(claim)
    } else if (['--sub', '--ttl', '--group', '--jti', '--iss', '--aud'].includes(flag)) {
      single.set(flag, value)
    } else return `unknown flag '${flag}'`
  }

  const sub = single.get('--sub')
  if (sub === undefined || sub === '') return '--sub is required'
  const ttl = single.get('--ttl') ?? '3600'
  if (!/^[1-9]\d{0,9}$/.test(ttl)) return `--ttl needs a whole number of seconds, not '${ttl}'`
  const group = single.get('--group')
  const jti = single.get('--jti')
  return {
    iss: single.get('--iss') ?? defaults.iss,
    aud: single.get('--aud') ?? defaults.aud,
    sub,
    lifetimeSeconds: Number(ttl),
    ...(jti === undefined ? {} : { jti }),
    claim: defaults.claim,
    grants: { ...lists, ...(group === undefined ? {} : { group }) },
    claims: Object.fromEntries(claims),
  }
}

function readClaim(text: string): [string, unknown] | undefined {
  const end = text.indexOf('=')
  if (end < 1) return undefined
  try {
    return [text.slice(0, end), JSON.parse(text.slice(end + 1))]
  } catch {
    return undefined
  }
}
