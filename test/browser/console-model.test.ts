import { describe, expect, test } from 'vitest'
import {
  alternativesOf,
  checkableRules,
  compareRules,
  parseAclLine,
  splitRules,
} from '../../web/console/model/acl-rules.ts'
import { parseClient } from '../../web/console/model/client-list.ts'
import { commandText, splitWords } from '../../web/console/model/commands.ts'
import { parseExplanation, tokenParts } from '../../web/console/model/explanation.ts'
import { History, MAX_SAMPLES } from '../../web/console/model/history.ts'
import { infoFields, parseInfo } from '../../web/console/model/info.ts'
import { parseHex, showPayload } from '../../web/console/model/format.ts'
import { labelOf, recordOf, replyText, ShapeError, textOf } from '../../web/console/model/reply.ts'
import { EMPTY_FORM, revokeCommand } from '../../web/console/model/revocations.ts'
import { nextRow, sortRows, windowOf } from '../../web/console/model/table.ts'

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1')

describe('rules of ACL users', () => {
  test('white space and line ends part rules, and a selector stays whole', () => {
    expect(splitRules(' on\n&news:*  (+publish\n&typing:*)\t(~a) ')).toEqual([
      'on',
      '&news:*',
      '(+publish &typing:*)',
      '(~a)',
    ])
  })

  test('brackets within a pattern begin and end nothing', () => {
    expect(splitRules('&a(b &c) +publish')).toEqual(['&a(b', '&c)', '+publish'])
  })

  test('a line of ACL LIST is a user, a role or a ceiling by its name', () => {
    expect(parseAclLine(bytes('user backend on #ab ~* &* +@all'))).toEqual({
      name: 'backend',
      kind: 'user',
      enabled: true,
      rules: ['on', '#ab', '~*', '&*', '+@all'],
      isBinary: false,
    })
    expect(parseAclLine(bytes('user role:a off'))).toMatchObject({ kind: 'role', enabled: false })
    expect(parseAclLine(bytes('user jwt@b:42 on'))).toMatchObject({ kind: 'ceiling' })
    expect(parseAclLine(bytes('user x on &\xff'))).toMatchObject({ isBinary: true })
  })

  test('what changes is what is added and what is taken away', () => {
    expect(compareRules(['on', '&a', '+@all'], ['+@all', 'on', '&b'])).toEqual({
      added: ['&b'],
      removed: ['&a'],
    })
  })

  test('each alternative has its commands and its channels; one that allows nothing is none', () => {
    expect(
      alternativesOf(['on', 'resetchannels', '-@all', '(resetchannels -@all +publish &a &b)']),
    ).toEqual([{ commands: ['-@all', '+publish'], channels: ['&a', '&b'] }])
  })

  test('passwords of users are not shown to RESPCAST CHECK, which tries roles', () => {
    const rules = ['on', '>word', '#ab', 'nopass', '&a']
    expect(checkableRules('backend', rules)).toEqual(['on', '&a'])
    expect(checkableRules('role:a', rules)).toEqual(rules)
  })
})

describe('commands as text', () => {
  test('words with blanks and quotes are quoted', () => {
    expect(commandText(['PUBLISH', 'news', 'say "hi"\n', ''])).toBe(
      String.raw`PUBLISH news "say \"hi\"\n" ""`,
    )
  })

  test('passwords, tokens and secret directives are hidden', () => {
    expect(commandText(['AUTH', 'admin', 'secret'])).toBe('AUTH admin (password)')
    expect(commandText(['AUTH', 'secret'])).toBe('AUTH (password)')
    expect(commandText(['acl', 'setuser', 'a', 'on', '>secret', '#secret', '&x'])).toBe(
      'acl setuser a on >(password) #(password) &x',
    )
    expect(commandText(['TOKEN', 'EXPLAIN', 'aaa.bbb.ccc', 'subscribe', 'x'])).toBe(
      'TOKEN EXPLAIN (token) subscribe x',
    )
    expect(commandText(['TOKEN', 'EXPLAIN', 'CLIENT', '7'])).toBe('TOKEN EXPLAIN CLIENT 7')
    expect(commandText(['CONFIG', 'SET', 'requirepass', 'secret', 'timeout', '5'])).toBe(
      'CONFIG SET requirepass (secret) timeout 5',
    )
  })

  test('long words and long commands are cut', () => {
    const text = commandText(['SUBSCRIBE', ...Array.from({ length: 100 }, () => 'x'.repeat(500))])
    expect(text).toContain('... (61 more)')
    expect(text.length).toBeLessThan(7_000)
  })

  test('replies look as in redis-cli, are cut, and hide password hashes', () => {
    expect(replyText([bytes('a'), 1, null, [bytes('b'), bytes('\xff')]])).toBe(
      '1) "a"\n2) (integer) 1\n3) (nil)\n4) 1) "b"\n   2) "\\xff"',
    )
    expect(replyText({ type: 'map', entries: [[bytes('a'), 1]] })).toBe('1# "a" => (integer) 1')
    expect(replyText(bytes(`user a on #${'0a'.repeat(32)} &x`))).toBe('"user a on #(hash) &x"')
    expect(replyText(bytes('x'.repeat(100_000))).length).toBeLessThan(4_100)
  })
})

describe('replies', () => {
  test('maps of RESP3 and flat arrays of RESP2 are read alike', () => {
    const flat = recordOf([bytes('a'), 1, bytes('b'), bytes('x')])
    const map = recordOf({
      type: 'map',
      entries: [
        [bytes('a'), 1],
        [bytes('b'), bytes('x')],
      ],
    })
    expect(flat).toEqual(map)
    expect(textOf(flat.get('b'))).toBe('x')
    expect(textOf(flat.get('c'))).toBe('')
  })

  test('a reply of another shape is reported as that', () => {
    expect(() => recordOf(7)).toThrow(ShapeError)
    expect(() => textOf([1])).toThrow(ShapeError)
  })

  test('names that are not text are shown with their bytes', () => {
    expect(labelOf(Buffer.from('grüße'))).toBe('grüße')
    expect(labelOf(bytes('\xff\x00a'))).toBe(String.raw`\xff\x00a`)
    expect(labelOf(bytes('a\nb'))).toBe(String.raw`a\x0ab`)
  })

  test('INFO is sections of fields', () => {
    const sections = parseInfo('# Server\r\nredis_version:8.0.6\r\n\r\n# Clients\r\na:b:c\r\n')
    expect(sections).toEqual([
      { title: 'Server', fields: [['redis_version', '8.0.6']] },
      { title: 'Clients', fields: [['a', 'b:c']] },
    ])
    expect(infoFields(sections).get('a')).toBe('b:c')
  })

  test('a line of CLIENT LIST is a connection, escapes undone', () => {
    const line =
      'id=7 addr=[::1]:5 name= age=61 idle=1 sub=2 psub=1 ssub=1 omem=10 obl=1 tot-mem=99 cmd=acl|list ' +
      String.raw`user=jwt:a\x20b resp=3 jwt-sub=a\x20b jwt-exp=1800000000 origin=https://a.example transport=websocket`
    expect(parseClient(line)).toMatchObject({
      id: '7',
      address: '[::1]:5',
      user: 'jwt:a b',
      ageSeconds: 61,
      queuedBytes: 11,
      subscriptions: 4,
      command: 'acl|list',
      protocol: 'RESP3',
      origin: 'https://a.example',
      transport: 'websocket',
      tokenSubject: 'a b',
      tokenEndsAtMs: 1_800_000_000_000,
    })
    expect(parseClient('id=8 user=default').tokenEndsAtMs).toBeUndefined()
  })

  test('TOKEN EXPLAIN: what does not apply is empty', () => {
    const explanation = parseExplanation([
      bytes('allowed'),
      1,
      bytes('user'),
      bytes('jwt:a'),
      bytes('grant'),
      bytes('user jwt:a on resetchannels -@all +ping (resetchannels &n:* -@all +subscribe)'),
      bytes('ceiling'),
      null,
    ])
    expect(explanation).toMatchObject({ allowed: true, user: 'jwt:a', ceiling: '', fix: '' })
    expect(explanation.alternatives).toEqual([
      { commands: ['-@all', '+ping'], channels: [] },
      { commands: ['-@all', '+subscribe'], channels: ['&n:*'] },
    ])
  })
})

describe('tokens and payloads', () => {
  test('header and claims of a token are read, and anything else is none', () => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    expect(tokenParts(`${part({ alg: 'HS256' })}.${part({ sub: 'ü' })}.sig`)).toEqual({
      header: { alg: 'HS256' },
      claims: { sub: 'ü' },
    })
    for (const text of [
      '',
      'a.b.c',
      'a.b',
      `${part({})}.${part({})}`,
      `${part([])}.${part({})}.x`,
    ]) {
      expect(tokenParts(text)).toBeUndefined()
    }
  })

  test('a payload is shown as text if it is text, else as hex', () => {
    expect(showPayload(bytes('a\tb\n'), 'auto')).toBe('a\tb\n')
    expect(showPayload(bytes('\xff'), 'auto')).toBe('ff')
    expect(showPayload(bytes('\x1b[2J'), 'auto')).toBe('1b 5b 32 4a')
    expect(showPayload(bytes('[1]'), 'json')).toBe('[\n  1\n]')
    expect(showPayload(bytes('no json'), 'json')).toBe('no json')
  })

  test('hex digits come in pairs', () => {
    expect(parseHex('00 fF\n7')).toBeUndefined()
    expect(parseHex('00 fF\n7a')).toEqual(Uint8Array.of(0, 255, 122))
    expect(parseHex('')).toEqual(new Uint8Array())
    expect(parseHex('0x')).toBeUndefined()
  })

  test('quotes keep the words of a command together', () => {
    expect(splitWords(`publish "a b" '' c"d`)).toEqual(['publish', 'a b', '', 'c"d'])
  })
})

describe('revocations', () => {
  test('options that a kind does not take are left out', () => {
    const form = {
      ...EMPTY_FORM,
      target: 'x',
      from: 'partner',
      forKind: 'SUB',
      forName: 'ada',
      only: 'PUBLISH',
      hard: true,
      lasts: 'persist',
      reason: 'a reason',
    } as const
    expect(revokeCommand({ ...form, kind: 'JTI' }, false).join(' ')).toBe(
      'TOKEN REVOKE JTI x FROM partner PERSIST REASON a reason',
    )
    expect(revokeCommand({ ...form, kind: 'CHANNEL' }, true).join(' ')).toBe(
      'TOKEN REVOKE CHANNEL x FOR SUB ada FROM partner ONLY PUBLISH PERSIST REASON a reason DRYRUN',
    )
    expect(revokeCommand({ ...form, kind: 'ALL' }, false).join(' ')).toBe(
      'TOKEN REVOKE ALL HARD PERSIST REASON a reason',
    )
  })

  test('a time becomes milliseconds since 1970', () => {
    const before = '2030-01-31T08:05:00'
    expect(revokeCommand({ ...EMPTY_FORM, target: 'a', before }, false)).toEqual([
      'TOKEN',
      'REVOKE',
      'SUB',
      'a',
      'BEFORE',
      String(new Date(2030, 0, 31, 8, 5).getTime()),
    ])
  })
})

describe('the history of figures', () => {
  const fields = (published: number): ReadonlyMap<string, string> =>
    new Map([
      ['pubsub_messages_published', String(published)],
      ['connected_clients', '3'],
    ])

  test('counters become rates, and other figures stay as they are', () => {
    const history = new History()
    history.add(100, fields(10), 0.5)
    history.add(102, fields(30), 0.7)
    expect(history.latest).toMatchObject({ published: 10, clients: 3, pingMs: 0.7 })
    expect(history.line('published')).toEqual([null, 10])
    expect(history.latest?.delivered).toBeUndefined()
  })

  test('a counter that went back, or a long pause, leaves a gap', () => {
    const history = new History()
    history.add(100, fields(10), undefined)
    history.add(101, fields(5), undefined)
    history.add(150, fields(500), undefined)
    history.add(151, fields(501), undefined)
    expect(history.line('published')).toEqual([null, null, null, 1])
  })

  test('a quarter of an hour is kept', () => {
    const history = new History()
    for (let at = 0; at <= 1000; at++) history.add(at, fields(at), 1)
    expect(history.samples).toHaveLength(MAX_SAMPLES)
    expect(history.latest?.at).toBe(1000)
  })
})

describe('tables', () => {
  test('only rows in sight, and a few around them, are rendered', () => {
    expect(windowOf(10_000, 0, 400, 40)).toEqual({ from: 0, to: 20 })
    expect(windowOf(10_000, 40_000, 400, 40)).toEqual({ from: 990, to: 1020 })
    expect(windowOf(10_000, 400_000, 400, 40)).toEqual({ from: 9_990, to: 10_000 })
    expect(windowOf(5, 4_000, 400, 40)).toEqual({ from: 5, to: 5 })
    expect(windowOf(0, 0, 400, 40)).toEqual({ from: 0, to: 0 })
  })

  test('keys move within the table', () => {
    expect(nextRow('ArrowDown', -1, 3, 10)).toBe(0)
    expect(nextRow('ArrowDown', 2, 3, 10)).toBe(2)
    expect(nextRow('PageUp', 2, 3, 10)).toBe(0)
    expect(nextRow('End', 0, 3, 10)).toBe(2)
    expect(nextRow('Home', 2, 3, 10)).toBe(0)
    expect(nextRow('constructor', 0, 3, 10)).toBeUndefined()
    expect(nextRow('End', -1, 0, 10)).toBeUndefined()
  })

  test('numbers are sorted as numbers, and equals stay in their order', () => {
    const rows = [
      { id: 'a', size: 10 },
      { id: 'b', size: 9 },
      { id: 'c', size: 10 },
    ]
    const order = (descending: boolean): string =>
      sortRows(rows, (row) => row.size, { key: 'size', descending })
        .map(({ id }) => id)
        .join('')
    expect(order(false)).toBe('bac')
    expect(order(true)).toBe('acb')
  })
})
