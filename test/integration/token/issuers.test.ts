import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../../server/config/load.ts'
import { ask } from '../../support/ask.ts'
import { push } from '../../support/resp-client.ts'
import { DEFAULT_USER, GRANTED, NO_CHANNEL, opener } from '../../support/opened.ts'
import {
  fromShop,
  ISSUER_GONE,
  joined,
  SHOP,
  SHOP_SECRET,
  shopLines,
  shopServer,
  shopSession,
} from '../../support/shop.ts'
import { folderWith } from '../../support/folder.ts'

const open = opener()

describe('two issuers on one server', () => {
  test('have users of their own with the same subject, and neither takes over the session of the other', async () => {
    const { server } = await shopServer(open)
    const own = await open.session(server, '42', { channels: ['a'] })
    const other = await shopSession(open, server, '42', { channels: ['a'] })
    expect(await ask(own, 'ACL', 'WHOAMI')).toBe('jwt:42')
    expect(await ask(other, 'ACL', 'WHOAMI')).toBe('jwt@shop:42')
    await own.subscribe('a')
    await own.assertReply(
      ['AUTH', 'jwt', await fromShop('42', { channels: ['a'] })],
      '-ERR AUTH with a token of another subject is not allowed while there are subscriptions\r\n',
    )
    await own.assertPong()
  })

  test('a subject that spells the name of another issuer is a name of its own', async () => {
    const { server, admin } = await shopServer(open)
    const sly = await open.session(server, '@shop:42', { channels: ['a'] })
    expect(await ask(sly, 'ACL', 'WHOAMI')).toBe('jwt:@shop:42')
    await admin.assertReply(['ACL', 'SETUSER', 'jwt@shop:42', 'resetchannels'], '+OK\r\n')
    await sly.subscribe('a')
  })

  test('CLIENT LIST and the filters of CLIENT KILL tell them apart', async () => {
    const { server, admin } = await shopServer(open)
    const own = await open.session(server, '42', {})
    const other = await shopSession(open, server, '42', {})
    expect(await ask(admin, 'CLIENT', 'KILL', 'JWT-ISS', SHOP)).toBe(1)
    await other.closed
    await own.assertPong()
  })
})

describe('the bounds of an issuer', () => {
  const ROLE = ['role:member', 'off', 'resetchannels', '+subscribe', '&members']

  test('a role that it may not name grants nothing, and one that it may name all it has', async () => {
    const { server, admin, folder } = await shopServer(open, [], [ROLE])
    const client = await shopSession(open, server, '1', { roles: ['member'], channels: ['a'] })
    await client.assertReply(['SUBSCRIBE', 'members'], NO_CHANNEL)
    await client.subscribe('a')
    const lines = shopLines(folder, ['shop', 'roles', 'mem*', 'guest'])
    await admin.assertReply(['CONFIG', 'SET', 'issuer', joined(lines)], '+OK\r\n')
    await client.takeExactly(GRANTED)
    await client.subscribe('members', 2)
  })

  test('taking a role away closes the sessions that hold something by it, and no other', async () => {
    const { server, admin, folder } = await shopServer(open, [['shop', 'roles', 'member']], [ROLE])
    const holds = await shopSession(open, server, '1', { roles: ['member'] })
    const idle = await shopSession(open, server, '2', { roles: ['member'] })
    await holds.subscribe('members')
    await admin.assertReply(['CONFIG', 'SET', 'issuer', joined(shopLines(folder))], '+OK\r\n')
    await holds.takeExactly(push(3, 'token', 'revoked', 'members', 'permissions changed'))
    expect(await holds.closed).toMatchObject({
      code: 4403,
      reason: expect.stringMatching(/^permissions-changed/) as unknown,
    })
    await idle.assertReply(
      ['SUBSCRIBE', 'members'],
      "-NOPERM User jwt@shop:2 has no permissions to run the 'subscribe' command\r\n",
    )
  })

  test('its ceiling bounds all its sessions, and an edit is felt by them before the editor reads +OK', async () => {
    const ceiling = ['partners', 'on', '+@all', 'resetchannels', '&shop:*']
    const { server, admin } = await shopServer(open, [['shop', 'ceiling', 'partners']], [ceiling])
    const client = await shopSession(open, server, '1', { channels: ['*'] })
    const own = await open.session(server, '1', { channels: ['*'] })
    await client.assertReply(['SUBSCRIBE', 'room'], NO_CHANNEL)
    await client.subscribe('shop:1')
    await own.subscribe('shop:1')
    await admin.assertReply(['ACL', 'SETUSER', 'partners', 'resetchannels', '&shop:2'], '+OK\r\n')
    expect(await ask(admin, 'PUBLISH', 'shop:1', 'm')).toBe(1)
    await client.takeExactly(push(3, 'token', 'revoked', 'shop:1', 'permissions changed'))
    expect(await client.closed).toMatchObject({ code: 4403 })
    await own.takeExactly(push(3, 'message', 'shop:1', 'm'))
  })

  test('a ceiling that is off lets nobody in, and one that is deleted cuts who is there', async () => {
    const ceiling = ['partners', 'on', '+@all', 'allchannels']
    const { server, admin } = await shopServer(open, [['shop', 'ceiling', 'partners']], [ceiling])
    const client = await shopSession(open, server, '1', {})
    await admin.assertReply(['ACL', 'SETUSER', 'partners', 'off'], '+OK\r\n')
    const late = await open.webSocket(server, { token: await fromShop('2', {}) })
    expect(await late.closed).toMatchObject({
      code: 4403,
      reason: expect.stringMatching(/^forbidden/) as unknown,
    })
    await client.assertPong()
    await admin.assertReply(['ACL', 'DELUSER', 'partners'], ':1\r\n')
    expect(await client.closed).toMatchObject({ code: 4403 })
    const later = await open.webSocket(server, { token: await fromShop('2', {}) })
    expect(await later.closed).toMatchObject({
      code: 4403,
      reason: expect.stringMatching(/^forbidden/) as unknown,
    })
  })

  test('a ceiling that nobody made keeps the server from starting', async () => {
    await expect(shopServer(open, [['shop', 'ceiling', 'nobody']])).rejects.toThrow(
      "issuer shop ceiling: there is no ACL user 'nobody'. Make it first.",
    )
  })
})

describe('CONFIG SET of issuers', () => {
  test('lets a new issuer in, and takes it away with its sessions', async () => {
    const folder = folderWith({ secret: SHOP_SECRET })
    const [server, admin] = await open.withTcp({ directives: { user: [DEFAULT_USER] } }, 3)
    const token = await fromShop('1', { channels: ['a'] })
    const tcp = await open.tcp(server, 3)
    await tcp.assertReply(['AUTH', 'jwt', token], '-WRONGPASS invalid token\r\n')
    await admin.assertReply(['CONFIG', 'SET', 'issuer', joined(shopLines(folder))], '+OK\r\n')
    await tcp.assertReply(['AUTH', 'jwt', token], '+OK\r\n')
    const webSocket = await shopSession(open, server, '1', { channels: ['a'] })
    const own = await open.session(server, '1', { channels: ['a'] })
    await webSocket.subscribe('a')
    await admin.assertReply(['CONFIG', 'SET', 'issuer', ''], '+OK\r\n')
    expect(await ask(admin, 'PUBLISH', 'a', 'm')).toBe(0)
    await webSocket.takeExactly(
      push(3, 'token', 'revoked', '', 'the issuer of the token was changed'),
    )
    expect(await webSocket.closed).toEqual(ISSUER_GONE)
    await tcp.closed
    await own.assertPong()
    const again = await open.webSocket(server, { token })
    expect(await again.closed).toMatchObject({ code: 4401 })
  })

  test.each([
    [
      'an issuer without keys',
      'x issuer https://x.test\nx audience a',
      'issuer x *: no key source is set. Set one of issuer x jwks-url, issuer x jwks-file, ' +
        'issuer x public-key-file, issuer x secret-file, issuer x secret.',
    ],
    [
      'a key file that is missing',
      'x issuer https://x.test\nx audience a\nx secret-file /nonexistent/key',
      "issuer x secret-file /nonexistent/key: cannot be read: ENOENT: no such file or directory, stat '/nonexistent/key'. Name a file that the server may read.",
    ],
    [
      'the iss of another issuer',
      'x issuer https://issuer.test\nx audience a\nx secret-file /nonexistent/key',
      "issuer x issuer is the same as jwt-issuer: 'https://issuer.test'",
    ],
    [
      'a key set over plain http',
      'x issuer https://x.test\nx audience a\nx algorithms ES256\nx jwks-url http://x.test/keys',
      'issuer x jwks-url must be https: whoever is on the way could put their own keys in (http only for loopback)',
    ],
    ['an alias with a colon', 'a:b issuer x', 'an issuer alias is 1 to 32 of a-z, 0-9 and -'],
    [
      'the name of the default issuer',
      'default issuer x',
      "the issuer 'default' is that of the jwt- directives",
    ],
    [
      'a ceiling that is no user',
      'x issuer https://x.test\nx audience a\nx ceiling nobody\nx jwks-url https://x.test/k\nx algorithms ES256',
      "issuer x ceiling: there is no ACL user 'nobody'. Make it first.",
    ],
  ])('is refused with its reason and changes nothing: %s', async (_name, lines, reason) => {
    const { server, admin } = await shopServer(open)
    const client = await shopSession(open, server, '1', {})
    const before = await ask(admin, 'CONFIG', 'GET', 'issuer')
    expect(await ask(admin, 'CONFIG', 'SET', 'issuer', lines)).toBe(
      `-ERR CONFIG SET failed (possibly related to argument 'issuer') - ${reason}`,
    )
    expect(await ask(admin, 'CONFIG', 'GET', 'issuer')).toEqual(before)
    await client.assertPong()
    await shopSession(open, server, '2', {})
  })

  test('is refused together with what is bad beside it', async () => {
    const { server, admin } = await shopServer(open)
    const client = await shopSession(open, server, '1', {})
    const reply = await ask(admin, 'CONFIG', 'SET', 'issuer', '', 'jwt-leeway', '9999')
    expect(reply).toBe(
      "-ERR CONFIG SET failed (possibly related to argument 'issuer') - jwt-leeway must be 0 to 300 seconds",
    )
    await client.assertPong()
  })

  test('of other directives does not read key files again', async () => {
    const { admin, folder } = await shopServer(open)
    rmSync(join(folder, 'secret'))
    await admin.assertReply(['CONFIG', 'SET', 'timeout', '7'], '+OK\r\n')
    expect(await ask(admin, 'CONFIG', 'SET', 'jwt-leeway', '7')).toMatch(/secret: cannot be read/)
  })

  test('rotates a secret: with the old one named sessions stay, without it they are cut', async () => {
    const { server, admin, folder } = await shopServer(open)
    const client = await shopSession(open, server, '1', {})
    const [newer, newest] = ['n', 'x'].map((letter) => letter.repeat(32)) as [string, string]
    writeFileSync(join(folder, 'old'), SHOP_SECRET)
    writeFileSync(join(folder, 'secret'), newer)
    const until = String(Math.floor(Date.now() / 1000) + 600)
    const rotating = shopLines(
      folder,
      ['shop', 'previous-secret-file', join(folder, 'old')],
      ['shop', 'previous-secret-until', until],
    )
    await admin.assertReply(['CONFIG', 'SET', 'issuer', joined(rotating)], '+OK\r\n')
    await client.assertPong()
    await shopSession(open, server, '2', {})
    const fresh = await open.webSocket(server, { token: await fromShop('3', {}, newer) })
    await fresh.takeAccepted('jwt@shop:3')
    writeFileSync(join(folder, 'secret'), newest)
    await admin.assertReply(['CONFIG', 'SET', 'issuer', joined(shopLines(folder))], '+OK\r\n')
    expect(await client.closed).toEqual(ISSUER_GONE)
    expect(await fresh.closed).toEqual(ISSUER_GONE)
  })
})

describe('a configuration that is read again', () => {
  test('puts issuers of the file in force and takes those away that are gone, in one step', async () => {
    const folder = folderWith({ secret: SHOP_SECRET })
    const server = await open.server({ issuer: false, directives: { user: [DEFAULT_USER] } })
    const file = join(folder, 'respcast.conf')
    const base = `bind 127.0.0.1\nhttp-bind 127.0.0.1\nadmin-bind 127.0.0.1\ndir ${server.dir}\nport 0\nhttp-port 0\nadmin-port 0\nuser ${DEFAULT_USER.join(' ')}\n`
    const lines = shopLines(folder).map((words) => `issuer ${words.join(' ')}\n`)
    const { config } = server.core
    const reload = (text: string) => {
      writeFileSync(file, base + text)
      return config.reload(loadConfig({ argv: [file], env: {}, cwd: folder }))
    }
    expect(reload(lines.join(''))).toEqual({ changed: ['issuer'], atNextStart: [] })
    const client = await shopSession(open, server, '1', {})
    expect(reload('issuer shop audience shop\n')).toMatch(/^issuer: issuer shop \*: no key source/)
    await client.assertPong()
    writeFileSync(join(folder, 'secret'), 'x'.repeat(32))
    expect(reload(lines.join('')), 'the same lines name a file that has changed').toEqual({
      changed: ['issuer'],
      atNextStart: [],
    })
    expect(await client.closed).toEqual(ISSUER_GONE)
    expect(reload('port 7000\n')).toEqual({ changed: ['issuer'], atNextStart: ['port'] })
    const gone = await open.webSocket(server, { token: await fromShop('1', {}, 'x'.repeat(32)) })
    expect(await gone.closed).toMatchObject({ code: 4401 })
  })
})
