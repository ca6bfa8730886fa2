import { ok } from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { KEY_PAIR_ALGORITHMS, parseJwks } from '../../server/token/verify/keys.ts'
import { makeKey } from '../support/tokens.ts'
import type { Dice } from './dice.ts'
import type { FuzzTarget } from './targets.ts'

type Jwk = Record<string, unknown>

const TEXTS = [
  ...[
    '',
    'RSA',
    'EC',
    'OKP',
    'oct',
    'sig',
    'enc',
    'P-256',
    'P-521',
    'secp256k1',
    'Ed25519',
    'X25519',
  ],
  ...[
    'AQAB',
    'AA',
    'none',
    'HS256',
    'RS256',
    'ES256',
    'EdDSA',
    '____',
    'not base64 \n',
    'A'.repeat(3_000),
  ],
]
const VALUES: readonly unknown[] = [
  ...TEXTS,
  null,
  0,
  -1,
  1e300,
  true,
  [],
  {},
  ['verify'],
  ['sign'],
  { a: [] },
]
const MEMBERS = [
  'kty',
  'crv',
  'x',
  'y',
  'n',
  'e',
  'd',
  'k',
  'kid',
  'alg',
  'use',
  'key_ops',
  'x5c',
  '__proto__',
]
const PIECES = [
  '{',
  '}',
  '[',
  ']',
  '"',
  ',',
  ':',
  '\\',
  '\\u0000',
  '{"keys":[]}',
  'null',
  '\0',
  '\ud800',
  '[['.repeat(50),
]

function damagedKey(dice: Dice, keys: readonly Jwk[]): unknown {
  if (dice.oneIn(12)) return dice.pick(VALUES)
  const key: Jwk = { ...dice.pick(keys) }
  for (let changes = dice.below(3); changes > 0; changes--) {
    const member = dice.pick(MEMBERS)
    const value = key[member]
    if (dice.oneIn(3)) delete key[member]
    else
      key[member] =
        typeof value === 'string' && dice.oneIn(2)
          ? dice.damaged(value, ['A', '=', '+', ' '])
          : dice.pick(VALUES)
  }
  return key
}

/**
 * Texts of a JSON Web Key Set: read with at most 100 public keys, each for algorithms with key pairs only, or refused with an
 * error of one short line.
 */
export const keySets: FuzzTarget = {
  name: 'key-sets',
  open: () => {
    const short = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({
      format: 'jwk',
    })
    const keys: Jwk[] = [
      makeKey('RS256', 'r').jwk,
      makeKey('ES256', 'e').jwk,
      makeKey('EdDSA', 'd').jwk,
      short,
    ]
    return (dice) => {
      const count = dice.oneIn(200) ? 101 : dice.below(4)
      const set = { keys: Array.from({ length: count }, () => damagedKey(dice, keys)) }
      const document = dice.oneIn(20) ? dice.pick(VALUES) : set
      const whole = JSON.stringify(document)
      const text = dice.oneIn(4) ? dice.damaged(whole, PIECES) : whole
      let read
      try {
        read = parseJwks(text)
      } catch (error) {
        ok(error instanceof Error && error.constructor === Error, String(error))
        ok(error.message.length <= 256 && !/[\r\n\0]/.test(error.message), error.message)
        return
      }
      ok(read.length >= 1 && read.length <= 100)
      for (const key of read) {
        ok(
          key.algorithms.length > 0 &&
            key.algorithms.every((name) => KEY_PAIR_ALGORITHMS.includes(name)),
        )
        ok(key.kid === undefined || typeof key.kid === 'string')
        for (const algorithm of key.algorithms) {
          const made = key.for(algorithm)
          ok('type' in made && made.type === 'public')
        }
      }
    }
  },
}
