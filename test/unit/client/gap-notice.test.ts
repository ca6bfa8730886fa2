import { describe, expect, test } from 'vitest'
import { coreWithUpstream } from '../../support/fake-backplane.ts'
import { command, type TestClient, type TestCore } from '../../support/test-core.ts'
import type { Directives } from '../../support/settings.ts'

function setup(directives: Directives = {}) {
  const { server, upstream } = coreWithUpstream(directives)
  const webSocket = server.connect({ transport: 'websocket' })
  webSocket.becomeDefault()
  const [tcp, unix] = [server.connect({ protocol: 3 }), server.connect({ transport: 'unix' })]
  const announce = (holders: readonly TestClient[], name?: string): void =>
    upstream.announce({
      fromMs: 1_700_000_000_000.4,
      toMs: 1_700_000_000_900.4,
      holders: holders.map(({ client }) => client),
      name,
    })
  return { server, upstream, webSocket, tcp, unix, announce }
}

/** Lets two seconds pass, and their turns. */
function passTwoSeconds({ clock, turn }: TestCore): void {
  for (let ms = 0; ms <= 2_000; ms += 50) {
    clock.advance(50)
    turn.end()
  }
}

function causes(clients: readonly TestClient[]): (string | undefined)[] {
  return clients.map(({ client }) => client.closeCause?.name)
}

describe('After a gap', () => {
  test('a WebSocket is told the name and the time, in whole milliseconds that hold all of it', () => {
    const { webSocket, announce } = setup()
    announce([webSocket], 'n\xff')
    announce([webSocket])
    const times = ':1700000000000\r\n:1700000000901\r\n'
    expect(webSocket.read()).toBe(
      `>4\r\n$3\r\ngap\r\n$2\r\nn\xff\r\n${times}>4\r\n$3\r\ngap\r\n$0\r\n\r\n${times}`,
    )
  })

  test('a WebSocket is told after the messages from before the gap, and after its own reply', () => {
    const { upstream, webSocket, announce } = setup()
    upstream.inForce.add('channel')
    webSocket.send('SUBSCRIBE', 'a')
    upstream.deliver('a', '1')
    webSocket.write(command('PUBLISH', 'a', '2'))
    announce([webSocket], 'a')
    upstream.deliver('a', '3')
    upstream.answer('TRYAGAIN unknown whether published')
    expect(webSocket.read().match(/message|gap|TRYAGAIN/g)).toEqual([
      'message',
      'TRYAGAIN',
      'gap',
      'message',
    ])
  })

  test('clients over TCP and Unix sockets are closed once their messages are sent, and others stay', () => {
    const { server, upstream, webSocket, tcp, unix, announce } = setup()
    upstream.inForce.add('channel')
    tcp.send('SUBSCRIBE', 'a')
    upstream.deliver('a', 'last')
    announce([tcp, unix, webSocket])
    passTwoSeconds(server)
    expect(causes([tcp, unix, webSocket])).toEqual(['upstream-gap', 'upstream-gap', undefined])
    expect([tcp.read().endsWith('last\r\n'), tcp.sink.ends.length]).toEqual([true, 1])
    expect(server.counters.closes.get('upstream-gap')).toBe(2)
  })

  test('clients that are closed leave over two seconds, each once, whoever left by himself', () => {
    const { server, announce } = setup()
    const clients = Array.from({ length: 400 }, () => server.connect())
    // One gap for each name, as it is told of.
    for (const client of clients) announce([client], 'a')
    announce(clients)
    const left: number[] = []
    clients[399]?.connection.peerClosed()
    for (let i = 0; i < 4; i++) {
      server.clock.advance(500)
      left.push(clients.filter(({ client }) => !client.closed).length)
    }
    expect(left[0]).toBeGreaterThan(250)
    expect(left[2]).toBeGreaterThan(50)
    server.clock.advance(50)
    expect(server.counters.closes.get('upstream-gap')).toBe(399)
  })

  test('`upstream-gap-ws close` closes WebSockets with a code after which they come back', () => {
    const { server, webSocket, announce } = setup({ 'upstream-gap-ws': 'close' })
    announce([webSocket], 'a')
    passTwoSeconds(server)
    expect(webSocket.read()).toBe('')
    expect(webSocket.sink.ends).toEqual([
      { code: 1013, reason: 'messages from the upstream may be missing' },
    ])
  })

  test('`upstream-gap-tcp ignore` leaves the others as they are', () => {
    const { server, tcp, unix, announce } = setup({ 'upstream-gap-tcp': 'ignore' })
    announce([tcp, unix])
    passTwoSeconds(server)
    expect([causes([tcp, unix]), tcp.read()]).toEqual([[undefined, undefined], ''])
  })

  test('nobody is closed any more once the server has stopped', async () => {
    const { server, tcp, announce } = setup()
    announce([tcp])
    await server.stop()
    passTwoSeconds(server)
    expect(tcp.client.closed).toBe(false)
  })
})
