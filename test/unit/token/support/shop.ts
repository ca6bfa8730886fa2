import { authorize } from '../../../../server/acl/authorize.ts'
import { ArgumentList } from '../../../../server/resp/request.ts'
import type { CompiledGrant } from '../../../../server/token/grant/grants.ts'
import type { Issuer } from '../../../../server/token/verify/issuer.ts'
import {
  CATALOG,
  compact,
  hmac,
  payload,
  testIssuer,
  type IssuerChanges,
  type testAuthenticator,
} from '../../../support/tokens.ts'

/** The secret of the issuer `shop`. */
export const OTHER = Buffer.from('fedcba9876543210fedcba9876543210', 'latin1')

/** The issuer `shop`, as the configuration makes it: no role unless one is allowed. */
export function shop(changes: IssuerChanges = {}): Issuer {
  return testIssuer({
    alias: 'shop',
    iss: 'https://shop.example',
    keys: { kind: 'secret', secret: OTHER },
    roles: [],
    ...changes,
  })
}

/** A token of `shop` that asks for these grants. */
export const fromShop = (respcast: unknown, changes: Record<string, unknown> = {}): string =>
  compact(
    { alg: 'HS256' },
    payload({ iss: 'https://shop.example', respcast, ...changes }),
    hmac(OTHER),
  )

/** An authenticator under test. */
export type Tested = ReturnType<typeof testAuthenticator>

/** The grant of a token that logs in. @throws Error It does not; the message is the detail of the refusal. */
export async function login({ authenticator }: Tested, text: string): Promise<CompiledGrant> {
  const result = await authenticator.authenticate(text)
  if ('refused' in result) throw new Error(result.refused.detail)
  return result.ok
}

/** The detail of a token's refusal. @throws Error It logs in. */
export async function refusal({ authenticator }: Tested, text: string): Promise<string> {
  const result = await authenticator.authenticate(text)
  if ('ok' in result) throw new Error('it was accepted')
  return result.refused.detail
}

/** Reports whether a grant allows SUBSCRIBE of a channel. */
export function maySubscribe(grant: CompiledGrant, channel: string): boolean {
  const identity = { user: grant.user, ceilings: [], token: undefined }
  const request = ArgumentList.of('subscribe', channel)
  return authorize(identity, undefined, CATALOG.get('subscribe'), request) === undefined
}
