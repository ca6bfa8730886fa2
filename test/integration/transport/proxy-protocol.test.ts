import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeCertificates, type Certificates } from '../../support/certificates.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { folderWith } from '../../support/folder.ts'
import { freePort } from '../../support/free-port.ts'
import { eventually, nextTurn, opener } from '../../support/opened.ts'
import { headerFor, LOCAL_HEADER } from '../../support/proxy-header.ts'
import { connectRaw, encodeCommand, type RawClient } from '../../support/resp-client.ts'
import type { ServerOptions, TestGateway } from '../../support/server.ts'
import type { Directives } from '../../support/settings.ts'

const open = opener()

/** A server whose RESP listeners wait for PROXY headers of this machine. */
function proxied(directives: Directives = {}, more: Omit<ServerOptions, 'directives'> = {}) {
  return open.server({
    ...more,
    directives: {
      'proxy-protocol': 'yes',
      'trusted-proxies': '127.0.0.1',
      // The clients come from elsewhere.
      'protected-mode': 'no',
      ...directives,
    },
  })
}

/** A connection that begins with these bytes. */
async function connectWith(server: TestGateway, bytes: string | Buffer): Promise<RawClient> {
  const client = await open.tcp(server)
  client.send(bytes)
  return client
}

/** The address of a client, as CLIENT INFO tells it. */
async function addressOf(client: RawClient): Promise<string> {
  const line = await client.askBulk('CLIENT', 'INFO')
  return /(?:^| )addr=(\S+)/.exec(line)?.[1] ?? ''
}

const PONG = '+PONG\r\n'

describe('With proxy-protocol yes', () => {
  test.each([
    ['version 2', headerFor('203.0.113.7'), '203.0.113.7:40001'],
    ['version 2, IPv6', headerFor('2001:db8:0:0:0:0:0:7'), '[2001:db8::7]:40001'],
    ['version 1', 'PROXY TCP4 203.0.113.7 10.0.0.1 40001 6380\r\n', '203.0.113.7:40001'],
  ])('a client has the address in a header of %s', async (_what, header, address) => {
    const server = await proxied()
    const client = await connectWith(server, header)
    expect(await addressOf(client)).toBe(address)
    const list = await client.askBulk('CLIENT', 'LIST')
    expect(list).toContain(` addr=${address} laddr=127.0.0.1:${server.port} `)
  })

  test.each([
    ['LOCAL', LOCAL_HEADER],
    ['UNKNOWN', 'PROXY UNKNOWN\r\n'],
  ])('a connection of the proxy itself (%s) has its own address', async (_what, header) => {
    const client = await connectWith(await proxied(), header)
    expect(await addressOf(client)).toMatch(/^127\.0\.0\.1:\d+$/)
  })

  test('a header may come in pieces, and commands right behind it', async () => {
    const server = await proxied()
    const bytes = Buffer.concat([headerFor('203.0.113.7'), encodeCommand('PING')])
    for (const step of [1, 7, 28, 30, bytes.length]) {
      const client = await open.tcp(server)
      for (let at = 0; at < bytes.length; at += step) {
        client.send(bytes.subarray(at, at + step))
        await nextTurn()
      }
      await client.takeExactly(PONG)
      expect(await addressOf(client)).toBe('203.0.113.7:40001')
    }
  })

  test('a pipeline larger than one read follows its header without loss', async () => {
    const server = await proxied()
    const value = 'x'.repeat(50_000)
    const pings = Array.from({ length: 20 }, () => encodeCommand('ECHO', value))
    const client = await connectWith(server, Buffer.concat([headerFor('203.0.113.7'), ...pings]))
    for (const _ of pings) await client.takeExactly(`$50000\r\n${value}\r\n`)
    await client.assertPong()
  })

  test('a peer that has half closed behind its header is still answered', async () => {
    const server = await proxied()
    const socket = connectPlain({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
    open.onEnd(() => void socket.destroy())
    socket.end(Buffer.concat([headerFor('203.0.113.7'), encodeCommand('PING')]))
    let answer = ''
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()))
    await once(socket, 'end')
    expect(answer).toBe(PONG)
  })

  test('QUIT right behind the header is answered, and ends the connection', async () => {
    const server = await proxied()
    const bytes = Buffer.concat([headerFor('203.0.113.7'), encodeCommand('QUIT')])
    const client = await connectWith(server, bytes)
    await client.closed
    expect(client.takeAll()).toBe('+OK\r\n')
    await eventually('it is gone', () => server.core.clients.size === 0)
  })

  test.each([
    ['RESP', '*1\r\n$4\r\nPING\r\n'],
    ['an inline command', 'PING\r\n'],
    ['TLS', '\x16\x03\x01\x02'],
    [
      'a damaged header',
      Buffer.concat([headerFor('203.0.113.7').subarray(0, 12), Buffer.alloc(4)]),
    ],
    ['half a header, and its end', null],
  ])('a trusted peer that sends %s instead is cut without an answer', async (_what, bytes) => {
    const logFile = join(folderWith(), 'log')
    const server = await proxied({}, { logFile })
    if (bytes === null) {
      const socket = connectPlain({ port: server.port, host: '127.0.0.1' })
      socket.end(headerFor('203.0.113.7').subarray(0, 20))
      socket.resume()
      await once(socket, 'close')
    } else {
      const client = await connectWith(server, bytes)
      await client.closed
      expect(client.takeAll()).toBe('')
    }
    expect(server.core.counters.rejections.get('proxy-protocol')).toBe(1)
    expect(server.core.counters.commandsProcessed).toBe(0)
    await eventually('it is logged', () =>
      readFileSync(logFile, 'utf8').includes('no PROXY header of a trusted proxy'),
    )
  })

  test('a connection without a byte, as a health check makes, is no rejection', async () => {
    const server = await proxied()
    const checker = await open.tcp(server)
    checker.destroy()
    await (await connectWith(server, headerFor('203.0.113.7'))).assertPong()
    expect(server.core.counters.rejections.get('proxy-protocol')).toBeUndefined()
  })

  test('a connection that is reset before it is looked at is neither a rejection nor logged', async () => {
    const logFile = join(folderWith(), 'log')
    const server = await proxied({ 'trusted-proxies': '10.0.0.1' }, { logFile })
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const socket = connectPlain({ port: server.port, host: '127.0.0.1' })
        socket.on('error', () => {})
        socket.once('connect', () => socket.resetAndDestroy())
        await once(socket, 'close')
      }),
    )
    const last = await connectWith(server, '')
    await last.closed
    expect(readFileSync(logFile, 'utf8')).not.toContain('"ip":""')
  })

  test('a header has five seconds to come', async () => {
    const clock = new FakeClock()
    const server = await proxied({}, { clock })
    const slow = await connectWith(server, headerFor('203.0.113.7').subarray(0, 27))
    const quick = await connectWith(server, headerFor('203.0.113.7'))
    await quick.assertPong()
    clock.advance(5_001)
    await slow.closed
    await quick.assertPong()
    expect(server.core.counters.rejections.get('proxy-protocol')).toBe(1)
  })

  test('a peer that trusted-proxies does not list is told so and closed, with a header too', async () => {
    const server = await proxied({ 'trusted-proxies': '10.0.0.0/8' })
    for (const bytes of ['PING\r\n', headerFor('203.0.113.7')]) {
      const client = await connectWith(server, bytes)
      await client.closed
      expect(client.takeAll()).toMatch(
        /^-DENIED connections to this port come through a proxy[^\r]*\r\n$/,
      )
    }
    expect(server.core.counters.rejections.get('proxy-protocol')).toBe(2)
    expect(server.core.counters.connectionsReceived).toBe(0)
  })

  test('limits and rates of an address are those of the client, not of the proxy', async () => {
    const server = await proxied({
      'tcp-max-connections-per-ip': '2',
      'tcp-connection-rate-per-ip': '2',
    })
    const from = (ip: string) => connectWith(server, headerFor(ip))
    const [first, second] = [await from('203.0.113.7'), await from('203.0.113.7')]
    await first.assertPong()
    await second.assertPong()
    const third = await from('203.0.113.7')
    await third.closed
    expect(third.takeAll()).toBe('-ERR max number of clients reached\r\n')
    for (let i = 1; i < 6; i++) await (await from(`203.0.113.${i}`)).assertPong()
    await (
      await from('203.0.113.7')
    ).closed
    const fast = await from('203.0.113.7')
    await fast.closed
    const more = await from('203.0.113.7')
    await more.closed
    expect([fast.takeAll(), more.takeAll()].join('')).toContain(
      '-ERR too many new connections from this address\r\n',
    )
    first.destroy()
  })

  test('protected mode judges the client', async () => {
    const server = await proxied({ 'protected-mode': 'yes' })
    const client = await connectWith(server, headerFor('203.0.113.7'))
    await client.closed
    expect(client.takeAll()).toMatch(/^-DENIED Respcast is running in protected mode/)
    await (await connectWith(server, headerFor('127.0.0.1'))).assertPong()
  })

  test('ACL LOG names the client whose login was refused', async () => {
    const server = await proxied({ requirepass: 'secret' })
    const client = await connectWith(server, headerFor('203.0.113.7'))
    client.command('AUTH', 'wrong')
    expect(await client.takeLine()).toMatch(/^-WRONGPASS /)
    await client.assertReply(['AUTH', 'secret'], '+OK\r\n')
    client.command('ACL', 'LOG')
    client.command('PING')
    expect(await client.takeUntil(PONG)).toContain(' addr=203.0.113.7:40001 ')
  })

  test('a Unix socket has no header', async () => {
    const path = join(folderWith(), 'respcast.sock')
    await proxied({ unixsocket: path })
    const client = await connectRaw(path)
    open.onEnd(() => client.destroy())
    await client.assertPong()
  })

  test('without anybody to trust, the server does not start', async () => {
    await expect(open.server({ directives: { 'proxy-protocol': 'yes' } })).rejects.toThrow(
      'proxy-protocol: with proxy-protocol yes only proxies may connect, and trusted-proxies names none',
    )
  })
})

test('With proxy-protocol no a header is no command: the connection is cut', async () => {
  const server = await open.server()
  for (const header of [
    'PROXY TCP4 203.0.113.7 10.0.0.1 40001 6380\r\n',
    headerFor('203.0.113.7'),
  ]) {
    const client = await connectWith(server, header)
    client.command('PING')
    await client.closed
    expect(client.takeAll()).not.toContain('PONG')
  }
})

describe('Over TLS', () => {
  let certificates: Certificates

  beforeAll(() => {
    certificates = makeCertificates()
  })

  afterAll(() => certificates.remove())

  async function serve(directives: Directives = {}): Promise<[TestGateway, number]> {
    const tlsPort = await freePort()
    const { cert, key } = certificates.server
    const server = await proxied({
      'tls-port': String(tlsPort),
      'tls-cert-file': cert,
      'tls-key-file': key,
      'tls-auth-clients': 'no',
      ...directives,
    })
    return [server, tlsPort]
  }

  /** A client whose header is sent before its handshake. */
  async function connectSecure(port: number, header: Buffer): Promise<TLSSocket> {
    const plain = connectPlain({ port, host: '127.0.0.1' })
    open.onEnd(() => void plain.destroy())
    plain.on('error', () => {})
    // Header and handshake in one segment.
    plain.cork()
    plain.write(header)
    const socket = connectTls({ socket: plain, ca: readFileSync(certificates.ca) })
    socket.on('error', () => {})
    setImmediate(() => plain.uncork())
    await once(socket, 'secureConnect')
    return socket
  }

  test('the header comes before the handshake', async () => {
    const [server, tlsPort] = await serve()
    const socket = await connectSecure(tlsPort, headerFor('203.0.113.7'))
    socket.write(encodeCommand('CLIENT', 'INFO'))
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(answer.toString()).toContain(` addr=203.0.113.7:40001 laddr=127.0.0.1:${tlsPort} `)
    const rejections = server.core.counters.rejections
    expect([...rejections]).toEqual([])
  })

  test('a handshake without a header is cut, and so is that of a stranger', async () => {
    for (const [trusted, ...more] of [
      ['127.0.0.1'],
      ['10.0.0.1', headerFor('203.0.113.7')],
    ] as const) {
      const [, tlsPort] = await serve({ 'trusted-proxies': trusted })
      const failed = connectSecure(tlsPort, more[0] ?? Buffer.alloc(0))
      await expect(failed).rejects.toThrow(/disconnected before secure|ECONNRESET|EPIPE/)
    }
  })

  test('rates count the client before the handshake', async () => {
    const [server, tlsPort] = await serve({ 'tcp-connection-rate-per-ip': '1' })
    const tries: string[] = []
    for (let i = 0; i < 4; i++) {
      const attempt = connectSecure(tlsPort, headerFor('203.0.113.7'))
      tries.push(
        await attempt.then(
          () => 'open',
          () => 'cut',
        ),
      )
    }
    expect(tries.slice(0, 2)).toEqual(['open', 'open'])
    expect(tries).toContain('cut')
    await connectSecure(tlsPort, headerFor('203.0.113.8'))
    expect(server.core.counters.rejections.get('rate')).toBeGreaterThan(0)
  })

  test('a renewed certificate reaches the listener', async () => {
    const [server, tlsPort] = await serve()
    const { cert, key } = certificates.renewed
    expect(
      server.core.config.set([
        ['tls-cert-file', cert],
        ['tls-key-file', key],
      ]),
    ).toBeUndefined()
    const socket = await connectSecure(tlsPort, LOCAL_HEADER)
    expect(socket.getPeerCertificate().subject.CN).toBe('renewed')
  })
})
