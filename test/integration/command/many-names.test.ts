import { describe, expect, test } from 'vitest'
import type { RawClient } from '../../support/resp-client.ts'
import type { TestGateway } from '../../support/server.ts'
import { eventually, opener } from '../../support/opened.ts'

const open = opener()

const COUNT = 200_000

/** Six bytes each. */
const NAMES = Array.from({ length: COUNT }, (_, i) => String(i).padStart(6, 'c'))

const SUBSCRIBE_ALL = Buffer.from(
  `*${COUNT + 1}\r\n$9\r\nSUBSCRIBE\r\n${NAMES.map((name) => `$6\r\n${name}\r\n`).join('')}`,
)

/** Names whose confirmations are waited for at a time. */
const STEP = 10_000

/** Takes the confirmation of each name in order, as RESP2 and RESP3 clients get it. */
async function takeAcks(
  client: RawClient,
  protocol: 2 | 3,
  word: string,
  count: (i: number) => number,
): Promise<void> {
  const type = protocol === 3 ? '>' : '*'
  for (let from = 0; from < COUNT; from += STEP) {
    const lines = NAMES.slice(from, from + STEP).map((name, i) => {
      const ack = `${type}3\r\n$${word.length}\r\n${word}\r\n$6\r\n${name}\r\n`
      return `${ack}:${count(from + i)}\r\n`
    })
    await client.takeExactly(lines.join(''))
  }
}

/** Asks another client over and over until `done`. @returns How often it was answered. */
async function answersMeanwhile(client: RawClient, done: Promise<unknown>): Promise<number> {
  const state = { isDone: false }
  const end = (): void => void (state.isDone = true)
  done.then(end, end)
  let answers = 0
  while (!state.isDone) {
    await client.assertPong()
    answers++
  }
  return answers
}

/** In one go there would be one or two; in slices there are hundreds of occasions. */
const MANY_ANSWERS = 20

describe('One command with 200,000 names', () => {
  test.each([2, 3] as const)(
    'is confirmed name by name, and others are answered meanwhile, RESP%i',
    async (protocol) => {
      const [server, client] = await open.withTcp({}, protocol)
      const other = await open.tcp(server)
      client.send(SUBSCRIBE_ALL)
      const subscribed = takeAcks(client, protocol, 'subscribe', (i) => i + 1)
      const answers = await answersMeanwhile(other, subscribed)
      await subscribed
      expect(answers).toBeGreaterThan(MANY_ANSWERS)
      expect(await other.askBulk('INFO', 'stats')).toContain(`\r\npubsub_channels:${COUNT}\r\n`)
      client.command('UNSUBSCRIBE')
      const unsubscribed = takeAcks(client, protocol, 'unsubscribe', (i) => COUNT - 1 - i)
      expect(await answersMeanwhile(other, unsubscribed)).toBeGreaterThan(MANY_ANSWERS)
      await unsubscribed
      await client.assertPong()
    },
    60_000,
  )

  test('is cut at the output limit where nobody reads', async () => {
    const server: TestGateway = await open.server({
      directives: { 'client-output-buffer-limit': 'pubsub 1mb 0 0' },
    })
    const client = await open.tcp(server)
    client.pause()
    client.send(SUBSCRIBE_ALL)
    await eventually('the client is closed', () => server.core.clients.size === 0)
    expect(server.core.counters.outputLimitDisconnections).toBe(1)
    const { registry } = server.core
    await eventually('its channels are gone', () => registry.channelCount('channel') === 0)
  })

  test('is refused over WebSocket from the 65th name on, as a whole', async () => {
    const server = await open.server()
    const session = await open.session(server, '1', { channels: ['*'] })
    session.command('SUBSCRIBE', ...NAMES.slice(0, 65))
    await session.takeExactly(
      '-ERR at most 64 names in one command are allowed on this connection\r\n',
    )
    expect(server.core.registry.channelCount('channel')).toBe(0)
  })
})
