import { createHmac, createPublicKey } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TokenAuthenticator } from '../../../../server/token/session/authenticator.ts'
import type { KeySource } from '../../../../server/token/verify/issuer.ts'
import {
  compact,
  encodePart,
  hmac,
  jwks,
  makeKey,
  NOW,
  payload,
  SECRET,
  testAuthenticator,
  testIssuer,
  token,
  tokenBy,
  tokenFor,
} from '../../../support/tokens.ts'
import { folderWith } from '../../../support/folder.ts'

const rsa = makeKey('RS256', 'rsa-1')
const stranger = makeKey('RS256', 'rsa-1')
const folder = folderWith({}, afterAll)
const started: TokenAuthenticator[] = []

/** An authenticator for RS256 keys out of a file. */
async function withKeys(keys: KeySource, algorithms = ['RS256']): Promise<TokenAuthenticator> {
  const { authenticator } = testAuthenticator({ issuers: [testIssuer({ keys, algorithms })] })
  await authenticator.issuers.start()
  started.push(authenticator)
  return authenticator
}

let secret: TokenAuthenticator
let pem: TokenAuthenticator
let set: TokenAuthenticator

beforeAll(async () => {
  writeFileSync(join(folder, 'key.pem'), rsa.pem)
  const shared = { kty: 'oct', k: SECRET.toString('base64url'), kid: 'oct-1', alg: 'HS256' }
  writeFileSync(join(folder, 'keys.json'), jwks(rsa, shared))
  secret = testAuthenticator().authenticator
  pem = await withKeys({ kind: 'public-key-file', path: join(folder, 'key.pem') })
  set = await withKeys({ kind: 'jwks-file', path: join(folder, 'keys.json') })
})

afterAll(() => {
  for (const authenticator of started) authenticator.issuers.stop()
})

const unsigned = (header: object, body: unknown = payload()): string =>
  `${encodePart(header)}.${encodePart(body)}.`

/** A signature with the RSA public key's text as the HMAC secret. */
const confused = (form: string | Buffer): string =>
  compact({ alg: 'HS256', typ: 'JWT' }, payload(), (input) =>
    createHmac('sha256', form).update(input).digest(),
  )

function without(name: string): string {
  return token(payload({ [name]: undefined }))
}

function swapPayload(text: string, body: unknown): string {
  const [header, , signature] = text.split('.')
  return `${header}.${encodePart(body)}.${signature}`
}

const claim = (json: string): string =>
  token(`${JSON.stringify(payload()).slice(0, -1)},"respcast":${json}}`)

const own = { ...stranger.jwk, kid: 'mine' }

const bySecret: [string, () => string][] = [
  ['nothing at all', () => ''],
  ['two dots alone', () => '..'],
  ['alg none, unsigned', () => unsigned({ alg: 'none' })],
  ['alg None, unsigned', () => unsigned({ alg: 'None' })],
  ['alg none, with a signature', () => compact({ alg: 'none' }, payload(), hmac())],
  ['alg HS256, unsigned', () => unsigned({ alg: 'HS256' })],
  ['alg missing', () => compact({ typ: 'JWT' }, payload(), hmac())],
  ['alg a list', () => compact({ alg: ['HS256'] }, payload(), hmac())],
  ['alg in lower case', () => compact({ alg: 'hs256' }, payload(), hmac())],
  [
    'alg HS512 where HS256 is pinned',
    () => compact({ alg: 'HS512' }, payload(), hmac(SECRET, 'sha512')),
  ],
  ['alg RS256 where a secret is configured', () => tokenBy(rsa)],
  ['another secret', () => compact({ alg: 'HS256' }, payload(), hmac(Buffer.alloc(32, 'x')))],
  ['an empty secret', () => compact({ alg: 'HS256' }, payload(), hmac(Buffer.alloc(0)))],
  ['a cut signature', () => token().slice(0, -3)],
  ['a payload exchanged', () => swapPayload(token(), payload({ sub: 'admin' }))],
  ['another spelling of the signature', () => `${token()}=`],
  ['a line feed after the token', () => `${token()}\n`],
  ['base64 instead of base64url', () => token(payload({ x: '>>>???' })).replace(/[-_]/g, '+')],
  ['crit', () => token(payload(), { crit: ['exp'], exp: NOW })],
  ['crit and b64', () => token(payload(), { crit: ['b64'], b64: false })],
  ['zip', () => token(payload(), { zip: 'DEF' })],
  ['enc in a signed token', () => token(payload(), { enc: 'A256GCM' })],
  ['typ JWE', () => token(payload(), { typ: 'JWE' })],
  ['typ of a logout token', () => token(payload(), { typ: 'logout+jwt' })],
  ['typ null', () => token(payload(), { typ: null })],
  ['a token nested in a token', () => token(token(), { cty: 'JWT' })],
  ['five parts (JWE)', () => `${encodePart({ alg: 'dir', enc: 'A256GCM' })}..a.b.c`],
  ['four parts', () => `${token()}.x`],
  ['kid of 129 bytes', () => token(payload(), { kid: 'k'.repeat(129) })],
  ['kid an object', () => token(payload(), { kid: { length: 1 } })],
  ['a header that is a list', () => compact([{ alg: 'HS256' }], payload(), hmac())],
  ['a payload that is a text', () => token('"x"')],
  ['a payload that is not JSON', () => token('{"iss":')],
  ['a payload with a byte order mark', () => token(`\ufeff${JSON.stringify(payload())}`)],
  [
    'a payload that is not UTF-8',
    () => token(Buffer.from(`${JSON.stringify(payload()).slice(0, -1)},"x":"\xff"}`, 'latin1')),
  ],
  ['no iss', () => without('iss')],
  ['another iss', () => token(payload({ iss: 'https://auth.example/' }))],
  ['iss in a list', () => token(payload({ iss: ['https://auth.example'] }))],
  ['iss __proto__', () => token(payload({ iss: '__proto__' }))],
  ['no aud', () => without('aud')],
  ['another aud', () => token(payload({ aud: 'other' }))],
  ['aud of numbers and ours', () => token(payload({ aud: [1, 'respcast'] }))],
  ['an empty aud', () => token(payload({ aud: [] }))],
  ['no exp', () => without('exp')],
  ['exp null', () => token(payload({ exp: null }))],
  ['exp a text', () => token(payload({ exp: String(NOW + 60) }))],
  [
    'exp 1e400, which JSON makes infinite',
    () => token(JSON.stringify(payload({ exp: 7 })).replace('"exp":7', '"exp":1e400')),
  ],
  ['nbf in the future', () => token(payload({ nbf: NOW + 600 }))],
  ['nbf a text', () => token(payload({ nbf: '0' }))],
  ['iat in the future', () => token(payload({ iat: NOW + 600 }))],
  ['iat a text', () => token(payload({ iat: '0' }))],
  ['no sub', () => without('sub')],
  ['an empty sub', () => token(payload({ sub: '' }))],
  ['sub a number', () => token(payload({ sub: 42 }))],
  ['sub with a blank', () => token(payload({ sub: 'a b' }))],
  ['sub with NUL', () => token(payload({ sub: 'a\0' }))],
  ['sub with a line feed', () => token(payload({ sub: 'a\n+OK' }))],
  ['sub with a no-break space', () => token(payload({ sub: 'a\u00a0b' }))],
  ['sub with a paragraph separator', () => token(payload({ sub: 'a\u2029' }))],
  ['sub with half a surrogate pair', () => token(payload({ sub: '\udc00' }))],
  ['sub of 257 bytes', () => token(payload({ sub: 'x'.repeat(257) }))],
  ['jti a number', () => token(payload({ jti: 7 }))],
  ['jti of 257 bytes', () => token(payload({ jti: 'x'.repeat(257) }))],
  ['8193 bytes', () => 'e'.repeat(8193)],
  ['5 MB', () => `${encodePart({ alg: 'HS256' })}.${'e'.repeat(5_000_000)}.x`],
  ['claim: rules in a pattern', () => claim('{"channels":["a* +@all &*"]}')],
  ['claim: a selector in a pattern', () => claim('{"channels":["(&x +@all)"]}')],
  ['claim: a line feed in a pattern', () => claim('{"channels":["a\\n&*"]}')],
  ['claim: NUL in a pattern', () => claim('{"channels":["a\\u0000*"]}')],
  ['claim: commands', () => claim('{"commands":["+@all"]}')],
  ['claim: __proto__', () => claim('{"__proto__":{"channels":["*"]}}')],
  ['claim: a text', () => claim('"allchannels"')],
  ['claim: a pattern as a list', () => claim('{"channels":[["*"]]}')],
]

const byPublicKey: [string, () => string][] = [
  ['HS256 with the PEM text as the secret', () => confused(rsa.pem)],
  ['HS256 with the PEM text without its last line break', () => confused(rsa.pem.trimEnd())],
  [
    'HS256 with the DER bytes as the secret',
    () => confused(createPublicKey(rsa.pem).export({ type: 'spki', format: 'der' })),
  ],
  [
    'HS256 with the modulus as the secret',
    () => confused(Buffer.from(String(rsa.jwk['n']), 'base64url')),
  ],
  ['HS256 with the symmetric key of the set', () => token(payload(), { kid: 'oct-1' })],
  ['HS256 with that key, kid left out', () => token()],
  ['alg none', () => unsigned({ alg: 'none', kid: 'rsa-1' })],
  ['the same kid, another key', () => tokenBy(stranger)],
  ['an embedded jwk', () => tokenBy(stranger, payload(), { kid: undefined, jwk: own })],
  ['an embedded jwk under the good kid', () => tokenBy(stranger, payload(), { jwk: own })],
  ['jku', () => tokenBy(stranger, payload(), { kid: 'mine', jku: 'https://evil.example/keys' })],
  ['x5u', () => tokenBy(stranger, payload(), { x5u: 'https://evil.example/cert' })],
  ['x5c', () => tokenBy(stranger, payload(), { x5c: ['AAAA'] })],
  ['kid as a path', () => tokenBy(stranger, payload(), { kid: '../../../../dev/null' })],
  ['kid as SQL', () => tokenBy(stranger, payload(), { kid: "x' UNION SELECT 'k" })],
  ['kid __proto__', () => tokenBy(stranger, payload(), { kid: '__proto__' })],
  ['kid as a URL', () => tokenBy(stranger, payload(), { kid: 'https://evil.example/keys' })],
  ['PS256 where RS256 is pinned', () => tokenBy(rsa, payload(), { alg: 'PS256' })],
  ['RS512 where RS256 is pinned', () => tokenBy(rsa, payload(), { alg: 'RS512' })],
  ['the good key, payload exchanged', () => swapPayload(tokenBy(rsa), payload({ sub: 'admin' }))],
]

async function expectRefused(authenticator: TokenAuthenticator, text: string): Promise<void> {
  const result = await authenticator.authenticate(text)
  expect(result).toMatchObject({
    refused: { reply: 'WRONGPASS invalid token' },
  })
  const { detail } = (result as { refused: { detail: string } }).refused
  for (const part of text.split('.')) if (part.length > 8) expect(detail).not.toContain(part)
  expect(detail).not.toMatch(/[\r\n]/)
}

describe('a bad token gets the one same refusal', () => {
  test.each(bySecret)('%s', async (_name, make) => {
    await expectRefused(secret, make())
  })
})

describe('a bad token for a public key gets the one same refusal', () => {
  test.each(byPublicKey)('%s (PEM file)', async (_name, make) => {
    await expectRefused(pem, make())
  })
  test.each(byPublicKey)('%s (key set)', async (_name, make) => {
    await expectRefused(set, make())
  })
})

test('the good tokens beside these attacks are accepted', async () => {
  expect(await secret.authenticate(token())).toHaveProperty('ok')
  expect(await pem.authenticate(tokenBy(rsa))).toHaveProperty('ok')
  expect(await set.authenticate(tokenBy(rsa))).toHaveProperty('ok')
  const ignored = { jku: 'https://evil.example', x5u: 'x', x5c: ['x'], jwk: own }
  expect(await set.authenticate(tokenBy(rsa, payload(), ignored))).toHaveProperty('ok')
})

test.each(['*', 'a*', '?', '[a-z]', '\\', '{sub}'])(
  'sub %s is one literal subject and opens nobody else',
  async (sub) => {
    const result = await secret.authenticate(tokenFor({ roles: [] }, { sub }))
    expect(result).toHaveProperty('ok.userName', `jwt:${sub}`)
    expect(result).toHaveProperty('ok.user.selectors.length', 1)
  },
)
