import { describe, expect, test } from 'vitest'
import { encodeCommand } from '../../support/resp-client.ts'
import { opener, TRANSPORTS } from '../../support/opened.ts'

const open = opener()

describe('A client with a pipeline of 100,000 commands', () => {
  test.each(TRANSPORTS)(
    'does not stop another from being answered before it is done (%s)',
    async (transport) => {
      const server = await open.server({ directives: { 'ws-turn-budget': '100' } })
      const greedy = await open.client(server, transport)
      const other = await open.tcp(server)
      const before = server.core.counters.commandsProcessed
      const many = Buffer.concat(Array<Buffer>(2_000).fill(encodeCommand('PING')))
      for (let i = 0; i < 50; i++) greedy.send(many)
      await other.assertPong()
      await other.assertPong()
      expect(server.core.counters.commandsProcessed - before).toBeLessThan(100_000)
      // And none of it is lost.
      const pongs = await greedy.take('+PONG\r\n'.length * 100_000)
      expect(pongs.equals(Buffer.from('+PONG\r\n'.repeat(100_000)))).toBe(true)
      await greedy.assertPong()
    },
  )
})
