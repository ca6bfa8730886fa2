import { describe, expect, test } from 'vitest'
import { inbox, online } from './support/scenes.ts'

const NOPERM = '-NOPERM No permissions to access a channel\r\n'

/** A handler that keeps what it gets, as `channel payload`. */
describe('commands', () => {
  test('are answered in order, with messages in between', async () => {
    const { server, client } = await online()
    const { seen, handler } = inbox()
    client.subscribe('news', handler)
    const receivers = client.publish('news', Uint8Array.of(0xff))
    const ping = client.call('PING', 'x')
    expect(server.socket.commands()).toEqual([
      ['SUBSCRIBE', 'news'],
      ['PUBLISH', 'news', '\xff'],
      ['PING', 'x'],
    ])
    server.socket.confirm('subscribe', 'news')
    server.socket.push('message', 'news', 'between')
    server.socket.receive(':3\r\n$1\r\nx\r\n')
    expect(await receivers).toBe(3)
    expect(await ping).toEqual(Uint8Array.of(0x78))
    expect(seen).toEqual(['news between'])
  })

  test('fail with the code of the error reply', async () => {
    const { server, client } = await online()
    const receivers = client.spublish('news', 'x')
    expect(server.socket.commands()).toEqual([['SPUBLISH', 'news', 'x']])
    server.socket.receive(NOPERM)
    await expect(receivers).rejects.toMatchObject({ code: 'ERR_REPLY', prefix: 'NOPERM' })
  })

  test('are never queued for a later connection', async () => {
    const { server, client } = await online()
    const pending = client.publish('news', 'x').catch((error: unknown) => error)
    await server.socket.end()
    expect(await pending).toMatchObject({ code: 'ERR_LOST' })
    await expect(client.publish('news', 'x')).rejects.toMatchObject({ code: 'ERR_NOT_ONLINE' })
    await server.pass(0)
    await server.online()
    expect(server.socket.commands()).toEqual([])
  })

  test('that would change the connection are refused', async () => {
    const { server, client } = await online()
    await expect(client.call('subscribe', 'a')).rejects.toMatchObject({ code: 'ERR_COMMAND' })
    await expect(client.call('RESET')).rejects.toMatchObject({ code: 'ERR_COMMAND' })
    expect(server.socket.commands()).toEqual([])
  })

  test('replies without a command are ignored, attributes as well', async () => {
    const { server, client } = await online()
    server.socket.receive('-ERR nobody asked\r\n')
    const ping = client.call('PING')
    server.socket.receive('|1\r\n+a\r\n+b\r\n+PONG\r\n')
    expect(await ping).toBe('PONG')
  })
})
