import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { CLOSES, closeWith } from '../../../server/client/close.ts'
import { encodePush } from '../../../server/resp/push.ts'
import { tokenPushes } from '../../../server/token/session/pushes.ts'
import { EventSink } from '../../../server/transport/event-sink.ts'
import { socketPair } from '../../support/socket-pair.ts'

/** A sink, and all that its peer has received once the sink has ended. */
async function sinkAndPeer(): Promise<{ sink: EventSink; received: () => Promise<string> }> {
  const { accepted, peer, heard } = await socketPair()
  const ended = once(peer, 'end')
  return {
    sink: new EventSink(accepted),
    received: async () => {
      await ended
      return heard()
    },
  }
}

describe('What only one client is sent', () => {
  test.each([
    [encodePush(3, ['subscribe', 'a', 1]), 'event: subscribed\ndata: {"channel":"a"}\n\n'],
    [encodePush(3, ['psubscribe', 'a*', 1]), 'event: subscribed\ndata: {"pattern":"a*"}\n\n'],
    [
      encodePush(3, ['unsubscribe', '\xff', 0]),
      'event: unsubscribed\ndata: {"b64channel":"/w=="}\n\n',
    ],
    [encodePush(3, ['punsubscribe', 'a*', 0]), 'event: unsubscribed\ndata: {"pattern":"a*"}\n\n'],
    [encodePush(3, ['gap', '', 1, 2]), 'event: gap\ndata: {"fromMs":1,"toMs":2}\n\n'],
    [
      encodePush(3, ['gap', 'a', 1, 2]),
      'event: gap\ndata: {"channel":"a","fromMs":1,"toMs":2}\n\n',
    ],
    [
      tokenPushes.accepted('jwt:42', 900),
      'event: token\ndata: {"about":"accepted","user":"jwt:42","leftMs":900}\n\n',
    ],
    [tokenPushes.expiring(5), 'event: token\ndata: {"about":"expiring","leftMs":5}\n\n'],
    [tokenPushes.expired(5), 'event: token\ndata: {"about":"expired","graceMs":5}\n\n'],
    [
      tokenPushes.revoked('a', 'no'),
      'event: token\ndata: {"about":"revoked","channel":"a","message":"no"}\n\n',
    ],
    [tokenPushes.granted(), 'event: token\ndata: {"about":"granted"}\n\n'],
    // A stream sends no commands, so their limits say nothing to it.
    [tokenPushes.limits(1, 2), ''],
  ])('%j is an event', async (push, event) => {
    const { sink } = await sinkAndPeer()
    expect(sink.translate(push).toString('utf8')).toBe(event)
  })

  test('may be several, and the first error is kept', async () => {
    const { sink } = await sinkAndPeer()
    const frames = Buffer.concat([
      encodePush(3, ['subscribe', 'a', 1]),
      Buffer.from('-NOPERM one\r\n-NOPERM two\r\n'),
      tokenPushes.granted(),
    ])
    expect(sink.translate(frames).toString('utf8')).toBe(
      'event: subscribed\ndata: {"channel":"a"}\n\nevent: token\ndata: {"about":"granted"}\n\n',
    )
    expect(sink.error).toBe('NOPERM one')
  })
})

describe('A stream', () => {
  test('writes nothing before it is opened, and then what was held, once', async () => {
    const { sink, received } = await sinkAndPeer()
    let writable = 0
    sink.writer = { onWritable: () => writable++ }
    expect(sink.write([Buffer.from('first '), Buffer.from('held ')])).toBe(false)
    expect(sink.pendingBytes).toBe(11)
    sink.ping()
    sink.open()
    expect([sink.pendingBytes, writable]).toEqual([0, 1])
    expect(sink.write([Buffer.from('more ')])).toBe(true)
    sink.ping()
    sink.end(undefined)
    expect(await received()).toBe(
      'first held more :\n\nevent: close\ndata: {"code":1000,"reason":""}\n\n',
    )
  })

  test('ends with the code and the reason, and the time at which to come back', async () => {
    const { sink, received } = await sinkAndPeer()
    sink.open()
    const { close } = closeWith(CLOSES.draining, { retryMs: 250 })
    sink.end(close)
    sink.write([Buffer.from('after the end')])
    sink.ping()
    sink.end(close)
    expect(await received()).toBe(
      'retry: 250\nevent: close\ndata: {"code":4503,"reason":"draining|250|the server is going away"}\n\n',
    )
  })

  test.each(['end', 'terminate'] as const)(
    'that was never opened leaves the socket alone, and says so once: %s',
    async (way) => {
      const { accepted } = await socketPair()
      const sink = new EventSink(accepted)
      let refused = 0
      sink.onRefused = () => refused++
      if (way === 'end') sink.end(CLOSES.invalidToken.close)
      else sink.terminate()
      sink.terminate()
      expect([refused, accepted.destroyed, accepted.writableEnded]).toEqual([1, false, false])
      accepted.destroy()
    },
  )
})
