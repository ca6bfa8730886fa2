import { expect, test } from 'vitest'
import { asciiJson } from '../../../../server/ascii-json.ts'
import { RecordTexts } from '../../../../server/token/revoke/record-text.ts'
import type { Revocation } from '../../../../server/token/revoke/revocation.ts'
import { revocationOrder } from '../../../support/tokens.ts'

const record = (id: number): Revocation => ({
  ...revocationOrder({ target: 'jos\u00e9' }),
  id,
  by: 'ops',
  atMs: 1,
  hit: 0,
})

test('One record is read from a text, however often', () => {
  const texts = new RecordTexts()
  const text = asciiJson(record(1))
  const read = texts.read(text)
  expect(read).toEqual(JSON.parse(text))
  expect(texts.read(asciiJson(record(1)))).toBe(read)
})

test('A record has the text that it was read from, or would be written as', () => {
  const texts = new RecordTexts()
  const text = asciiJson(record(1))
  expect(texts.isOf(record(1), text)).toBe(true)
  expect(texts.isOf(texts.read(text) as Revocation, text)).toBe(true)
  expect(texts.isOf(record(2), text)).toBe(false)
})

test('Records beyond some thousands are read anew', () => {
  const texts = new RecordTexts()
  const first = asciiJson(record(1))
  const read = texts.read(first)
  for (let id = 2; id < 3_000; id++) texts.read(asciiJson(record(id)))
  expect(texts.read(first)).not.toBe(read)
  expect(texts.read(first)).toEqual(read)
})
