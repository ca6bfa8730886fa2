import { describe, expect, test } from 'vitest'
import { encodeCommand, push, type RawClient } from '../../support/resp-client.ts'
import type { TestGateway } from '../../support/server.ts'
import { DEFAULT_USER, eventually, opener } from '../../support/opened.ts'

const open = opener()

/** The command, then 999 messages, in one write. */
function withFollowers(...first: string[]): Buffer {
  const publish = encodeCommand('PUBLISH', 'w', 'late')
  return Buffer.concat([encodeCommand(...first), ...Array<Buffer>(999).fill(publish)])
}

async function start(): Promise<{ server: TestGateway; admin: RawClient; witness: RawClient }> {
  const [server, admin] = await open.withTcp({}, 3)
  await admin.assertReply(['ACL', 'SETUSER', 'u', 'on', '>pw', '~*', '&*', '+@all'], '+OK\r\n')
  const witness = await open.tcp(server, 3)
  await witness.subscribe('w')
  return { server, admin, witness }
}

/** A client that is the ACL user `u`, over TCP or over the administrators' WebSocket. */
async function loggedIn(server: TestGateway, transport: 'TCP' | 'WebSocket'): Promise<RawClient> {
  if (transport === 'TCP') {
    const client = await open.tcp(server, 3)
    await client.assertReply(['AUTH', 'u', 'pw'], '+OK\r\n')
    return client
  }
  const client = await open.adminSocket(server)
  await client.assertReply(['AUTH', 'u', 'pw'], '+OK\r\n')
  return client
}

async function idOf(client: RawClient): Promise<string> {
  client.command('CLIENT', 'ID')
  return (await client.takeLine()).slice(1)
}

describe.each(['TCP', 'WebSocket'] as const)(
  'of 1000 commands in one write over %s',
  (transport) => {
    test('none is executed after a CLIENT KILL of the client itself', async () => {
      const { server, witness } = await start()
      const client = await loggedIn(server, transport)
      client.send(withFollowers('CLIENT', 'KILL', 'ID', await idOf(client), 'SKIPME', 'no'))
      await client.takeExactly(':1\r\n')
      await client.closed
      expect(client.takeAll()).toBe('')
      await witness.assertPong()
    })

    test('none is executed after the deletion of its own user', async () => {
      const { server, witness } = await start()
      const client = await loggedIn(server, transport)
      client.send(withFollowers('ACL', 'DELUSER', 'u'))
      await client.takeExactly(':1\r\n')
      const { code } = await client.closed
      expect(code).toBe(transport === 'TCP' ? 0 : 4403)
      await witness.assertPong()
    })

    test('none is executed after a change that takes its own subscription', async () => {
      const { server, witness } = await start()
      const client = await loggedIn(server, transport)
      await client.subscribe('a')
      client.send(withFollowers('ACL', 'SETUSER', 'u', 'resetchannels', '&w'))
      await client.takeExactly('+OK\r\n')
      await client.closed
      expect(client.takeAll()).toBe('')
      await witness.assertPong()
    })

    test('none is executed after QUIT', async () => {
      const { server, witness } = await start()
      const client = await loggedIn(server, transport)
      client.send(withFollowers('QUIT'))
      await client.takeExactly('+OK\r\n')
      await client.closed
      await witness.assertPong()
    })

    test('replies of commands before the kill are sent', async () => {
      const { server } = await start()
      const client = await loggedIn(server, transport)
      const id = await idOf(client)
      client.send(
        Buffer.concat([
          encodeCommand('ECHO', 'a'),
          encodeCommand('CLIENT', 'KILL', 'ID', id, 'SKIPME', 'no'),
        ]),
      )
      await client.takeExactly('$1\r\na\r\n:1\r\n')
      await client.closed
    })
  },
)

test('CLIENT KILL closes a WebSocket with 1000, and nobody else', async () => {
  const { server, admin, witness } = await start()
  const killed = await open.session(server, '1', {})
  const other = await open.session(server, '2', {})
  await admin.assertReply(['CLIENT', 'KILL', 'JWT-SUB', '1'], ':1\r\n')
  expect((await killed.closed).code).toBe(1000)
  for (const client of [admin, witness, other]) await client.assertPong()
})

describe('what waits for a client that is revoked while it does not read', () => {
  const MESSAGE = Buffer.alloc(65_536, 'x')

  test.each(['TCP', 'WebSocket'] as const)(
    'is dropped after the write under way, %s',
    async (transport) => {
      const server = await open.server({
        directives: {
          'client-output-buffer-limit': 'pubsub 0 0 0 websocket 0 0 0',
          user: [DEFAULT_USER, ['role:member', 'off', 'resetchannels', '+subscribe', '&news']],
        },
      })
      const grants = { roles: ['member'] }
      let client: RawClient
      if (transport === 'WebSocket') client = await open.session(server, '42', grants)
      else {
        client = await open.tcp(server, 3)
        await client.assertReply(['AUTH', 'jwt', await server.mint('42', grants)], '+OK\r\n')
      }
      await client.subscribe('news')
      client.pause()
      const admin = await open.tcp(server)
      const held = () =>
        [...server.core.clients.all()].reduce((sum, { output }) => sum + output.heldBytes, 0)
      let published = 0
      while (held() < 4 * 1_048_576) {
        await admin.assertReply(['PUBLISH', 'news', MESSAGE.toString('latin1')], ':1\r\n')
        published++
      }
      await admin.assertReply(['ACL', 'SETUSER', 'role:member', 'resetchannels'], '+OK\r\n')
      await admin.assertReply(['PUBLISH', 'news', 'late'], ':0\r\n')
      client.resume()
      const { code } = await client.closed
      const rest = client.takeAll()
      const one = push(3, 'message', 'news', MESSAGE).toString('latin1')
      const whole = rest.split(one).length - 1
      expect(published - whole).toBeGreaterThanOrEqual(56)
      expect(rest).not.toContain('late')
      const tail = rest.slice(whole * one.length)
      if (transport === 'WebSocket') {
        expect(code).toBe(4403)
        expect(tail).toBe(
          push(3, 'token', 'revoked', 'news', 'permissions changed').toString('latin1'),
        )
      } else {
        // TCP ends where the kernel was, perhaps within a message.
        expect(one.startsWith(tail)).toBe(true)
      }
      await eventually('nothing is held', () => held() === 0)
    },
  )
})
