import { describe, expect, test } from 'vitest'
import { online } from './support/scenes.ts'

describe('a command with limits', () => {
  test('fails when no reply comes in time; a later reply belongs to it still', async () => {
    const { server, client } = await online()
    const late = client.publish('news', 'a', { timeoutMs: 1000 })
    const failed = expect(late).rejects.toMatchObject({ code: 'ERR_TIMEOUT' })
    await server.pass(1000)
    await failed
    const next = client.publish('news', 'b')
    server.socket.receive(':1\r\n:2\r\n')
    expect(await next).toBe(2)
  })

  test('fails with the reason of its signal, and is not sent if that was aborted before', async () => {
    const { server, client } = await online()
    const abort = new AbortController()
    const call = client.call('PING', { signal: abort.signal })
    const failed = expect(call).rejects.toThrow('enough')
    abort.abort(new Error('enough'))
    await failed
    expect(server.socket.commands()).toEqual([['PING']])
    await expect(client.call('PING', { signal: abort.signal })).rejects.toThrow('enough')
    expect(server.socket.commands()).toEqual([])
  })

  test('has the time limit of the client otherwise', async () => {
    const { server, client } = await online({ token: 'a.b.c', replyTimeoutMs: 50 })
    const failed = expect(client.why('news')).rejects.toMatchObject({ code: 'ERR_TIMEOUT' })
    await server.pass(50)
    await failed
  })

  test('leaves no timer when it is answered', async () => {
    const { server, client } = await online()
    const pending = server.clock.pendingTimers
    const ping = client.call('PING')
    expect(server.clock.pendingTimers).toBe(pending + 1)
    server.socket.receive('+PONG\r\n')
    expect(await ping).toBe('PONG')
    expect(server.clock.pendingTimers).toBe(pending)
  })

  test('an object that is no options is no argument either', async () => {
    const { server, client } = await online()
    const call = client.call('ECHO', { x: 1 } as unknown as string)
    await expect(call).rejects.toThrow('An argument of a command cannot be an object')
    expect(server.socket.commands()).toEqual([])
  })
})
