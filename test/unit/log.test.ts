import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEER_LINES, PeerLog, setLogLevel, shown } from '../../server/log.ts'
import { utf8Length } from '../../shared/bytes.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { recordedLog } from '../support/recorded-log.ts'
import { TestCore } from '../support/test-core.ts'

describe('A text in the log', () => {
  test.each([
    ['plain', 'plain'],
    ['a\nb\r\n', 'a\\x0ab\\x0d\\x0a'],
    ['\x1b[31m\x7f\x9b', '\\x1b[31m\\x7f\\x9b'],
    ['left\u202eright\u200b\u2028\ufeff', 'left\\u{202e}right\\u{200b}\\u{2028}\\u{feff}'],
    ['größe', 'größe'],
  ])('has its controls escaped: %j', (text, expected) => {
    expect(shown(text)).toBe(expected)
  })

  test.each([
    ['x'.repeat(256), 'x'.repeat(256)],
    ['x'.repeat(257), `${'x'.repeat(253)}…`],
    ['x'.repeat(1_000_000), `${'x'.repeat(253)}…`],
    ['\n'.repeat(65), `${'\\x0a'.repeat(63)}\\…`],
    ['é'.repeat(200), `${'é'.repeat(126)}…`],
    ['😀'.repeat(100), `${'😀'.repeat(63)}…`],
  ])('is cut to 256 bytes with a mark, between characters', (text, expected) => {
    expect(shown(text)).toBe(expected)
    expect(utf8Length(shown(text))).toBeLessThanOrEqual(256)
    expect(shown(shown(text))).toBe(shown(text))
  })

  test('is not there at all under hide-user-data-from-log', () => {
    expect(shown('secret', true)).toBe('(hidden)')
  })

  test('is escaped and cut in each field of each line, in lists too; numbers stay', () => {
    const { log, lines } = recordedLog()
    log.info({ name: 'a\nb', names: ['c\n', 7], count: 3, long: 'x'.repeat(300) }, 'hello')
    expect(lines).toMatchObject([
      {
        msg: 'hello',
        name: 'a\\x0ab',
        names: ['c\\x0a', 7],
        count: 3,
        long: `${'x'.repeat(253)}…`,
      },
    ])
  })
})

function opened() {
  const { log, lines } = recordedLog()
  const clock = new FakeClock()
  const peerLog = new PeerLog(log, clock)
  const write = (times: number): void => {
    for (let i = 0; i < times; i++) peerLog.write('tokenRefused', () => ({ i }))
  }
  /** What was written since the last look: the numbers of lines, and the summaries. */
  const look = (): unknown[] =>
    lines
      .splice(0)
      .map(({ i, leftOut, seconds }) => i ?? `${String(leftOut)} in ${String(seconds)} s`)
  return { log, lines, clock, peerLog, write, look }
}

const TEN = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]

describe('Lines that a peer causes', () => {
  test('are all written while there are ten of a kind in a second', () => {
    const { clock, write, look } = opened()
    for (let second = 0; second < 5; second++) {
      write(10)
      expect(look()).toEqual(TEN)
      clock.advance(1_000)
    }
    expect(look()).toEqual([])
    expect(clock.pendingTimers).toBe(0)
  })

  test('are left out beyond that, and one line says of which kind, how many, and for how long', () => {
    const { clock, lines, write } = opened()
    write(443)
    expect(lines.splice(0)).toHaveLength(10)
    clock.advance(1_000)
    expect(lines).toMatchObject([
      {
        level: 'info',
        msg: 'more lines of this kind were left out',
        like: 'token refused',
        leftOut: 433,
        seconds: 1,
      },
    ])
  })

  test('are written ten in every ten seconds while a flood lasts, then as before', () => {
    const { clock, write, look } = opened()
    write(20)
    clock.advance(1_000)
    expect(look()).toEqual([...TEN, '10 in 1 s'])
    for (let second = 0; second < 10; second++) {
      write(100)
      clock.advance(1_000)
    }
    expect(look()).toEqual([...TEN, '990 in 10 s'])
    clock.advance(10_000)
    write(10)
    clock.advance(1_000)
    write(10)
    expect(look()).toEqual([...TEN, ...TEN])
  })

  test('are counted until a late timer says so', () => {
    const { clock, peerLog, write, look } = opened()
    write(12)
    clock.advance(999)
    peerLog.flush()
    expect(look()).toEqual([...TEN, '2 in 1 s'])
    clock.advance(60_000)
    expect(look()).toEqual([])
  })

  test('do not crowd out lines of another kind', () => {
    const { lines, peerLog, write } = opened()
    write(100)
    lines.length = 0
    peerLog.write('originRefused', () => ({ origin: 'https://x\n.example' }))
    expect(lines).toMatchObject([{ level: 'warn', origin: 'https://x\\x0a.example' }])
  })

  test('cost nothing that is not written: their fields are not made', () => {
    const { log, clock, peerLog, lines } = opened()
    let made = 0
    const fields = () => ({ made: made++ })
    for (let i = 0; i < 100; i++) peerLog.write('tokenRefused', fields)
    expect(made).toBe(10)
    setLogLevel(log, 'warning')
    for (let i = 0; i < 100; i++) peerLog.write('protocolError', fields)
    expect(made).toBe(10)
    clock.advance(60_000)
    expect(lines.filter(({ like }) => like === 'protocol error')).toEqual([])
  })
})

/** Ways of a peer without a login to have a line written, each taken two hundred times. */
const FLOODS: readonly [keyof typeof PEER_LINES, (core: TestCore) => unknown][] = [
  ['connectionRejected', (core) => core.admission.admit({ transport: 'tcp', ip: '203.0.113.7' })],
  ['protocolError', (core) => core.connect().write('*1\r\n!\r\n')],
  ['crossProtocol', (core) => core.connect().write('GET / HTTP/1.1\r\n\r\n')],
  ['tokenRefused', (core) => core.connect({ transport: 'websocket', token: 'x' }).settled()],
  ['clientClosed', (core) => core.connect().client.peerClosed()],
  [
    'outputLimit',
    (core) => {
      const slow = core.connect()
      slow.sink.blocks = true
      for (let i = 0; i < 2; i++) slow.send('PING', 'x'.repeat(40_000))
    },
  ],
  [
    'evicted',
    (core) => {
      const big = core.connect()
      big.sink.blocks = true
      big.send('PING', 'x'.repeat(9_000))
      core.eviction.note(big.client)
    },
  ],
]

describe('Two hundred connections of a stranger', () => {
  test.each(FLOODS)('write ten lines "%s", and one with the rest', async (name, act) => {
    const { log, lines } = recordedLog()
    const core = new TestCore(
      {
        'auth-failure-delay': '0',
        'client-output-buffer-limit': 'normal 30000 0 0',
        'maxmemory-clients': name === 'evicted' ? '10000' : '0',
      },
      log,
    )
    core.eviction.start()
    if (name === 'connectionRejected') core.admission.close()
    for (let i = 0; i < 200; i++) await act(core)
    await core.stop()
    const { text } = PEER_LINES[name]
    expect(lines.filter(({ msg }) => msg === text)).toHaveLength(10)
    expect(lines.filter(({ like }) => like === text)).toMatchObject([{ leftOut: 190 }])
  })
})

test('parts that serve peers write no line that is not sampled, but for their own failures', () => {
  const folders = [
    'client',
    'command',
    'delivery',
    'http',
    'pubsub',
    'resp',
    'transport',
    'upstream',
  ]
  const root = join(import.meta.dirname, '../../server')
  const found = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .filter((file) =>
        /\blog\.(?:trace|debug|info|warn)\(/i.test(readFileSync(join(root, folder, file), 'utf8')),
      )
      .map((file) => `${folder}/${file}`),
  )
  expect(found.sort()).toEqual([
    // A drain begins and ends once.
    'client/drain.ts',
    // Once a minute at most, with the number of deliveries.
    'delivery/options.ts',
    // Of the servers upstream, which are not strangers: each problem once, and each connection that is lost.
    'upstream/link/link.ts',
    'upstream/link/sentinel-link.ts',
    // Once.
    'upstream/native-subscriptions.ts',
    'upstream/node-links.ts',
    'upstream/topology/sentinel.ts',
  ])
})
