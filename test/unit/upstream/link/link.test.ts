import { createServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { RespcastError } from '../../../../server/errors.ts'
import {
  Link,
  textOf,
  type LinkHost,
  type NodeFacts,
} from '../../../../server/upstream/link/link.ts'
import { openSocket } from '../../../../server/upstream/link/socket.ts'
import {
  FakeNetwork,
  helloOf,
  infoOf,
  NODE,
  pushOf,
  type FakeSocket,
} from '../../../support/fake-node.ts'
import { recordedLog } from '../../../support/recorded-log.ts'

const OTHER = { host: '::1', port: 7001 }

/** A link on a network of the test, and what its user was told. */
function linkOn(own: Partial<LinkHost> = {}) {
  const network = new FakeNetwork()
  const { log, lines } = recordedLog()
  const told: string[] = []
  const facts: NodeFacts[] = []
  const link = new Link('command', network.host({ log, ...own }), {
    up: (seen) => {
      facts.push(seen)
      told.push('up')
    },
    flushed: () => void told.push('flushed'),
    down: (cause) => void told.push(`down ${cause}`),
    message: (_space, source) => void told.push(`message ${source}`),
    value: (value) => void told.push(`value ${textOf(value)}`),
  })
  const up = (): FakeSocket => {
    link.connectTo(NODE)
    network.clock.advance(0)
    network.last.shakeHands()
    told.length = 0
    return network.last
  }
  return { network, link, told, facts, lines, up }
}

describe('The handshake of a link', () => {
  test('is HELLO 3 with the name of the connection, the name of the library, and INFO', () => {
    const { network, link, told, facts } = linkOn()
    link.connectTo(NODE)
    network.clock.advance(0)
    expect(network.last.take()).toEqual([])
    network.last.accept()
    expect(network.last.take()).toEqual([
      ['HELLO', '3', 'SETNAME', 'respcast:test'],
      ['CLIENT', 'SETINFO', 'LIB-NAME', 'respcast'],
      ['INFO'],
    ])
    network.last.receive(helloOf({ mode: 'cluster' }))
    network.last.receive("-ERR unknown subcommand 'SETINFO'\r\n")
    expect([link.isUp, told]).toEqual([false, []])
    network.last.receive(infoOf({ info: 'a_field:1:2\r\n' }))
    expect([link.isUp, link.problem, told]).toEqual([true, undefined, ['up']])
    expect(facts).toMatchObject([{ node: NODE, role: 'master', mode: 'cluster', version: '7.0.0' }])
    expect(facts[0]?.info.get('a_field')).toBe('1:2')
  })

  test('logs in with the bytes of user and password', () => {
    const credentials = { user: '\xe9', password: '\xff \0' }
    const { network, link } = linkOn({ credentials: () => credentials })
    link.connectTo(NODE)
    network.clock.advance(0)
    network.last.accept()
    expect(network.last.take()[0]?.slice(0, 5)).toEqual(['HELLO', '3', 'AUTH', '\xe9', '\xff \0'])
  })

  test('logs in as the user default where none is named', () => {
    const { network, link } = linkOn({ credentials: () => ({ user: undefined, password: 'pw' }) })
    link.connectTo(NODE)
    network.clock.advance(0)
    network.last.accept()
    expect(network.last.take()[0]?.slice(2, 5)).toEqual(['AUTH', 'default', 'pw'])
  })

  test('hands what comes behind it in the same read to the user', () => {
    const { network, link, told } = linkOn()
    link.connectTo(NODE)
    network.clock.advance(0)
    network.last.accept()
    network.last.receive(helloOf(), '+OK\r\n', infoOf(), ':5\r\n', pushOf('message', 'n', 'm'))
    expect(told).toEqual(['up', 'value 5', 'message n'])
  })

  test.each([
    [
      '-WRONGPASS invalid username-password pair or user is disabled.',
      'upstream-password-file: 127.0.0.1:6379 refuses the user or password: correct upstream-user and the file',
    ],
    [
      '-NOAUTH HELLO must be called with the client already authenticated',
      'upstream-password-file: 127.0.0.1:6379 requires a password: set it, and upstream-user for a user other than default',
    ],
    [
      '-NOPROTO unsupported protocol version',
      'upstream: 127.0.0.1:6379 does not speak RESP3 (NOPROTO unsupported protocol version): Redis 7.0 or Valkey is needed',
    ],
    [
      "-ERR unknown command 'HELLO'",
      'upstream: 127.0.0.1:6379 speaks protocol 2 only: Redis 7.0 or Valkey is needed',
    ],
    [
      "-NOPERM this user has no permissions to run the 'hello' command",
      "upstream-user: 127.0.0.1:6379 does not allow this user HELLO (NOPERM this user has no permissions to run the 'hello' command): give it +hello",
    ],
    [
      '-LOADING Redis is loading the dataset in memory',
      'upstream: 127.0.0.1:6379 is not ready: LOADING Redis is loading the dataset in memory',
    ],
    [
      '-ERR max number of clients reached',
      'upstream: 127.0.0.1:6379 refuses HELLO: ERR max number of clients reached',
    ],
  ])('ends at %s with a line that names the remedy', (reply, problem) => {
    const { network, link, lines, told } = linkOn()
    link.connectTo(NODE)
    network.clock.advance(0)
    network.last.accept()
    network.last.receive(`${reply}\r\n`)
    expect([link.problem, network.last.isDestroyed, told]).toEqual([problem, true, []])
    expect(lines.map(({ msg }) => msg)).toEqual([problem])
  })

  test('ends where INFO is refused', () => {
    const { network, link } = linkOn()
    link.connectTo(NODE)
    network.clock.advance(0)
    network.last.accept()
    network.last.receive(helloOf(), '+OK\r\n', '-NOPERM no info\r\n')
    expect(link.problem).toBe(
      'upstream-user: 127.0.0.1:6379 refuses INFO (NOPERM no info): give this user +info',
    )
    expect(network.last.isDestroyed).toBe(true)
  })

  test.each([
    [
      'ERR_SSL_WRONG_VERSION_NUMBER',
      'upstream: 127.0.0.1:6379 does not speak TLS: name its TLS port',
    ],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'upstream-tls-ca-cert-file: the certificate of 127.0.0.1:6379'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'upstream-tls-server-name: the certificate of 127.0.0.1:6379'],
    ['CERT_HAS_EXPIRED', 'upstream: the certificate of 127.0.0.1:6379 is not valid now'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'upstream-tls-cert-file: 127.0.0.1:6379 wants'],
    ['ECONNRESET', 'upstream: 127.0.0.1:6379: ECONNRESET'],
  ])('says what is to be done about %s', (code, problem) => {
    const { network, link } = linkOn()
    link.connectTo(NODE)
    network.clock.advance(0)
    network.last.fail(code)
    expect(link.problem).toContain(problem)
  })

  test('tells silence where TLS was to begin from silence of a host', () => {
    const tls = { servername: undefined }
    const { network, link } = linkOn({ tls: () => tls })
    link.connectTo(NODE)
    network.clock.advance(5_000)
    expect(link.problem).toBe('upstream: 127.0.0.1:6379 does not answer')
    network.clock.advance(100)
    network.last.emit('connect')
    network.clock.advance(5_000)
    expect(link.problem).toContain('upstream: 127.0.0.1:6379 does not speak TLS')
  })

  test('ends where the node is none that may be used', () => {
    const { network, link, told } = linkOn({
      problemOf: ({ role }) => (role === 'master' ? undefined : `a ${role}`),
    })
    link.connectTo(NODE)
    network.clock.advance(0)
    network.last.shakeHands({ role: 'replica' })
    expect([link.problem, link.isUp, told]).toEqual(['a replica', false, []])
  })

  test('ends where the peer speaks something else', () => {
    const { network, link, lines } = linkOn()
    link.connectTo(NODE)
    network.clock.advance(0)
    network.last.accept()
    network.last.receive('HTTP/1.1 400 Bad Request\r\n')
    expect(link.problem).toMatch(/^upstream: 127\.0\.0\.1:6379 does not speak RESP3: /)
    expect(lines).toHaveLength(1)
  })

  test('ends after 5 seconds without an answer', () => {
    const { network, link } = linkOn()
    link.connectTo(NODE)
    network.clock.advance(0)
    network.last.accept()
    network.last.receive(helloOf())
    network.clock.advance(4_999)
    expect(network.last.isDestroyed).toBe(false)
    network.clock.advance(1)
    expect(link.problem).toBe('upstream: 127.0.0.1:6379 does not answer')
    expect(network.sockets[0]?.isDestroyed).toBe(true)
  })
})

describe('A link tries again', () => {
  test('at first within 200 ms, so that thousands of gateways do not come at once', () => {
    const { network, link } = linkOn({ random: () => 0.999 })
    link.connectTo(NODE)
    network.clock.advance(198)
    expect(network.sockets).toHaveLength(0)
    network.clock.advance(1)
    network.last.shakeHands()
    network.last.close()
    network.clock.advance(198)
    expect(network.sockets).toHaveLength(1)
    network.clock.advance(1)
    expect(network.sockets).toHaveLength(2)
  })

  test('then at growing intervals of 50 ms to 1 s, and says so once', () => {
    const { network, link, lines } = linkOn({ random: () => 0.999_999 })
    link.connectTo(NODE)
    network.clock.advance(200)
    const waits: number[] = []
    for (let attempt = 0; attempt < 9; attempt++) {
      network.last.fail('ECONNREFUSED')
      const before = network.sockets.length
      let waitedMs = 0
      for (; network.sockets.length === before; waitedMs++) network.clock.advance(1)
      waits.push(waitedMs)
    }
    expect(waits).toEqual([99, 149, 249, 449, 849, 1_049, 1_049, 1_049, 1_049])
    expect(lines.map(({ msg }) => msg)).toEqual(['upstream: 127.0.0.1:6379: ECONNREFUSED'])
  })

  test('and begins with the shortest interval again once it was up', () => {
    const { network, link } = linkOn()
    link.connectTo(NODE)
    network.clock.advance(0)
    for (let attempt = 0; attempt < 5; attempt++) {
      network.last.fail('ECONNREFUSED')
      network.clock.advance(50)
    }
    network.last.shakeHands()
    network.last.close()
    network.clock.advance(0)
    expect(network.sockets).toHaveLength(7)
  })

  test('at once where the node answers elsewhere, and not where it is connecting', () => {
    const { network, link } = linkOn({ random: () => 0.999_999 })
    link.hurry()
    link.connectTo(NODE)
    network.clock.advance(200)
    for (let attempt = 0; attempt < 5; attempt++) {
      network.last.fail('ECONNREFUSED')
      link.hurry()
      link.hurry()
    }
    expect(network.sockets).toHaveLength(6)
    network.last.shakeHands()
    link.hurry()
    network.clock.advance(10_000)
    expect([network.sockets.length, link.isUp]).toEqual([6, true])
  })

  test('where its files cannot be read, and says why', () => {
    let fails = true
    const { network, link, lines } = linkOn({
      credentials: () => {
        if (fails)
          throw new RespcastError('ERR_CONFIG', 'upstream-password-file /p: cannot be read')
        return undefined
      },
    })
    link.connectTo(NODE)
    network.clock.advance(1_000)
    expect([network.sockets.length, link.problem]).toEqual([
      0,
      'upstream-password-file /p: cannot be read',
    ])
    expect(lines.map(({ msg }) => msg)).toEqual(['upstream-password-file /p: cannot be read'])
    fails = false
    network.clock.advance(100)
    expect(network.sockets).toHaveLength(1)
  })

  test('not after it was stopped', () => {
    const { network, link, told, up } = linkOn()
    const socket = up()
    link.stop()
    network.clock.advance(60_000)
    expect([socket.isDestroyed, network.sockets.length, network.clock.pendingTimers]).toEqual([
      true,
      1,
      0,
    ])
    expect(told).toEqual(['down closed'])
  })
})

describe('A link that is up', () => {
  test('writes what was sent in one turn at its end, in order', () => {
    const { network, link, told, up } = linkOn()
    const socket = up()
    link.send('A', '1')
    const at = link.reserve(13)
    link.slab.write('*1\r\n$3\r\nTWO\r\n', at, 'latin1')
    link.write(Buffer.from('*1\r\n$5\r\nTHREE\r\n'))
    expect(socket.take()).toEqual([])
    network.turn.end()
    expect(socket.take()).toEqual([['A', '1'], ['TWO'], ['THREE']])
    expect(told).toEqual(['flushed'])
  })

  test('does not write again to memory that was sent', () => {
    const { network, link, up } = linkOn()
    up().isDeaf = true
    const first = link.reserve(40_000)
    const { slab } = link
    network.turn.end()
    const second = link.reserve(20_000)
    expect([link.slab === slab, second - first >= 40_000]).toEqual([true, true])
    link.reserve(20_000)
    expect(link.slab === slab).toBe(false)
  })

  test('does not send later what was to be sent when it ended', () => {
    const { network, link, told, up } = linkOn()
    const socket = up()
    link.send('LOST')
    link.reserve(4)
    socket.close()
    network.clock.advance(0)
    network.last.accept()
    network.last.take()
    network.turn.end()
    expect(network.last.take()).toEqual([])
    expect(told).toEqual(['down closed'])
  })

  test('tells its end, with its cause and the time of the last byte', () => {
    const { network, told, up } = linkOn()
    const socket = up()
    network.clock.advance(300)
    socket.receive(':1\r\n')
    network.clock.advance(300)
    socket.fail('ECONNRESET')
    socket.close()
    expect(told).toEqual(['value 1', 'down closed'])
    expect(network.ended).toEqual(['closed'])
  })

  test('hands nothing over that comes after it was cut', () => {
    const { network, link, told, up } = linkOn()
    const socket = up()
    link.cut('silent', 'upstream: it is silent')
    expect([link.isUp, link.problem]).toEqual([false, 'upstream: it is silent'])
    socket.receive(':1\r\n')
    socket.close()
    network.clock.advance(0)
    expect(network.sockets).toHaveLength(2)
    expect(told).toEqual(['down silent'])
  })

  test('is cut by bytes that are no RESP3', () => {
    const { told, up } = linkOn()
    const socket = up()
    socket.receive(':1\r\n?')
    expect([told, socket.isDestroyed]).toEqual([['value 1', 'down protocol'], true])
  })

  test('shows where it is connected, and since when', () => {
    const { network, link, up } = linkOn()
    expect(link.state).toEqual({ role: 'command', address: '', isUp: false, sinceMs: 0 })
    network.clock.advance(10)
    const socket = up()
    expect(link.state).toEqual({
      role: 'command',
      address: '127.0.0.1:6379',
      isUp: true,
      sinceMs: 10,
    })
    network.clock.advance(5)
    socket.close()
    expect(link.state).toMatchObject({ isUp: false, sinceMs: 15 })
  })
})

describe('A link that is paused', () => {
  test('reads nothing from its socket, and goes on at the end of a turn', () => {
    const { network, link, told, up } = linkOn()
    const socket = up()
    link.pause()
    expect(socket.isPaused).toBe(true)
    socket.receive('+a\r\n')
    link.resume()
    expect(told).toEqual([])
    network.turn.end()
    expect([told, socket.isPaused]).toEqual([['value a'], false])
  })

  test('stays so if it is paused again within the turn', () => {
    const { network, link, told, up } = linkOn()
    const socket = up()
    link.pause()
    socket.receive('+a\r\n')
    link.resume()
    link.pause()
    network.turn.end()
    expect([told, socket.isPaused]).toEqual([[], true])
  })

  test('shakes hands all the same, and reads nothing from then on', () => {
    const { network, link, told } = linkOn()
    link.pause()
    link.connectTo(NODE)
    network.clock.advance(0)
    const { last } = network
    last.accept()
    last.receive(helloOf(), '+OK\r\n', infoOf(), '+a\r\n')
    last.receive('+b\r\n')
    expect([link.isUp, told, last.isPaused]).toEqual([true, ['up'], true])
    link.resume()
    network.turn.end()
    expect(told).toEqual(['up', 'value a', 'value b'])
  })

  test('cuts the connection if what was kept is no RESP3', () => {
    const { network, link, told, up } = linkOn()
    const socket = up()
    link.pause()
    socket.receive('?\r\n')
    link.resume()
    network.turn.end()
    expect([told, socket.isDestroyed]).toEqual([['down protocol'], true])
  })

  test('begins anew with the next connection', () => {
    const { network, link, told, up } = linkOn()
    link.pause()
    up().receive('+of the first\r\n')
    link.cut('silent', 'silent')
    network.clock.advance(0)
    network.last.shakeHands()
    link.resume()
    network.last.receive('+a\r\n')
    network.turn.end()
    expect(told).toEqual(['down silent', 'up', 'value a'])
  })
})

describe('A link that is sent to another node', () => {
  test('is cut at once, and connects there', () => {
    const { network, link, told, up } = linkOn()
    const socket = up()
    link.connectTo(OTHER)
    expect([socket.isDestroyed, told]).toEqual([true, ['down authority']])
    network.clock.advance(0)
    expect([network.last.node, link.state.address]).toEqual([OTHER, '[::1]:7001'])
  })

  test('stays where it is the same one', () => {
    const { network, link, told, up } = linkOn()
    const socket = up()
    link.connectTo({ ...NODE })
    network.clock.advance(1_000)
    expect([socket.isDestroyed, told, network.sockets.length]).toEqual([false, [], 1])
  })

  test('does not wait for an attempt at the one before', () => {
    const { network, link } = linkOn()
    link.connectTo(NODE)
    for (let attempt = 0; attempt < 9; attempt++) {
      network.clock.advance(50)
      network.last.fail('ECONNREFUSED')
    }
    link.connectTo(OTHER)
    network.clock.advance(0)
    expect(network.last.node).toEqual(OTHER)
    const { last } = network
    link.connectTo(NODE)
    network.clock.advance(0)
    expect([last.isDestroyed, network.last.node]).toEqual([true, NODE])
  })

  test('waits where there is none', () => {
    const { network, link, told, up } = linkOn()
    up()
    link.connectTo(undefined)
    network.clock.advance(60_000)
    expect([told, network.sockets.length]).toEqual([['down authority'], 1])
    expect(link.problem).toBe('upstream: not connected yet')
  })
})

describe('On a real socket a link', () => {
  const ends: (() => void)[] = []
  afterEach(() => {
    for (const end of ends.splice(0)) end()
  })

  test('shakes hands, reads and writes, and notices the end', async () => {
    const peers: Socket[] = []
    const server = createServer((socket) => {
      peers.push(socket)
      socket.on('data', (chunk) => {
        const text = chunk.toString('latin1')
        if (text.includes('HELLO')) socket.write(helloOf())
        if (text.includes('SETINFO')) socket.write('+OK\r\n')
        if (text.includes('INFO\r\n')) socket.write(infoOf())
        if (text.includes('PING')) socket.write('+PONG\r\n')
      })
    })
    ends.push(() => {
      for (const peer of peers) peer.destroy()
      server.close()
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const network = new FakeNetwork()
    const told: string[] = []
    let tell: () => void = () => {}
    const next = (count: number): Promise<void> =>
      new Promise((resolve) => {
        tell = () => told.length >= count && resolve()
        tell()
      })
    const say = (line: string): void => {
      told.push(line)
      tell()
    }
    const link = new Link(
      'command',
      network.host({ open: openSocket, atEndOfTurn: setImmediate }),
      {
        up: () => {
          say('up')
          link.send('PING')
        },
        flushed: () => {},
        down: (cause) => say(`down ${cause}`),
        message: () => {},
        value: (value) => say(textOf(value)),
      },
    )
    ends.push(() => link.stop())
    link.connectTo({ host: '127.0.0.1', port })
    network.clock.advance(0)
    await next(2)
    peers[0]?.destroy()
    await next(3)
    expect(told).toEqual(['up', 'PONG', 'down closed'])
  })

  test('reads nothing while it is paused, and all of it afterwards', async () => {
    const COUNT = 50_000
    const peers: Socket[] = []
    const server = createServer((socket) => {
      peers.push(socket)
      socket.once('data', () => {
        socket.write(helloOf() + '+OK\r\n' + infoOf())
        for (let n = 1; n <= COUNT; n++) socket.write(pushOf('message', 'n', `${n}`))
      })
    })
    ends.push(() => {
      for (const peer of peers) peer.destroy()
      server.close()
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const network = new FakeNetwork()
    let seen = 0
    let pauses = 0
    let isPaused = false
    await new Promise<void>((resolve, reject) => {
      const link = new Link(
        'subscriber',
        network.host({ open: openSocket, atEndOfTurn: setImmediate }),
        {
          up: () => {},
          flushed: () => {},
          down: () => {},
          value: () => {},
          message: (_space, _source, _channel, payload) => {
            seen++
            if (isPaused || payload.kept().toString() !== `${seen}`) reject(new Error(`at ${seen}`))
            if (seen === COUNT) resolve()
            if (seen % 1_000 !== 0) return
            isPaused = true
            pauses++
            link.pause()
            // A few turns, in which more arrives.
            const goOn = (): void => {
              isPaused = false
              link.resume()
            }
            setImmediate(() => setImmediate(() => setImmediate(goOn)))
          },
        },
      )
      ends.push(() => link.stop())
      link.connectTo({ host: '127.0.0.1', port })
      network.clock.advance(0)
    })
    expect([seen, pauses]).toEqual([COUNT, COUNT / 1_000])
  })
})
