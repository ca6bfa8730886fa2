import { describe, expect, test } from 'vitest'
import {
  decodeEntry,
  decodeNode,
  encodeEntry,
  encodeMessage,
  encodeNode,
  encodeRegister,
  MOST_REGISTERS,
  problemOfEntry,
  readRegister,
  readRow,
  signedOfEntry,
  splitMessage,
  unsignedRow,
} from '../../../server/control/codec.ts'
import type { Entry } from '../../../server/control/entry.ts'
import type { NodeRecord } from '../../../server/control/node.ts'
import type { Register } from '../../../server/control/register.ts'
import { NO_SIGNATURE, signatureBy } from '../../../server/control/signature.ts'

const UUID = '00000000000000a1'
const ALL_BYTES = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)).join('')
const SIGNATURE = signatureBy([Buffer.alloc(32, 7)])

function entry(more: Partial<Entry> = {}): Entry {
  return {
    uuid: UUID,
    origin: { node: 'n1', user: ALL_BYTES, address: '127.0.0.1:1' },
    atMs: 1_700_000_000_000,
    registers: [
      { key: `u:${ALL_BYTES}`, version: 1, uuid: UUID, value: ALL_BYTES },
      { key: 'r:1', version: 2 ** 53 - 1, uuid: 'ffffffffffffffff', value: undefined },
    ],
    order: { part: 'k', value: ALL_BYTES },
    ...more,
  }
}

const register = (more: Partial<Register> = {}): Register => ({
  ...{ key: `u:${ALL_BYTES}`, version: 12, uuid: UUID, value: ALL_BYTES },
  ...more,
})

describe('an entry', () => {
  test.each([entry(), entry({ registers: [], order: undefined })])(
    'is printable ASCII and comes back as it was',
    (one) => {
      expect(encodeEntry(one)).toMatch(/^[\x20-\x7e]+$/)
      expect(decodeEntry(encodeEntry(one))).toEqual(one)
    },
  )

  test('is not read in part: cut anywhere it is none', () => {
    const body = encodeEntry(entry({ origin: { node: 'n', user: '\xff', address: '' } }))
    for (let end = 0; end < body.length; end += 7)
      expect(decodeEntry(body.slice(0, end))).toBe(undefined)
  })

  const body = encodeEntry(
    entry({
      origin: { node: 'n1', user: 'a', address: '' },
      registers: [{ key: 'u:x', version: 1, uuid: UUID, value: 'on' }],
      order: undefined,
    }),
  )

  test.each([
    ['an unknown field', body.replace('{', '{"more":1,')],
    ['a field twice', body.replace('{', `{"uuid":"${UUID}",`)],
    ['a prototype', body.replace('{', '{"__proto__":{},')],
    ['a field less', body.replace('"address":"",', '')],
    ['spaces', body.replace(':', ': ')],
    ['an escape that nobody needs', body.replace('u:x', '\\u0075:x')],
    ['another order of fields', body.replace('"node":"n1","user":"a"', '"user":"a","node":"n1"')],
    ['more after it', `${body} `],
    ['a uuid in upper case', body.replaceAll('a1"', 'A1"')],
    ['a short uuid', body.replaceAll('0a1"', 'a1"')],
    ['a key without a part', body.replace('u:x', 'x')],
    ['a key without a name', body.replace('u:x', 'u:')],
    ['a key that is a field of the state', body.replace('u:x', 'format')],
    ['a key beyond bytes', body.replace('u:x', 'u:\\u0100')],
    ['a version 0', body.replace('"u:x",1', '"u:x",0')],
    ['a version with a fraction', body.replace('"u:x",1', '"u:x",1.5')],
    ['a version beyond 2^53', body.replace('"u:x",1', '"u:x",9007199254740993')],
    ['a version as text', body.replace('"u:x",1', '"u:x","1"')],
    ['a register of five', body.replace('"on"]', '"on",1]')],
    ['a register twice', body.replace('[["u:x"', `[["u:x",1,"${UUID}","off"],["u:x"`)],
    ['a value that is a number', body.replace('"on"', '1')],
    ['a time below 0', body.replace(/"atMs":\d+/, '"atMs":-1')],
    ['an order of one', body.replace('"order":null', '"order":["k"]')],
    ['an order that is a text', body.replace('"order":null', '"order":"k"')],
    ['no object', '[]'],
    ['nothing', ''],
    ['bytes beyond ASCII', body.replace('"n1"', '"n\xe9"')],
  ])('is none with %s', (_name, text) => {
    expect(text).not.toBe(body)
    expect(decodeEntry(text)).toBeUndefined()
  })

  test('is written by its whole milliseconds', () => {
    expect(decodeEntry(encodeEntry(entry({ atMs: 5.9 })))?.atMs).toBe(5)
  })

  test('that nobody could read is refused before it is written', () => {
    const problem = (one: Entry): string | undefined => problemOfEntry(one, encodeEntry(one))
    const many = (count: number, value = ''): Entry =>
      entry({
        registers: Array.from({ length: count }, (_, at) => register({ key: `r:${at}`, value })),
      })
    expect(problem(many(MOST_REGISTERS))).toBeUndefined()
    expect(problem(many(MOST_REGISTERS + 1))).toMatch(/more than 1000 .*: make it in parts/)
    expect(problem(many(10, 'x'.repeat(262_144)))).toMatch(/more than 2097152 bytes/)
    expect(problem(many(1, 'x'.repeat(262_144)))).toBeUndefined()
    expect(problem(many(1, 'x'.repeat(262_145)))).toMatch(/value of more than 262144/)
    const long = register({ key: `u:${'x'.repeat(1_023)}` })
    expect(problem(entry({ registers: [long] }))).toMatch(/name of more than 1024 bytes/)
  })
})

describe('a row of the log', () => {
  const signed = (one: Entry, namespace = 'a') => {
    const body = encodeEntry(one)
    return {
      ...unsignedRow('2-0', '1-0', body),
      mac: SIGNATURE.sign(signedOfEntry(namespace, body)),
    }
  }

  test('comes back from a message with its place', () => {
    const message = Buffer.from(encodeMessage(signed(entry())), 'latin1')
    const row = splitMessage(message)
    expect(row && readRow('a', SIGNATURE, row)).toEqual({
      ...{ id: '2-0', previous: '1-0', entry: entry() },
    })
    const first = splitMessage(Buffer.from(encodeMessage({ ...signed(entry()), previous: '' })))
    expect(first && readRow('a', SIGNATURE, first)).toMatchObject({ previous: '' })
  })

  test('is unsigned or forged, by name', () => {
    const row = signed(entry())
    expect(readRow('a', SIGNATURE, { ...row, mac: '-' })).toBe('unsigned')
    expect(readRow('b', SIGNATURE, row)).toBe('forged')
    expect(readRow('a', SIGNATURE, { ...row, body: `${row.body} ` })).toBe('forged')
    expect(readRow('a', NO_SIGNATURE, { ...row, body: `${row.body} ` })).toBe('broken')
  })

  test.each(['', '1', '1-', 'x-0', '1-0-0', '-'])('is broken with the id %j', (id) => {
    expect(readRow('a', SIGNATURE, { ...signed(entry()), id })).toBe('broken')
  })

  test.each([
    '',
    ' ',
    '- 1-0 -',
    '- 1-0 - ',
    '1-0',
    `- ${'1'.repeat(50)}-0 - {}`,
    `- 1-0 ${'a'.repeat(65)} {}`,
  ])('is not in the message %j', (text) => {
    expect(splitMessage(Buffer.from(text))).toBeUndefined()
  })
})

describe('a register of the state', () => {
  const lineOf = (one: Register, namespace = 'a'): string => {
    const { stamp, content } = encodeRegister(namespace, SIGNATURE, one)
    return `${stamp} 5-0 ${content}`
  }

  test.each([register(), register({ value: undefined }), register({ value: '' })])(
    'comes back as it was',
    (one) => {
      expect(lineOf(one)).toMatch(/^[\x20-\x7e]+$/)
      expect(readRegister('a', SIGNATURE, one.key, lineOf(one))).toEqual(one)
    },
  )

  test('is forged with another name, version, uuid, value or namespace', () => {
    const { key } = register()
    const line = lineOf(register())
    const forged = [
      readRegister('a', SIGNATURE, 'u:y', line),
      readRegister('a', SIGNATURE, key, line.replace(/^12/, '13')),
      readRegister('a', SIGNATURE, key, line.replace('a1 ', 'a2 ')),
      readRegister('a', SIGNATURE, key, line.replace(/".*"/, '"on"')),
      readRegister('a', SIGNATURE, key, line.replace(/".*"/, 'null')),
      readRegister('b', SIGNATURE, key, line),
    ]
    expect(forged).toEqual(forged.map(() => 'forged'))
  })

  test('is unsigned without a signature, but where nobody has a key', () => {
    const line = lineOf(register()).replace(/ [0-9a-f]{64} /, ' - ')
    expect(readRegister('a', SIGNATURE, register().key, line)).toBe('unsigned')
    expect(readRegister('a', NO_SIGNATURE, register().key, line)).toEqual(register())
  })

  test.each([
    '',
    `1 ${UUID} 5-0 -`,
    `1 ${UUID} 5-0 - `,
    `1 ${UUID} - "on"`,
    `1 ${UUID} 5-0 - on`,
    `1 ${UUID} 5-0 - "on" "off"`,
    `1 ${UUID} 5-0 - "on`,
    `1 ${UUID} 5-0 - "\\x"`,
    `1 ${UUID} 5-0 - "\\u0100"`,
    `1 ${UUID} 5-0 - "\xe9"`,
    `1 ${UUID} 5-0 - 1`,
    `0 ${UUID} 5-0 - "on"`,
    `01 ${UUID} 5-0 - "on"`,
    `9007199254740993 ${UUID} 5-0 - "on"`,
    `1 ${UUID.toUpperCase()} 5-0 - "on"`,
    ` 1 ${UUID} 5-0 - "on"`,
    `1 ${UUID} 5-0 - "${'x'.repeat(262_145)}"`,
  ])('is broken as %.60j', (line) => {
    expect(readRegister('a', NO_SIGNATURE, 'u:x', line)).toBe('broken')
  })
})

describe("a gateway's record", () => {
  const record: NodeRecord = {
    ...{ id: 'n', number: 3, name: 'caf\xe9', version: '1.0.0', startedAtMs: 1, clients: 2 },
    ...{ sessions: 3, subscriptions: 4, applied: '5-0', isDraining: true, parts: ['u', 'r', 'k'] },
    addresses: { resp: 'a:1', http: 'a:2', admin: 'a:3' },
    digests: { issuers: 'i', acl: 'a' },
  }

  test('comes back as it was', () => {
    expect(decodeNode('n', 3, encodeNode(record))).toEqual(record)
  })

  test('of a newer version is read as far as it is known', () => {
    const text = encodeNode(record).replace('{', '{"more":[1],')
    expect(decodeNode('n', 3, text)).toEqual(record)
  })

  test.each(['', '{', '[]', '{"name":{},"clients":-1,"parts":[1,"U"],"addresses":[],"digests":7}'])(
    'stands for a gateway whatever it is: %j',
    (text) => {
      expect(decodeNode('n', 3, text)).toEqual({
        ...{ id: 'n', number: 3, name: 'n', version: '', startedAtMs: 0, clients: 0, sessions: 0 },
        ...{ subscriptions: 0, applied: '', isDraining: false, parts: [] },
        addresses: { resp: '', http: '', admin: '' },
        digests: { issuers: '', acl: '' },
      })
    },
  )
})
