import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { applyRules, newUser, type PubsubDefault } from '../../server/acl/rules.ts'
import type { User } from '../../server/acl/user.ts'
import { ALL_COMMANDS } from '../../server/command/commands.ts'
import { CommandTable } from '../../server/command/table.ts'
import { TokenAuthenticator } from '../../server/token/session/authenticator.ts'
import type { RevocationOrder } from '../../server/token/revoke/revocation.ts'
import type { AuthenticatorParts } from '../../server/token/session/authenticator.ts'
import type { Issuer } from '../../server/token/verify/issuer.ts'
import { compileGlob } from '../../shared/glob.ts'
import type { Fetch } from '../../server/token/verify/key-fetch.ts'
import { validateRolePattern } from '../../server/token/grant/placeholders.ts'
import { FakeClock } from './fake-clock.ts'

/** A secret of 32 bytes. */
export const SECRET = Buffer.from('0123456789abcdef0123456789abcdef', 'latin1')

/** The issuer and the audience of the tokens below. */
export const ISS = 'https://auth.example'
export const AUD = 'respcast'

/** The wall clock of a {@link FakeClock} when it is made, in seconds. */
export const NOW = 1_700_000_000

/** Settings of an issuer; roles as globs in text. */
export type IssuerChanges = Partial<Omit<Issuer, 'roles'>> & {
  readonly roles?: readonly string[] | undefined
}

/** The default issuer, with {@link SECRET} unless told otherwise. */
export function testIssuer({ roles, ...changes }: IssuerChanges = {}): Issuer {
  return {
    alias: undefined,
    algorithms: [],
    claim: 'respcast',
    format: { kind: 'respcast' },
    ceiling: '',
    requireKid: false,
    leewaySeconds: 5,
    maxLifetimeSeconds: 86_400,
    iss: ISS,
    audience: [AUD],
    keys: { kind: 'secret', secret: SECRET },
    ...changes,
    roles: roles?.map((glob) => compileGlob(glob)),
  }
}

/** A good payload: subject 42, an hour to live. A key set to `undefined` is left out. */
export function payload(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { iss: ISS, aud: AUD, sub: '42', iat: NOW, exp: NOW + 3600, ...changes }
}

/** Text or bytes as they are, everything else as JSON; in base64url. */
export function encodePart(part: unknown): string {
  const raw = typeof part === 'string' || Buffer.isBuffer(part)
  return Buffer.from(raw ? (part as string) : JSON.stringify(part)).toString('base64url')
}

/** Signs the bytes of a token. */
export type Signer = (input: string) => Buffer

/** HMAC with a shared secret. */
export function hmac(secret: Uint8Array = SECRET, hash = 'sha256'): Signer {
  return (input) => createHmac(hash, secret).update(input).digest()
}

/** RS256 (a hash name), ES256 (`sha256`, IEEE-P1363) or EdDSA (no hash), by the type of the key. */
export function signer(key: KeyObject, hash: string | null = 'sha256'): Signer {
  return (input) => {
    const bytes = Buffer.from(input)
    return key.asymmetricKeyType === 'ed25519'
      ? sign(null, bytes, key)
      : sign(hash, bytes, { key, dsaEncoding: 'ieee-p1363' })
  }
}

/** Puts a token together, whatever its header and payload are. */
export function compact(header: unknown, body: unknown, by: Signer): string {
  const input = `${encodePart(header)}.${encodePart(body)}`
  return `${input}.${by(input).toString('base64url')}`
}

/** An HS256 token of the test issuer. */
export function token(body: unknown = payload(), header: Record<string, unknown> = {}): string {
  return compact({ alg: 'HS256', typ: 'JWT', ...header }, body, hmac())
}

/** A token of the test issuer that asks for these grants. */
export function tokenFor(respcast: unknown, changes: Record<string, unknown> = {}): string {
  return token(payload({ respcast, ...changes }))
}

/** A key pair, and what a key set says of its public half. */
export interface TestKey {
  readonly alg: string
  readonly kid: string
  readonly privateKey: KeyObject
  readonly pem: string
  readonly jwk: Readonly<Record<string, unknown>>
  readonly sign: Signer
}

/** Makes a key pair for RS256, ES256 or EdDSA. */
export function makeKey(alg: 'RS256' | 'ES256' | 'EdDSA', kid: string): TestKey {
  const { publicKey, privateKey } =
    alg === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : alg === 'ES256'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('ed25519')
  return {
    alg,
    kid,
    privateKey,
    pem: publicKey.export({ type: 'spki', format: 'pem' }) as string,
    jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' },
    sign: signer(privateKey),
  }
}

/** A token signed with a key pair, its `kid` in the header. */
export function tokenBy(key: TestKey, body: unknown = payload(), header: object = {}): string {
  return compact({ alg: key.alg, typ: 'JWT', kid: key.kid, ...header }, body, key.sign)
}

/** The text of a key set. */
export function jwks(...keys: readonly (TestKey | Readonly<Record<string, unknown>>)[]): string {
  return JSON.stringify({ keys: keys.map((key) => ('jwk' in key ? key['jwk'] : key)) })
}

/** The catalog of all commands that rules can name, and of the server's own. */
export const CATALOG = new CommandTable(ALL_COMMANDS).catalog

/** A user made by `ACL SETUSER name rule...`. */
export function userOf(
  name: string,
  rules: string,
  pubsubDefault: PubsubDefault = 'resetchannels',
): User {
  const options = { pubsubDefault, checkRolePattern: validateRolePattern }
  const base = newUser(CATALOG, name, options)
  const result = applyRules(CATALOG, base, rules === '' ? [] : rules.split(' '), options)
  if (!('user' in result)) throw new Error(`${result.error} at ${result.rule}`)
  return result.user
}

/** A fetch that must not be called. */
export const noFetch: Fetch = () => Promise.reject(new Error('nothing is to be fetched here'))

/** Roles that count their edits. */
class EditedRoles extends Map<string, User> {
  version = 0

  override set(name: string, role: User): this {
    this.version++
    return super.set(name, role)
  }

  override delete(name: string): boolean {
    this.version++
    return super.delete(name)
  }
}

/** An authenticator over a fake clock, with roles that can be edited: `roles.set('role:x', userOf(...))`. */
export function testAuthenticator(changes: Partial<AuthenticatorParts> = {}): {
  readonly authenticator: TokenAuthenticator
  readonly clock: FakeClock
  readonly roles: EditedRoles
} {
  const clock = new FakeClock(NOW * 1000)
  const roles = new EditedRoles()
  const authenticator = new TokenAuthenticator({
    issuers: [testIssuer()],
    clock,
    fetch: noFetch,
    catalog: CATALOG,
    findUser: (name) => roles.get(name),
    usersVersion: () => roles.version,
    pubsubDefault: () => 'resetchannels',
    separators: ':',
    ...changes,
  })
  return { authenticator, clock, roles }
}

/** An order of TOKEN REVOKE; without changes `SUB 42`. */
export function revocationOrder(changes: Partial<RevocationOrder> = {}): RevocationOrder {
  return {
    kind: 'sub',
    target: '42',
    issuer: undefined,
    scope: undefined,
    only: undefined,
    beforeMs: undefined,
    hard: false,
    expiresAtMs: undefined,
    reason: '',
    message: '',
    ...changes,
  }
}
