import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  NO_SIGNATURE,
  readSignature,
  signatureBy,
  UNSIGNED,
  type Signature,
} from '../../../server/control/signature.ts'
import { folderWith } from '../../support/folder.ts'
import { settingsOf } from '../../support/settings.ts'

const [OLD, NEW] = ['o'.repeat(32), 'n'.repeat(32)]

function ofFile(content: string): Signature {
  const path = join(folderWith(), 'control.key')
  writeFileSync(path, content, 'latin1')
  return readSignature(settingsOf({ 'upstream-control-key-file': path }))
}

describe('signatures of what gateways share', () => {
  test('are HMAC-SHA256 by the first key', () => {
    const expected = createHmac('sha256', NEW).update('caf\xe9', 'latin1').digest('hex')
    expect(ofFile(`${NEW}\n${OLD}\n`).sign('caf\xe9')).toBe(expected)
  })

  test('are taken of either key, and of no other', () => {
    const rotated = ofFile(`${NEW}\r\n\n  ${OLD}  \n`)
    expect(rotated.problemOf('text', ofFile(OLD).sign('text'))).toBeUndefined()
    expect(rotated.problemOf('text', ofFile(NEW).sign('text'))).toBeUndefined()
    expect(rotated.problemOf('text', ofFile('x'.repeat(32)).sign('text'))).toBe('forged')
  })

  test.each([
    ['another text', 'Text', (mac: string) => mac],
    ['a shorter signature', 'text', (mac: string) => mac.slice(1)],
    ['a longer signature', 'text', (mac: string) => `${mac}0`],
    ['upper case', 'text', (mac: string) => mac.toUpperCase()],
    ['bytes that are no digits', 'text', () => '\xff'.repeat(64)],
    ['an empty signature', 'text', () => ''],
  ])('are forged with %s', (_name, text, change) => {
    const signature = signatureBy([Buffer.from(NEW)])
    expect(signature.problemOf(text, change(signature.sign('text')))).toBe('forged')
  })

  test('are missed where there is a key, and not where there is none', () => {
    expect(signatureBy([Buffer.from(NEW)]).problemOf('text', UNSIGNED)).toBe('unsigned')
    expect(readSignature(settingsOf({}))).toBe(NO_SIGNATURE)
    expect(NO_SIGNATURE.problemOf('text', 'anything')).toBeUndefined()
  })

  test.each([
    ['', 'is empty'],
    ['\n \n', 'is empty'],
    ['n'.repeat(31), 'a key has fewer than 32 bytes'],
    [`${NEW}\nshort`, 'a key has fewer than 32 bytes'],
    [`${NEW}\n${OLD}\n${NEW}`, 'has more than two keys'],
  ])('have no key in a file with %j', (content, problem) => {
    expect(() => ofFile(content)).toThrow(
      expect.objectContaining({ code: 'ERR_CONFIG', message: expect.stringContaining(problem) }),
    )
    expect(() => ofFile(content)).toThrow(/^upstream-control-key-file \/.*openssl rand -hex 32$/)
    expect(() => ofFile(content)).not.toThrow(/nnn|short/)
  })

  test('name a key file that cannot be read', () => {
    const path = join(folderWith(), 'missing')
    expect(() => readSignature(settingsOf({ 'upstream-control-key-file': path }))).toThrow(
      /^upstream-control-key-file .*missing: cannot be read \(ENOENT\)/,
    )
  })
})
