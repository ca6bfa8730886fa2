import { describe, expect, test } from 'vitest'
import { push, type RawClient } from '../../support/resp-client.ts'
import type { TestGateway } from '../../support/server.ts'
import { ask, type PlainMap } from '../../support/ask.ts'
import { DEFAULT_USER, GRANTED, opener } from '../../support/opened.ts'

const open = opener()

const USERS = [
  DEFAULT_USER,
  [
    'role:member',
    'off',
    'resetchannels',
    '(+subscribe',
    '+psubscribe',
    '&news:*',
    '&user:{sub}:*)',
  ],
]

async function started(): Promise<{ server: TestGateway; admin: RawClient }> {
  const server = await open.server({ directives: { user: USERS } })
  return { server, admin: await open.tcp(server, 3) }
}

async function idOf(client: RawClient): Promise<string> {
  return JSON.stringify(await ask(client, 'CLIENT', 'ID'))
}

describe('TOKEN EXPLAIN', () => {
  test('of a token answers a map with every field, null where it does not apply', async () => {
    const { server, admin } = await started()
    const token = await server.mint('42', { roles: ['member'] })
    const explanation = await ask(admin, 'TOKEN', 'EXPLAIN', token, 'SUBSCRIBE', 'user:42:x')
    expect(Object.entries(explanation as PlainMap)).toEqual([
      ['allowed', 1],
      ['user', 'jwt:42'],
      ['issuer', 'default'],
      [
        'grant',
        expect.stringMatching(
          /^user jwt:42 on .* \(resetchannels &news:\* &user:42:\* -@all \+subscribe \+psubscribe\)$/,
        ),
      ],
      ['role', 'member'],
      ['rule', '&user:42:*'],
      ['source', 'role'],
      ['ceiling', null],
      ['revocation', null],
      ['fix', null],
      ['kid', null],
      ['key', expect.stringMatching(/^[\w-]{43}$/)],
    ])
  })

  test('is a flat array in RESP2', async () => {
    const { server } = await started()
    const client = await open.tcp(server, 2)
    const reply = await ask(client, 'TOKEN', 'EXPLAIN', 'no-token')
    expect(reply).toHaveLength(24)
    expect((reply as unknown[]).slice(0, 4)).toEqual(['allowed', 0, 'user', null])
  })

  test('logs nobody in, counts nothing and leaves nothing in ACL LOG', async () => {
    const { server, admin } = await started()
    await ask(admin, 'TOKEN', 'EXPLAIN', await server.mint('42'))
    await ask(admin, 'TOKEN', 'EXPLAIN', 'a.b.c')
    expect(server.core.tokens.size).toBe(0)
    expect(server.core.counters.tokensAccepted).toBe(0)
    expect(server.core.counters.tokensRefused).toBe(0)
    expect(await ask(admin, 'ACL', 'LOG')).toEqual([])
    expect(await ask(admin, 'ACL', 'WHOAMI')).toBe('default')
  })

  test('of a token holds what follows it back until it is answered', async () => {
    const { server, admin } = await started()
    const token = await server.mint('42')
    admin.command('TOKEN', 'EXPLAIN', token)
    admin.command('PING')
    expect(await admin.takeUntil('+PONG\r\n')).toMatch(/^%12\r\n\$7\r\nallowed\r\n:1\r\n/)
  })

  test('of a live session knows what it is bounded and denied by now', async () => {
    const { server, admin } = await started()
    const client = await open.session(server, '42', { roles: ['member'], deny: ['news:secret'] })
    const id = await idOf(client)
    const explain = (...line: string[]) =>
      ask(admin, 'TOKEN', 'EXPLAIN', 'client', id, ...line) as Promise<PlainMap>
    expect(await explain()).toMatchObject({ allowed: 1, role: 'member', user: 'jwt:42' })
    expect(await explain('subscribe', 'news:1')).toMatchObject({ allowed: 1, rule: '&news:*' })
    expect(await explain('subscribe', 'news:secret')).toMatchObject({
      allowed: 0,
      rule: 'deny news:secret',
      source: 'claim',
    })
    await admin.assertReply(['ACL', 'SETUSER', 'jwt:42', 'resetchannels', '&news:1'], '+OK\r\n')
    expect(await explain('subscribe', 'news:2')).toMatchObject({
      allowed: 0,
      ceiling: 'jwt:42',
      fix: 'ACL SETUSER jwt:42 &news:2',
    })
    await admin.assertReply(['ACL', 'SETUSER', 'jwt:42', '&news:2'], '+OK\r\n')
    expect(await explain('subscribe', 'news:2')).toMatchObject({ allowed: 1, ceiling: 'jwt:42' })
  })

  test('names the revocation of a channel, and what lifts it', async () => {
    const { server, admin } = await started()
    const client = await open.session(server, '42', { roles: ['member'] })
    const id = await idOf(client)
    await ask(admin, 'TOKEN', 'REVOKE', 'CHANNEL', 'news:*', 'TTL', '60')
    const explanation = await ask(admin, 'TOKEN', 'EXPLAIN', 'CLIENT', id, 'SUBSCRIBE', 'news:1')
    expect(explanation).toMatchObject({ allowed: 0, revocation: '1 CHANNEL news:*' })
    expect(await ask(client, 'TOKEN', 'WHY', 'subscribe', 'news:1')).toBe('deny')
    await admin.assertReply(['TOKEN', 'UNREVOKE', '1'], '+OK\r\n')
    await client.takeExactly(GRANTED)
    expect(await ask(client, 'TOKEN', 'WHY', 'subscribe', 'news:1')).toBe('ok')
  })

  test('the fix, carried out as it stands, fixes it', async () => {
    const { server, admin } = await started()
    const client = await open.session(server, '42', { roles: ['member'] })
    const line = ['SUBSCRIBE', 'a*b', '[x]']
    const { fix } = (await ask(
      admin,
      'TOKEN',
      'EXPLAIN',
      'CLIENT',
      await idOf(client),
      ...line,
    )) as {
      fix: string
    }
    await admin.assertReply(fix.split(' '), '+OK\r\n')
    await client.takeExactly(GRANTED)
    client.command(...line)
    await client.takeExactly(push(3, 'subscribe', 'a*b', 1))
  })

  test.each([
    [['TOKEN', 'EXPLAIN'], "-ERR wrong number of arguments for 'token|explain' command"],
    [
      ['TOKEN', 'EXPLAIN', 'CLIENT'],
      "-ERR unknown subcommand or wrong number of arguments for 'EXPLAIN'. Try TOKEN HELP.",
    ],
    [['TOKEN', 'EXPLAIN', 'CLIENT', 'x'], '-ERR Invalid client ID'],
    [['TOKEN', 'EXPLAIN', 'CLIENT', '999999'], '-ERR No such client ID'],
    [['TOKEN', 'EXPLAIN', 'CLIENT', '1'], '-ERR The client is not logged in with a token'],
    [['TOKEN', 'EXPLAIN', 'a.b.c', 'NOSUCH', 'x'], "-ERR Command 'NOSUCH' not found"],
    [
      ['TOKEN', 'EXPLAIN', 'a.b.c', 'SUBSCRIBE'],
      "-ERR wrong number of arguments for 'subscribe' command",
    ],
    [['TOKEN', 'WHY', 'SUBSCRIBE'], "-ERR wrong number of arguments for 'token|why' command"],
    [['TOKEN', 'WHY', 'NOSUCH', 'x'], "-ERR Command 'NOSUCH' not found"],
  ])('%j is answered %j', async (command, error) => {
    const { admin } = await started()
    expect(await ask(admin, ...command)).toBe(error)
  })

  test('of a token does not run inside MULTI, of a client it does', async () => {
    const { server, admin } = await started()
    const client = await open.session(server, '42', {})
    const id = await idOf(client)
    await admin.assertReply(['MULTI'], '+OK\r\n')
    await admin.assertReply(['TOKEN', 'EXPLAIN', 'CLIENT', id], '+QUEUED\r\n')
    expect(await ask(admin, 'EXEC')).toMatchObject([{ allowed: 1, user: 'jwt:42' }])
    await admin.assertReply(['MULTI'], '+OK\r\n')
    expect(await ask(admin, 'TOKEN', 'EXPLAIN', 'a.b.c')).toBe(
      '-ERR EXPLAIN of a token is not allowed inside MULTI',
    )
  })

  test('is for administrators: neither a token session nor a user without @admin may ask', async () => {
    const { server, admin } = await started()
    await admin.assertReply(['ACL', 'SETUSER', 'plain', 'on', '>p', '+@all', '-@admin'], '+OK\r\n')
    const plain = await open.tcp(server, 3)
    await plain.assertReply(['AUTH', 'plain', 'p'], '+OK\r\n')
    const session = await open.session(server, '42', { channels: ['*'] })
    for (const client of [plain, session]) {
      for (const command of [
        ['TOKEN', 'EXPLAIN', 'x'],
        ['RESPCAST', 'PATTERNS'],
        ['RESPCAST', 'CHECK', 'on'],
      ]) {
        expect(await ask(client, ...command)).toMatch(/^-NOPERM /)
      }
    }
    expect(await ask(plain, 'TOKEN', 'WHY', 'publish', 'x')).toBe('channel')
  })

  test('no token shows in MONITOR or SLOWLOG', async () => {
    const { server, admin } = await started()
    await admin.assertReply(['CONFIG', 'SET', 'slowlog-log-slower-than', '0'], '+OK\r\n')
    const watcher = await open.tcp(server, 3)
    await watcher.assertReply(['MONITOR'], '+OK\r\n')
    const token = await server.mint('42')
    await ask(admin, 'TOKEN', 'EXPLAIN', token)
    const slow = JSON.stringify(await ask(admin, 'SLOWLOG', 'GET'))
    await ask(admin, 'ECHO', 'last')
    const seen = await watcher.takeUntil('"ECHO" "last"\r\n')
    expect(slow).toContain('"TOKEN","EXPLAIN","(redacted)"')
    for (const part of token.split('.')) {
      expect(seen).not.toContain(part)
      expect(slow).not.toContain(part)
    }
  })
})

describe('TOKEN WHY', () => {
  test('answers a session one word about itself, on every transport', async () => {
    const { server, admin } = await started()
    await admin.assertReply(
      ['ACL', 'SETUSER', 'jwt:42', 'resetchannels', '&news:*', '&x'],
      '+OK\r\n',
    )
    const grants = { roles: ['member'], publish: ['x'], deny: ['news:secret'] }
    const webSocket = await open.session(server, '42', grants)
    const tcp = await open.tcp(server, 2)
    await tcp.assertReply(['AUTH', 'jwt', await server.mint('42', grants)], '+OK\r\n')
    for (const client of [webSocket, tcp]) {
      const why = (...words: string[]) => ask(client, 'TOKEN', 'WHY', ...words)
      expect(await why('subscribe', 'news:1')).toBe('ok')
      expect(await why('SUBSCRIBE', 'news:secret')).toBe('deny')
      expect(await why('subscribe', 'user:42:x')).toBe('ceiling')
      expect(await why('psubscribe', 'news:s*')).toBe('channel')
      expect(await why('publish', 'x')).toBe('ok')
      expect(await why('ssubscribe', 'x')).toBe('command')
      expect(await why('client|kill', 'x')).toBe('command')
    }
  })
})

describe('RESPCAST', () => {
  test('AUDIT lists who revoked what, newest first, as many as asked for and no older ones', async () => {
    const { server, admin } = await started()
    expect(await ask(admin, 'RESPCAST', 'AUDIT')).toEqual([])
    await open.session(server, '42', {})
    await ask(admin, 'TOKEN', 'REVOKE', 'SUB', '42', 'REASON', 'left')
    await ask(admin, 'TOKEN', 'REVOKE', 'JTI', 'j1')
    expect(await ask(admin, 'RESPCAST', 'AUDIT')).toMatchObject([
      { action: 'revoke', kind: 'jti', target: 'j1', hit: 0 },
      {
        action: 'revoke',
        kind: 'sub',
        target: '42',
        reason: 'left',
        by: 'default',
        hit: 1,
        durable: 1,
      },
    ])
    expect(await ask(admin, 'RESPCAST', 'AUDIT', 'COUNT', '1')).toMatchObject([{ target: 'j1' }])
    const later = String(Date.now() + 60_000)
    expect(await ask(admin, 'RESPCAST', 'AUDIT', 'COUNT', '5', 'SINCE', later)).toEqual([])
    for (const words of [['COUNT'], ['NOSUCH', '1']]) {
      expect(await ask(admin, 'RESPCAST', 'AUDIT', ...words)).toBe('-ERR syntax error')
    }
    for (const words of [
      ['COUNT', '0'],
      ['SINCE', '-1'],
      ['COUNT', 'x'],
    ]) {
      expect(await ask(admin, 'RESPCAST', 'AUDIT', ...words)).toMatch(
        /^-ERR value is not an integer/,
      )
    }
  })

  test('CHECK tries the rules of a role, warns of what is odd, and changes nothing', async () => {
    const { server, admin } = await started()
    const users = server.core.users.names()
    expect(await ask(admin, 'RESPCAST', 'CHECK', '(+subscribe', '&news:{sub})')).toEqual({
      rules: 'off resetchannels -@all (resetchannels &news:{sub} -@all +subscribe)',
      warnings: [],
    })
    const odd = await ask(
      admin,
      'RESPCAST',
      'CHECK',
      'resetchannels',
      '+config',
      '&{sub}:x',
      '+publish',
    )
    expect(odd).toMatchObject({
      warnings: [
        'the root permissions: has commands that tokens cannot hold; they are ignored',
        'the root permissions: &{sub}:x begins with a placeholder, so that a token chooses the name space',
      ],
    })
    expect(await ask(admin, 'RESPCAST', 'CHECK', 'allchannels', '+@pubsub')).toMatchObject({
      warnings: expect.arrayContaining(['the root permissions: every channel']) as unknown,
    })
    expect(await ask(admin, 'RESPCAST', 'CHECK', 'on')).toMatchObject({
      warnings: [
        'grants nothing to tokens: none of subscribe, psubscribe, ssubscribe, publish, spublish is allowed',
      ],
    })
    expect(await ask(admin, 'RESPCAST', 'CHECK', '&a:{nosuch}')).toMatch(
      /^-ERR Error in ACL SETUSER modifier '&a:\{nosuch\}': unknown placeholder/,
    )
    expect(await ask(admin, 'RESPCAST', 'CHECK', '>password')).toMatch(/^-ERR Error in ACL SETUSER/)
    expect(server.core.users.names()).toEqual(users)
  })

  test('HELP names every subcommand; COMMAND DOCS has all of them', async () => {
    const { admin } = await started()
    const help = (await ask(admin, 'RESPCAST', 'HELP')) as string[]
    for (const name of ['AUDIT', 'CHECK', 'PATTERNS', 'SUBSCRIPTIONS', 'HELP']) {
      expect(
        help.some((line) => line.startsWith(name)),
        name,
      ).toBe(true)
    }
    const docs = JSON.stringify(await ask(admin, 'COMMAND', 'DOCS', 'respcast', 'token'))
    for (const name of ['respcast|check', 'token|explain', 'token|why'])
      expect(docs).toContain(name)
  })
})
