import { compileGlob } from '../../../shared/glob.ts'
import { issuersOf, type IssuerSettings } from '../../config/issuers.ts'
import type { Settings } from '../../config/settings.ts'
import { RespcastError } from '../../errors.ts'
import type { ClaimsFormat, Issuer, KeySource, PreviousSecret } from './issuer.ts'
import { fromByteString } from '../text.ts'

/**
 * The configured issuers, in the form in which verification takes them.
 *
 * @throws RespcastError `ERR_CONFIG`: an issuer has no key source, or several.
 */
export function configuredIssuers(settings: Settings): Issuer[] {
  return issuersOf(settings).map((configured) => ({
    alias: configured.alias,
    iss: fromByteString(configured.issuer),
    audience: configured.audience.map(fromByteString),
    algorithms: configured.algorithms,
    keys: keySource(configured),
    requireKid: configured.requireKid,
    claim: fromByteString(configured.claim),
    format: claimsFormat(configured),
    roles: configured.roles?.map((glob) => compileGlob(glob)),
    ceiling: configured.ceiling,
    leewaySeconds: configured.leewaySeconds,
    maxLifetimeSeconds: configured.maxLifetimeSeconds,
  }))
}

function claimsFormat(configured: IssuerSettings): ClaimsFormat {
  const kind = configured.claimsFormat
  switch (kind) {
    case 'respcast':
    case 'authorization-details':
      return { kind }
    case 'scope':
      return {
        kind,
        claim: fromByteString(configured.scopeClaim),
        prefix: fromByteString(configured.scopePrefix),
      }
    case 'groups': {
      const roles = new Map<string, readonly string[]>()
      for (const [group = '', role = ''] of configured.groupRoles) {
        roles.set(group, [...(roles.get(group) ?? []), role])
      }
      return { kind, claim: fromByteString(configured.groupsClaim), roles }
    }
  }
}

function keySource(configured: IssuerSettings): KeySource {
  const prefix = configured.alias === undefined ? 'jwt-' : `issuer ${configured.alias} `
  const sources: KeySource[] = []
  const previous = previousSecret(configured)
  const kept = previous ? { previous } : {}
  if (configured.secret !== '') {
    sources.push({ kind: 'secret', secret: Buffer.from(configured.secret, 'latin1'), ...kept })
  }
  if (configured.secretFile !== '') {
    sources.push({ kind: 'secret-file', path: configured.secretFile, ...kept })
  }
  if (configured.publicKeyFile !== '') {
    sources.push({ kind: 'public-key-file', path: configured.publicKeyFile })
  }
  if (configured.jwksFile !== '') sources.push({ kind: 'jwks-file', path: configured.jwksFile })
  if (configured.jwksUrl !== '') {
    sources.push({ kind: 'jwks-url', url: fromByteString(configured.jwksUrl) })
  }
  const [source, other] = sources
  if (source && !other) return source
  const problem = source ? 'more than one key source is set' : 'no key source is set'
  throw new RespcastError(
    'ERR_CONFIG',
    `${prefix}*: ${problem}. Set one of ${prefix}jwks-url, ${prefix}jwks-file, ${prefix}public-key-file, ` +
      `${prefix}secret-file, ${prefix}secret.`,
  )
}

function previousSecret(configured: IssuerSettings): PreviousSecret | undefined {
  const validUntilMs = configured.previousSecretUntil * 1000
  if (configured.previousSecret !== '') {
    return { secret: Buffer.from(configured.previousSecret, 'latin1'), validUntilMs }
  }
  if (configured.previousSecretFile !== '') {
    return { path: configured.previousSecretFile, validUntilMs }
  }
  return undefined
}
