import { describe, expect, test } from 'vitest'
import { coreWithUpstream } from '../../../support/fake-backplane.ts'
import { command, TestCore } from '../../../support/test-core.ts'

describe('The counts in confirmations', () => {
  test.each([2, 3] as const)(
    'are channels with patterns, and shard channels apart: RESP%d',
    (protocol) => {
      const client = new TestCore().connect({ protocol })
      const counts = (...args: string[]): string[] =>
        [...client.send(...args).matchAll(/:(\d+)\r\n/g)].map((match) => match[1] as string)
      expect(counts('SUBSCRIBE', 'a', 'a', 'b')).toEqual(['1', '1', '2'])
      expect(counts('PSUBSCRIBE', 'p*', 'p*')).toEqual(['3', '3'])
      expect(counts('SSUBSCRIBE', 's', 's')).toEqual(['1', '1'])
      expect(counts('UNSUBSCRIBE', 'a', 'a')).toEqual(['2', '2'])
      expect(counts('UNSUBSCRIBE')).toEqual(['1'])
      expect(client.send('UNSUBSCRIBE')).toMatch(
        protocol === 2 ? /\$-1\r\n:1\r\n$/ : /_\r\n:1\r\n$/,
      )
      expect(counts('SUNSUBSCRIBE')).toEqual(['0'])
      expect(counts('PUNSUBSCRIBE')).toEqual(['0'])
    },
  )
})

describe('A transport with limits', () => {
  function limited() {
    const server = new TestCore({
      'tcp-max-subscriptions': '3',
      'tcp-max-patterns': '2',
      'tcp-max-channel-length': '5',
      'tcp-max-pattern-length': '4',
    })
    const client = server.connect({ protocol: 3 })
    return { server, client }
  }

  test('counts channels and shard channels together, patterns apart', () => {
    const { client } = limited()
    client.send('SUBSCRIBE', 'a', 'b')
    client.send('SSUBSCRIBE', 'a')
    const full = '-ERR at most 3 subscriptions are allowed on this connection\r\n'
    expect(client.send('SSUBSCRIBE', 'b')).toBe(full)
    expect(client.send('SUBSCRIBE', 'c')).toBe(full)
    expect(client.send('SUBSCRIBE', 'a', 'b')).toMatch(/^>3/)
    client.send('PSUBSCRIBE', 'a*', 'b*')
    expect(client.send('PSUBSCRIBE', 'c*')).toBe(
      '-ERR at most 2 patterns are allowed on this connection\r\n',
    )
  })

  test('refuses the whole command, and subscribes to nothing of it', () => {
    const { server, client } = limited()
    expect(client.send('SUBSCRIBE', 'a', 'b', 'c', 'd')).toMatch(/^-ERR at most 3 subscriptions/)
    expect(client.send('SUBSCRIBE', 'a', '123456')).toBe(
      '-ERR a channel name of more than 5 bytes is not allowed on this connection\r\n',
    )
    expect(client.send('PSUBSCRIBE', 'a', '12345')).toBe(
      '-ERR a pattern of more than 4 bytes is not allowed on this connection\r\n',
    )
    const webSocket = server.connect({ transport: 'websocket' })
    webSocket.becomeDefault()
    expect(webSocket.send('SUBSCRIBE', ...Array<string>(65).fill('a'))).toBe(
      '-ERR at most 64 names in one command are allowed on this connection\r\n',
    )
    expect([server.registry.channelCount('channel'), server.registry.patternCount]).toEqual([0, 0])
  })

  test('counts a name that is given twice once', () => {
    const { client } = limited()
    expect(client.send('SUBSCRIBE', 'a', 'b', 'a', 'c')).toMatch(/:3\r\n$/)
  })

  test('gives room again to who unsubscribes', () => {
    const { client } = limited()
    client.send('SUBSCRIBE', 'a', 'b', 'c')
    client.send('UNSUBSCRIBE', 'a')
    expect(client.send('SUBSCRIBE', 'd')).toMatch(/:3\r\n$/)
  })
})

describe('SUBSCRIBE with an upstream', () => {
  const confirmed = (word: string, name: string, count: number): string =>
    `>3\r\n$${word.length}\r\n${word}\r\n$${name.length}\r\n${name}\r\n:${count}\r\n`
  const message = '>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n'

  test.each([
    ['SUBSCRIBE', 'channel'],
    ['PSUBSCRIBE', 'pattern'],
    ['SSUBSCRIBE', 'shard'],
  ] as const)('%s is confirmed once all names are in force', (word, space) => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect({ protocol: 3 })
    expect(client.send(word, 'a', 'b')).toBe('')
    expect(upstream.wants).toMatchObject([{ space, names: ['a', 'b'] }])
    expect(client.client.subscriptions.any).toBe(false)
    upstream.confirm()
    const name = word.toLowerCase()
    expect(client.read()).toBe(confirmed(name, 'a', 1) + confirmed(name, 'b', 2))
  })

  test('receives what comes right after the confirmation of the upstream, in the same read of its socket', () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect({ protocol: 3 })
    client.write(command('SUBSCRIBE', 'a'))
    expect(upstream.deliver('a', 'early')).toBe(0)
    upstream.confirm()
    expect(upstream.deliver('a', 'x')).toBe(1)
    expect(client.read()).toBe(confirmed('subscribe', 'a', 1) + message)
  })

  test('is confirmed at once where the names are in force already', () => {
    const { server, upstream } = coreWithUpstream()
    upstream.inForce.add('channel')
    const client = server.connect({ protocol: 3 })
    expect(client.send('SUBSCRIBE', 'a')).toBe(confirmed('subscribe', 'a', 1))
  })

  test('subscribes to nothing where the upstream does not confirm, and goes on', async () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect({ protocol: 3 })
    client.write(Buffer.concat([command('SUBSCRIBE', 'a', 'b'), command('PING')]))
    upstream.confirm('TRYAGAIN the upstream does not confirm the subscription')
    await client.settled()
    expect(client.read()).toBe(
      '-TRYAGAIN the upstream does not confirm the subscription\r\n+PONG\r\n',
    )
    expect(client.client.subscriptions.any).toBe(false)
    expect(server.table.named('subscribe')).toMatchObject({ calls: 1, failedCalls: 1 })
  })

  test('receives messages of its other subscriptions while it waits', () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect({ protocol: 3 })
    server.registry.subscribe('channel', client.client, 'a', 'default')
    client.write(command('SUBSCRIBE', 'b'))
    upstream.deliver('a', 'x')
    expect(client.read()).toBe(message)
  })

  test('is refused where permissions were lost meanwhile', () => {
    const { server, upstream } = coreWithUpstream()
    server.setUser('u', 'on nopass +@all resetchannels &a')
    const client = server.connect({ protocol: 3 })
    client.send('AUTH', 'u', 'x')
    client.write(command('SUBSCRIBE', 'a'))
    server.setUser('u', 'resetchannels')
    upstream.confirm()
    expect(client.read()).toBe('-NOPERM No permissions to access a channel\r\n')
    expect(upstream.deliver('a', 'x')).toBe(0)
  })

  test('is refused where a deny overlay has taken the channel away meanwhile', () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect({ protocol: 3 })
    client.write(command('SUBSCRIBE', 'a'))
    client.client.overlay = {
      mayReceive: () => false,
      mayPublish: () => true,
      mayDeny: () => true,
    }
    upstream.confirm()
    expect(client.read()).toBe('-NOPERM No permissions to access a channel\r\n')
  })

  test('keeps to limits that others have reached meanwhile', () => {
    const { server, upstream } = coreWithUpstream({ 'ws-max-distinct-patterns': '1' })
    const clients = [1, 2].map(() => server.connect({ transport: 'websocket' }))
    for (const [i, client] of clients.entries()) {
      client.becomeDefault()
      client.write(command('PSUBSCRIBE', `p${i}*`))
    }
    for (const _client of clients) upstream.confirm()
    expect(clients.map((client) => client.read()[0])).toEqual(['>', '-'])
    expect(server.registry.patternCount).toBe(1)
  })

  test('asks for very many names in slices, each in a turn of its own', async () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect({ protocol: 3 })
    const names = Array.from({ length: 1_300 }, (_, i) => `c${i}`)
    client.write(command('SUBSCRIBE', ...names))
    const sizes: number[] = []
    while (upstream.wants.length > 0) {
      sizes.push(upstream.wants[0]?.names.length ?? 0)
      upstream.confirm()
      server.clock.advance(0)
      await new Promise((resolve) => void setImmediate(resolve))
    }
    await client.settled()
    expect(sizes).toEqual([512, 512, 276])
    expect(client.read().endsWith(confirmed('subscribe', 'c1299', 1_300))).toBe(true)
    expect(server.table.named('subscribe')?.calls).toBe(1)
  })

  test('gives its names up where the client goes', () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect()
    client.write(command('SUBSCRIBE', 'a', 'b'))
    client.connection.peerClosed()
    expect([upstream.cancelled, upstream.wants]).toEqual([[['a', 'b']], []])
  })

  test('does not take names that begin as those of gateways do, nor patterns of them alone', () => {
    const { server, upstream } = coreWithUpstream()
    const client = server.connect({ protocol: 3 })
    const refused = "-ERR names that begin with '{respcast:' are reserved\r\n"
    expect(client.send('SUBSCRIBE', 'a', '{respcast:x')).toBe(refused)
    expect(client.send('SSUBSCRIBE', '{respcast:x')).toBe(refused)
    expect(client.send('PSUBSCRIBE', '{respcast:*')).toBe(refused)
    expect(client.send('PSUBSCRIBE', '\\{resp[c]ast:?')).toBe(refused)
    expect(upstream.wants).toEqual([])
    expect(client.send('PSUBSCRIBE', '*', '{resp*')).toBe('')
    expect(upstream.wants).toHaveLength(1)
  })
})
