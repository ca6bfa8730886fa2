import { describe, expect, test } from 'vitest'
import { encodeCommand, push, type RawClient } from '../../support/resp-client.ts'
import { DEFAULT_USER, eventually, nextTurn, opener } from '../../support/opened.ts'
import { cutAtRandom, seededRandom } from '../../support/random.ts'
import { clientFrame, openUpgrade } from '../../support/raw-upgrade.ts'

const open = opener()

describe('sessions that end at any point', () => {
  test('WebSockets reset in the middle of upgrade, login, subscription or message leave nothing behind', async () => {
    const server = await open.server()
    const token = await server.mint('42', { channels: ['*'] })
    const random = seededRandom(57)
    const session = Buffer.concat(
      [
        ['AUTH', 'jwt', token],
        ['SUBSCRIBE', 'a', 'b'],
        ['PSUBSCRIBE', '*'],
        ['PUBLISH', 'a', 'm'.repeat(20_000)],
        ['MULTI'],
        ['PUBLISH', 'b', 'm'],
        ['EXEC'],
        ['RESET'],
        ['AUTH', 'jwt', token],
        ['SSUBSCRIBE', 's'],
      ].map((command) => clientFrame(encodeCommand(...command))),
    )
    for (let i = 0; i < 100; i++) {
      const early = session.subarray(0, Math.floor(random() * (session.length + 1)))
      const upgrade = await openUpgrade(server.httpPort, {
        early,
        headers: random() < 0.3 ? { Authorization: `Bearer ${token}` } : {},
      })
      for (let turns = Math.floor(random() * 4); turns > 0; turns--) await nextTurn()
      upgrade.destroy()
    }
    const { clients, tokens, registry } = server.core
    await eventually('nobody is left', () => clients.size === 0)
    expect(tokens.size).toBe(0)
    expect(registry.patternCount).toBe(0)
    expect([...registry.channelNames('channel'), ...registry.channelNames('shard')]).toEqual([])
  })
})

describe('many subscribers at once', () => {
  test('all get the same bytes in the same order, whatever their transport and however they read', async () => {
    const server = await open.server({
      directives: { 'client-output-buffer-limit': 'pubsub 0 0 0 websocket 0 0 0' },
    })
    const subscribers: [RawClient, 2 | 3][] = []
    for (let i = 0; i < 3; i++) {
      subscribers.push([await open.client(server, 'RESP2 over TCP'), 2])
      subscribers.push([await open.client(server, 'RESP3 over TCP'), 3])
      subscribers.push([await open.client(server, 'RESP3 over WebSocket'), 3])
    }
    for (const [client, protocol] of subscribers) {
      await client.subscribe('a', 1, protocol)
      await client.assertReply(['PSUBSCRIBE', 'b*'], push(protocol, 'psubscribe', 'b*', 2))
    }
    const random = seededRandom(49)
    const publisher = await open.tcp(server)
    const expected: Record<2 | 3, Buffer[]> = { 2: [], 3: [] }
    const commands: Buffer[] = []
    for (let i = 0; i < 300; i++) {
      const size = Math.floor(random() ** 4 * 200_000)
      const payload = Buffer.alloc(size, `${i}.`)
      const toPattern = random() < 0.3
      commands.push(encodeCommand('PUBLISH', toPattern ? 'bc' : 'a', payload))
      for (const protocol of [2, 3] as const) {
        expected[protocol].push(
          toPattern
            ? push(protocol, 'pmessage', 'b*', 'bc', payload)
            : push(protocol, 'message', 'a', payload),
        )
      }
    }
    const paused = subscribers.slice(3, 6).map(([client]) => client)
    for (const [index, piece] of cutAtRandom(Buffer.concat(commands), 300_000, random).entries()) {
      publisher.send(piece)
      for (const client of paused) {
        if (random() < 0.5) client.pause()
        else client.resume()
      }
      if (index % 3 === 0) await nextTurn()
    }
    await publisher.takeExactly(':9\r\n'.repeat(300))
    for (const client of paused) client.resume()
    for (const [client, protocol] of subscribers) {
      await client.takeExactly(Buffer.concat(expected[protocol]))
      if (protocol === 3) await client.assertPong()
    }
  })
})

describe('revocation against everything that is under way', () => {
  test('in any interleaving nothing that is published after the reply is delivered', async () => {
    const server = await open.server({
      directives: {
        user: [
          DEFAULT_USER,
          ['role:member', 'off', 'resetchannels', '+subscribe', '+psubscribe', '&news'],
        ],
      },
    })
    const random = seededRandom(25)
    const admin = await open.tcp(server)
    const grants = { roles: ['member'] }
    for (let round = 0; round < 60; round++) {
      await admin.assertReply(
        ['ACL', 'SETUSER', 'role:member', 'resetchannels', '&news'],
        '+OK\r\n',
      )
      const token = await server.mint(String(round), grants)
      const client =
        random() < 0.5
          ? await open.tcp(server, 3)
          : await open.webSocket(server, random() < 0.5 ? {} : { token })
      const steps = [
        () => client.command('AUTH', 'jwt', token),
        () => client.command(random() < 0.5 ? 'SUBSCRIBE' : 'PSUBSCRIBE', 'news'),
        () => client.command('PING'),
      ]
      const changeAt = Math.floor(random() * 4)
      for (let step = 0; step < 4; step++) {
        if (step === changeAt) {
          admin.send(
            Buffer.concat([
              encodeCommand('PUBLISH', 'news', 'early'),
              encodeCommand('ACL', 'SETUSER', 'role:member', 'resetchannels'),
              encodeCommand('PUBLISH', 'news', 'late'),
            ]),
          )
          if (random() < 0.5) await nextTurn()
        }
        if (!client.isClosed) steps[step]?.()
        if (random() < 0.5) await nextTurn()
      }
      expect(await admin.takeLine()).toMatch(/^:[01]$/)
      expect(await admin.takeLine()).toBe('+OK')
      expect(await admin.takeLine()).toBe(':0')
      await admin.assertReply(['PUBLISH', 'news', 'later'], ':0\r\n')
      await nextTurn()
      expect(client.takeAll()).not.toMatch(/late/)
      client.destroy()
      // The last commands it sent may be executed only now, and the next round gives the role its channel back.
      await expect.poll(() => server.core.clients.size, { timeout: 10_000 }).toBe(1)
    }
  })
})
