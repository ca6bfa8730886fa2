import { describe, expect, test } from 'vitest'

import {
  comparedHashes,
  generatePassword,
  hashPassword,
  isPasswordHash,
  passwordLogsIn,
} from '../../../server/acl/password.ts'
import { userOf } from './support.ts'

describe('a password', () => {
  test('is kept as the SHA-256 of its bytes', () => {
    expect(hashPassword('')).toBe(
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    )
    expect(hashPassword('p1')).toBe(
      'f64551fcd6f07823cb87971cfb91446425da18286b3ab1ef935e0cbd7a69f68a',
    )
    // The one byte ff, not its UTF-8 form.
    expect(hashPassword('\xff')).toBe(
      'a8100ae6aa1940d0b663bb31cd466142ebbdbd5187131b92d93818987832eb89',
    )
  })

  test('hash is 64 lower-case hex digits', () => {
    expect(isPasswordHash('0123456789abcdef'.repeat(4))).toBe(true)
    expect(isPasswordHash('0123456789ABCDEF'.repeat(4))).toBe(false)
    expect(isPasswordHash('0'.repeat(63))).toBe(false)
    expect(isPasswordHash(`${'0'.repeat(64)}\n`)).toBe(false)
  })

  test.each([
    ['on >p1 >p2', 'p1', true],
    ['on >p1 >p2', 'p2', true],
    ['on >p1', 'p2', false],
    ['on >p1', '', false],
    ['on >', '', true],
    ['off >p1', 'p1', false],
    ['on nopass', 'anything', true],
    ['off nopass', 'anything', false],
    ['on resetpass', 'anything', false],
    ['on >p1 resetpass', 'p1', false],
  ])('of a user "%s": %j logs in is %s', (rules, password, logsIn) => {
    expect(passwordLogsIn(userOf(rules), password)).toBe(logsIn)
  })

  test.each([
    ['an unknown user', undefined],
    ['one with a password', userOf('on >p1')],
    ['one that is off', userOf('off >p1')],
    ['one with nopass', userOf('on nopass')],
    ['one without any', userOf('on resetpass')],
    ['a role', { ...userOf('off >p1'), name: 'role:member' }],
  ])('costs one comparison of whole hashes for %s', (_name, user) => {
    const hashes = comparedHashes(user)
    expect(hashes).toHaveLength(1)
    expect(isPasswordHash(hashes[0] ?? '')).toBe(true)
  })

  test('logs in nobody as an unknown user or as a role', () => {
    expect(passwordLogsIn(undefined, 'p1')).toBe(false)
    const role = { ...userOf('on nopass'), name: 'role:member' }
    expect(passwordLogsIn(role, 'p1')).toBe(false)
  })
})

describe('a generated password', () => {
  test.each([
    [undefined, 64],
    [1, 1],
    [4, 1],
    [5, 2],
    [128, 32],
    [4096, 1024],
  ])('of %s bits has %i hex digits', (bits, digits) => {
    expect(generatePassword(bits)).toMatch(new RegExp(`^[0-9a-f]{${digits}}$`))
  })

  test('differs each time', () => {
    expect(generatePassword()).not.toBe(generatePassword())
  })

  test.each([0, 4097, -1, 1.5, Number.NaN])('of %s bits does not exist', (bits) => {
    expect(() => generatePassword(bits)).toThrow(RangeError)
  })
})
