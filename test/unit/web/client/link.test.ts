import { describe, expect, test } from 'vitest'
import { LimitError } from '../../../../web/client/errors.ts'
import { online } from './support/scenes.ts'

const limits = (bytes: number, args: number): string =>
  `>4\r\n$5\r\ntoken\r\n$6\r\nlimits\r\n:${bytes}\r\n:${args}\r\n`

describe('a command that the server does not take', () => {
  test('is refused by size and limit, not sent, and nothing else is touched', async () => {
    const { server, client } = await online()
    server.socket.receive(limits(64, 4))
    const large = await client.publish('news', 'x'.repeat(64)).catch((error: unknown) => error)
    expect(large).toBeInstanceOf(LimitError)
    expect(large).toMatchObject({ code: 'ERR_LIMIT', message: '98 bytes: the server takes 64' })
    await expect(client.call('ECHO', 'a', 'b', 'c', 'd')).rejects.toThrow(
      '5 arguments: the server takes 4',
    )
    expect([server.socket.commands(), client.state.status]).toEqual([[], 'online'])
    const next = client.publish('news', 'x')
    server.socket.receive(':3\r\n')
    expect(await next).toBe(3)
  })

  test('is sent where the server told no limit', async () => {
    const { server, client } = await online()
    void client.publish('news', 'x'.repeat(100_000)).catch(() => {})
    expect(server.socket.commands()).toHaveLength(1)
  })

  test('ends only the subscription that it is for', async () => {
    const { server, client } = await online()
    server.socket.receive(limits(1_000, 2))
    client.subscribe('a')
    client.subscribe('b')
    server.socket.commands()
    server.socket.receive('>2\r\n$5\r\ntoken\r\n$7\r\ngranted\r\n')
    const long = client.subscribe('x'.repeat(2_000))
    await expect(long.ready).rejects.toMatchObject({ code: 'ERR_DENIED' })
    expect(client.state.status).toBe('online')
  })
})
