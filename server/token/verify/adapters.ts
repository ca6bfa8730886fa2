import { readAuthorizationDetails } from './adapters-details.ts'
import { readGroups } from './adapters-groups.ts'
import { readScopes } from './adapters-scope.ts'
import { readClaims } from './claims.ts'
import type { ClaimedGrant } from './claims.ts'
import type { Issuer } from './issuer.ts'
import type { JsonObject } from '../text.ts'

/**
 * Reads what a token asks for, in the shape that tokens of its issuer have.
 *
 * The same holds for every shape: what is malformed rejects the whole token; a claim that is there is an explicit list, even
 * where nothing in it is for this server; only an absent claim leaves the decision to `acl-pubsub-default`.
 *
 * @param payload The verified payload.
 * @throws TokenFault for a malformed part, or more than 256 patterns in all.
 */
export function readGrants(payload: JsonObject, issuer: Issuer): ClaimedGrant {
  const { format } = issuer
  switch (format.kind) {
    case 'respcast':
      return readClaims(payload, issuer.claim)
    case 'scope':
      return readScopes(payload, format.claim, format.prefix)
    case 'authorization-details':
      return readAuthorizationDetails(payload)
    case 'groups':
      return readGroups(payload, format.claim, format.roles)
  }
}
