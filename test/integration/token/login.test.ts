import { describe, expect, test } from 'vitest'
import { push } from '../../support/resp-client.ts'
import { NO_AUTH, opener, receiversOf } from '../../support/opened.ts'

const open = opener()

describe('a login over WebSocket', () => {
  test("takes a password on the administrators' listener and not on the public one, and never nopass", async () => {
    const server = await open.server()
    const rules = ['ACL', 'SETUSER', 'ops', 'on', '>pw', '+@all', '&*']
    await (await open.tcp(server)).assertReply(rules, '+OK\r\n')
    const visitor = await open.webSocket(server)
    visitor.command('AUTH', 'ops', 'pw')
    expect(await visitor.takeLine()).toMatch(/^-WRONGPASS /)
    await visitor.assertReply(['PING'], NO_AUTH)
    const client = await open.adminSocket(server)
    client.command('AUTH', 'default', '')
    expect(await client.takeLine()).toMatch(/^-WRONGPASS /)
    await client.assertReply(['AUTH', 'ops', 'pw'], '+OK\r\n')
    await client.assertReply(['ACL', 'WHOAMI'], '$3\r\nops\r\n')
    await client.assertReply(['RESET'], '+RESET\r\n')
    await client.assertReply(['ACL', 'WHOAMI'], NO_AUTH)
  })
})

describe('a token session in lists', () => {
  test('shows its claims after the fields of Redis, backslashes escaped', async () => {
    const server = await open.server()
    const token = await server.mint('42', {}, { jti: 'a=b\\c' })
    const client = await open.webSocket(server, { token, origin: server.url })
    await client.takeAccepted('jwt:42')
    const line = await client.askBulk('CLIENT', 'INFO')
    expect(line).toMatch(/ user=jwt:42 redir=-1 resp=3 /)
    expect(line).toContain(' jwt-sub=42 jwt-iss=https://issuer.test jwt-jti=a=b\\x5cc jwt-exp=')
    expect(line).toMatch(new RegExp(` origin=${server.url} transport=websocket\n$`))
  })
})

describe('a new token on a live connection', () => {
  test('keeps the subscriptions it allows and ends the others before +OK, without a close', async () => {
    const [server, client] = await open.withSession({ channels: ['a', 'b', 'p*'] })
    await client.subscribe('a', 1)
    await client.subscribe('b', 2)
    await client.assertReply(['PSUBSCRIBE', 'p*'], push(3, 'psubscribe', 'p*', 3))
    await client.assertReply(['SSUBSCRIBE', 'b'], push(3, 'ssubscribe', 'b', 1))
    client.command('AUTH', 'jwt', await server.mint('42', { channels: ['a'] }))
    client.command('PING')
    const lost = await client.takeUntil('+PONG\r\n')
    const [pushes = '', behind = ''] = lost.split('+OK\r\n')
    expect(pushes.match(/unsubscribe\r\n/g)).toHaveLength(3)
    expect(pushes).toContain('$11\r\nunsubscribe\r\n$1\r\nb\r\n')
    expect(pushes).toContain('$12\r\npunsubscribe\r\n$2\r\np*\r\n')
    expect(pushes).toContain('$12\r\nsunsubscribe\r\n$1\r\nb\r\n')
    expect(behind).toMatch(
      /^>4\r\n\$5\r\ntoken\r\n\$6\r\nlimits\r\n:\d+\r\n:\d+\r\n>4\r\n\$5\r\ntoken\r\n\$8\r\naccepted\r\n/,
    )
    expect(await receiversOf(open, server, 'a')).toBe(1)
    await client.takeExactly(push(3, 'message', 'a', 'm'))
    for (const channel of ['b', 'px']) expect(await receiversOf(open, server, channel)).toBe(0)
    await client.assertPong()
  })
})

describe('the claim deny', () => {
  test('does not touch others with the same pattern', async () => {
    const [server, denied] = await open.withSession({ channels: ['*'], deny: ['x'] })
    const free = await open.session(server, '43', { channels: ['*'] })
    for (const client of [denied, free]) {
      await client.assertReply(['PSUBSCRIBE', '*'], push(3, 'psubscribe', '*', 1))
    }
    expect(await receiversOf(open, server, 'x')).toBe(1)
    await free.takeExactly(push(3, 'pmessage', '*', 'x', 'm'))
    await denied.assertPong()
  })
})
