import { createPrivateKey, createPublicKey, KeyObject, randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import { systemClock, type Clock } from '../clock.ts'
import { RespcastError } from '../errors.ts'
import { MAX_TOKEN_BYTES, TokenFault } from './verify/refusal.ts'
import { MIN_SECRET_BYTES, type PayloadRules } from './verify/issuer.ts'
import { readHeader } from './verify/compact.ts'
import { algorithmsOf, withoutLineEnd } from './verify/keys.ts'
import { checkPayload } from './verify/verify.ts'
import type { JsonObject } from './text.ts'

export { RespcastError } from '../errors.ts'

/** Signature algorithms with a shared secret. */
export type SecretAlgorithm = 'HS256' | 'HS384' | 'HS512'

/** Signature algorithms with a key pair. */
export type KeyPairAlgorithm =
  | 'RS256'
  | 'RS384'
  | 'RS512'
  | 'PS256'
  | 'PS384'
  | 'PS512'
  | 'ES256'
  | 'ES384'
  | 'ES512'
  | 'EdDSA'
  | 'Ed25519'

/** A key that is shared with the server: its `jwt-secret-file`. */
export interface SecretKeyOptions {
  /** At least 32 bytes. One trailing line break is no part of it, as in the server's file. */
  readonly secret: string | Uint8Array
  readonly privateKey?: undefined
  readonly algorithm?: SecretAlgorithm | undefined
  readonly kid?: string | undefined
}

/** A key whose public half the server has, as a PEM file or in a JWK set. */
export interface PrivateKeyOptions {
  readonly secret?: undefined
  /** PEM text (PKCS #8, or the older forms of RSA and EC), or a private key of `node:crypto`. */
  readonly privateKey: string | KeyObject
  readonly algorithm: KeyPairAlgorithm
  /** `kid` of the key in the JWK set; the server finds the key sooner, and can demand it (`jwt-require-kid`). */
  readonly kid?: string | undefined
}

/** For which server tokens are made, and how they are signed. */
export type MinterOptions = (SecretKeyOptions | PrivateKeyOptions) & {
  /** The `iss` of every token, exactly as the server has it in `jwt-issuer`. */
  readonly issuer: string
  /** The `aud` of every token: one of the server's `jwt-audience`, or several servers. */
  readonly audience: string | readonly string[]
  /** Life of a token that does not say otherwise; 900 by default. */
  readonly lifetimeSeconds?: number | undefined
  /** Longest life, as the server has it in `jwt-max-lifetime`; 86400 by default. */
  readonly maxLifetimeSeconds?: number | undefined
  /** The claim of the grants, as the server has it in `jwt-claim`; `respcast` by default. */
  readonly claim?: string | undefined
}

/** What a token grants. An absent list differs from an empty one: see docs/tokens.md, "What acl-pubsub-default means". */
export interface TokenGrants {
  /** Names of roles, without `role:`. */
  readonly roles?: readonly string[] | undefined
  /** Channel patterns to subscribe and to publish to. */
  readonly channels?: readonly string[] | undefined
  /** Channel patterns to subscribe to only. */
  readonly subscribe?: readonly string[] | undefined
  /** Channel patterns to publish to only. */
  readonly publish?: readonly string[] | undefined
  /** Channel patterns that are denied, whatever else is granted. */
  readonly deny?: readonly string[] | undefined
  /** A name by which many tokens are revoked at once. */
  readonly group?: string | undefined
}

/** One token to be made. */
export interface MintRequest<Claims extends object = JsonObject> extends TokenGrants {
  /** Whose token it is: the user becomes `jwt:<sub>`. */
  readonly sub: string
  /** The name by which this one token is revoked; a random UUID by default. */
  readonly jti?: string | undefined
  readonly lifetimeSeconds?: number | undefined
  /** Further claims, which roles use as `{claim.<path>}`. */
  readonly claims?: Claims | undefined
}

/** Makes tokens of one issuer. @typeParam Claims The further claims that the application puts into its tokens. */
export interface TokenMinter<Claims extends object = JsonObject> {
  /**
   * Signs a token.
   *
   * @returns Its compact form.
   * @throws RespcastError `ERR_MINT`: the server would refuse it. The message says why.
   */
  mint(request: MintRequest<Claims>): Promise<string>
}

/** Parts of a request that become the claim of the grants. */
const GRANTS = ['roles', 'channels', 'subscribe', 'publish', 'deny', 'group'] as const

const REQUEST_KEYS: readonly string[] = ['sub', 'jti', 'lifetimeSeconds', 'claims', ...GRANTS]

/** Claims that the minter itself writes, or that would contradict them. */
const REGISTERED: readonly string[] = ['iss', 'aud', 'sub', 'exp', 'nbf', 'iat', 'jti']

const DEFAULT_LIFETIME_SECONDS = 900

/** The default of `jwt-max-lifetime`. */
const DEFAULT_MAX_LIFETIME_SECONDS = 86_400

/**
 * Makes a minter of tokens for a Respcast server, for the back end that its pages ask for them.
 *
 * It judges each token by the code that the server judges it with. Only the server knows the rest: which roles exist and may be
 * named, ceilings, revocations. `respcast token explain` tells of that.
 *
 * @throws RespcastError `ERR_MINT`: no token made like this would log in.
 */
export function tokenMinter<Claims extends object = JsonObject>(
  options: MinterOptions,
  clock: Pick<Clock, 'wallMs'> = systemClock,
): TokenMinter<Claims> {
  const key = signingKey(options)
  const { kid, lifetimeSeconds: usualSeconds = DEFAULT_LIFETIME_SECONDS } = options
  const issuer = judge(options)
  const header = { alg: key.algorithm, typ: 'JWT', ...(kid === undefined ? {} : { kid }) }
  explainFaults(() => readHeader(header))
  return {
    async mint(request) {
      const seconds = request.lifetimeSeconds ?? usualSeconds
      const payload = payloadOf(options, issuer.claim, request, seconds, clock)
      // As the server will read it: without what JSON leaves out.
      const json = JSON.parse(JSON.stringify(payload)) as JsonObject
      explainFaults(() => checkPayload(issuer, json, clock))
      const token = await new SignJWT(json).setProtectedHeader(header).sign(key.material)
      if (token.length > MAX_TOKEN_BYTES) {
        throw refusal(
          `a token of ${token.length} bytes is longer than ${MAX_TOKEN_BYTES}: name a role instead of many channels`,
        )
      }
      return token
    },
  }
}

function payloadOf<Claims extends object>(
  { issuer, audience }: MinterOptions,
  claim: string,
  request: MintRequest<Claims>,
  lifetimeSeconds: number,
  clock: Pick<Clock, 'wallMs'>,
): JsonObject {
  const unknown = Object.keys(request).find((name) => !REQUEST_KEYS.includes(name))
  if (unknown !== undefined) {
    throw refusal(`a token has no '${unknown}': there are ${REQUEST_KEYS.join(', ')}`)
  }
  if (!Number.isSafeInteger(lifetimeSeconds) || lifetimeSeconds < 1) {
    throw refusal(`lifetimeSeconds is ${lifetimeSeconds}, and must be 1 or more whole seconds`)
  }
  const claims = request.claims ?? {}
  const taken = Object.keys(claims).find((name) => name === claim || REGISTERED.includes(name))
  if (taken !== undefined) throw refusal(`claims must not hold '${taken}', which the minter writes`)
  const nowSeconds = Math.floor(clock.wallMs() / 1000)
  const grants = GRANTS.filter((name) => request[name] !== undefined)
  return {
    ...claims,
    // The whole name as one key: the server looks up a dotted path that way first.
    ...(grants.length === 0
      ? {}
      : { [claim]: Object.fromEntries(grants.map((name) => [name, request[name]])) }),
    iss: issuer,
    aud: audience,
    sub: request.sub,
    iat: nowSeconds,
    exp: nowSeconds + lifetimeSeconds,
    jti: request.jti ?? randomUUID(),
  }
}

/** The issuer as the server has it configured, as far as its tokens are judged by it. */
function judge({
  issuer,
  audience,
  claim = 'respcast',
  maxLifetimeSeconds = DEFAULT_MAX_LIFETIME_SECONDS,
}: MinterOptions): PayloadRules {
  const audiences = typeof audience === 'string' ? [audience] : audience
  if (typeof issuer !== 'string' || issuer === '') {
    throw refusal('issuer is empty: give the jwt-issuer of the server')
  }
  if (!Array.isArray(audiences) || audiences.length === 0 || audiences.includes('')) {
    throw refusal('audience is empty: give the jwt-audience of the server')
  }
  if (claim === '')
    throw refusal('claim is empty: leave it out, or give the jwt-claim of the server')
  return {
    audience: audiences,
    claim,
    format: { kind: 'respcast' },
    leewaySeconds: 0,
    maxLifetimeSeconds,
  }
}

interface SigningKey {
  readonly algorithm: SecretAlgorithm | KeyPairAlgorithm
  readonly material: Uint8Array | KeyObject
}

function signingKey(options: MinterOptions): SigningKey {
  if (options.secret !== undefined) {
    const { secret, algorithm = 'HS256' } = options
    const material = withoutLineEnd(Buffer.from(secret))
    if (!/^HS(256|384|512)$/.test(algorithm)) {
      throw refusal(`${algorithm} does not go with a secret: use HS256, HS384 or HS512`)
    }
    if (material.length < MIN_SECRET_BYTES) {
      throw refusal(`the secret has ${material.length} bytes, and needs ${MIN_SECRET_BYTES}`)
    }
    return { algorithm, material }
  }
  if (options.privateKey === undefined) throw refusal('there is no key: give secret or privateKey')
  const { privateKey, algorithm } = options
  const material = readPrivateKey(privateKey)
  const fitting = algorithmsOf(createPublicKey(material))
  if (fitting.length === 0) {
    throw refusal(
      'the private key is none of RSA with 2048 bits or more, P-256, P-384, P-521, Ed25519',
    )
  }
  if (!fitting.includes(algorithm)) {
    throw refusal(`the private key does not go with ${algorithm}: use ${fitting.join(', ')}`)
  }
  return { algorithm, material }
}

function readPrivateKey(key: string | KeyObject): KeyObject {
  if (key instanceof KeyObject) {
    if (key.type !== 'private') throw refusal(`privateKey is a ${key.type} key`)
    return key
  }
  try {
    return createPrivateKey(key)
  } catch (cause) {
    // Its text may hold parts of the key.
    throw refusal('privateKey is no private key in PEM, or is encrypted', { cause })
  }
}

function explainFaults(check: () => void): void {
  try {
    check()
  } catch (error) {
    if (error instanceof TokenFault) throw refusal(error.message)
    throw error
  }
}

function refusal(reason: string, options?: ErrorOptions): RespcastError {
  return new RespcastError('ERR_MINT', `no token was minted: ${reason}`, options)
}
