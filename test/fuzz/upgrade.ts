import { ok, strictEqual } from 'node:assert/strict'
import { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { createPublicApp } from '../../server/http/public.ts'
import { KeepAlive } from '../../server/transport/keep-alive.ts'
import { WaitingSockets } from '../../server/transport/waiting-sockets.ts'
import { TestCore } from '../support/test-core.ts'
import type { Dice } from './dice.ts'
import type { FuzzTarget } from './targets.ts'

const ORIGIN = 'https://app.example'
const TOKEN = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.canary'

/** Answers that an upgrade may get. */
const STATUSES = new Set([101, 400, 403, 404, 405, 413, 414, 415, 426, 431])

/** Most turns of the event loop until a request is answered or its socket ended. */
const MOST_TURNS = 200

const KEYS = ['dGhlIHNhbXBsZSBub25jZQ==', 'short', '', 'dGhlIHNhbXBsZSBub25jZQ==dGhl', '\xff']
const ORIGINS = [
  ...[
    ORIGIN,
    ORIGIN,
    ORIGIN,
    'null',
    'http://app.example',
    'https://app.example:443',
    'https://app.example.',
  ],
  ...[
    'https://app.example.evil.test',
    'https://user@app.example',
    'HTTPS://APP.EXAMPLE',
    'https://',
    '',
    '\xff',
  ],
]
const PROTOCOLS = [
  ...[
    'resp3',
    'resp3',
    `resp3, bearer.${TOKEN}`,
    `bearer.${TOKEN}, resp3`,
    `bearer.${TOKEN}`,
    'RESP3',
    '',
  ],
  ...[
    ',',
    'resp3,resp3',
    'a, b',
    `b${' '.repeat(900)}x`,
    Array(17).fill('resp3').join(),
    'resp3 a',
    '"resp3"',
  ],
]
const EXTENSIONS = [
  ...[
    'permessage-deflate',
    'permessage-deflate; client_max_window_bits',
    'constructor',
    '__proto__',
    ';',
  ],
  ...['permessage-deflate; client_max_window_bits=99', 'x; y="z', ','.repeat(500)],
]
const PATHS = [
  '/ws',
  '/ws',
  '/ws',
  '/ws',
  '/ws?token=a',
  '/ws/',
  '/WS',
  '/',
  '/healthz',
  '/metrics',
  '//ws',
  '/ws%00',
  '*',
  '/client/x',
  'http://a/ws',
]
const PIECES = [
  '\r\n',
  '\n',
  '\0',
  ': ',
  ' ',
  '\t',
  'Host: b\r\n',
  'Origin: https://evil.example\r\n',
  'Content-Length: 5\r\n',
  'Transfer-Encoding: chunked\r\n',
  '\xff',
  ',',
  ';',
]

interface Upgrade {
  readonly text: string
  /** No byte was changed afterwards, so that {@link mayUpgrade} can tell what has to come of it. */
  readonly isAsMade: boolean
  readonly method: string
  readonly path: string
  readonly headers: ReadonlyMap<string, string>
}

function upgradeOf(dice: Dice): Upgrade {
  const headers = new Map([
    ['Host', dice.oneIn(20) ? dice.pick(['', 'a b', 'a:99999', '[::1', '\xff']) : 'app.example'],
    [
      'Connection',
      dice.oneIn(20) ? dice.pick(['close', 'keep-alive', 'keep-alive, Upgrade', '']) : 'Upgrade',
    ],
    [
      'Upgrade',
      dice.oneIn(20) ? dice.pick(['h2c', 'WebSocket', 'websocket, h2c', '']) : 'websocket',
    ],
    ['Sec-WebSocket-Version', dice.oneIn(20) ? dice.pick(['8', '12', '14', '', '13, 8']) : '13'],
    ['Sec-WebSocket-Key', dice.oneIn(10) ? dice.pick(KEYS) : (KEYS[0] as string)],
  ])
  if (dice.oneIn(2)) headers.set('Origin', dice.pick(ORIGINS))
  if (dice.oneIn(2)) headers.set('Sec-WebSocket-Protocol', dice.pick(PROTOCOLS))
  if (dice.oneIn(4)) headers.set('Sec-WebSocket-Extensions', dice.pick(EXTENSIONS))
  if (dice.oneIn(8))
    headers.set('Authorization', dice.pick([`Bearer ${TOKEN}`, 'Basic YTpi', 'Bearer', '']))
  if (dice.oneIn(8))
    headers.set('Cookie', dice.pick(['session=1', `token=${TOKEN}`, '=;=;', 'a'.repeat(2_000)]))
  if (dice.oneIn(8)) headers.set('X-Forwarded-For', dice.pick(['1.2.3.4', 'a, b', '\xff', '::1']))
  if (dice.oneIn(20)) headers.delete(dice.pick([...headers.keys()]))
  const method = dice.oneIn(12)
    ? dice.pick(['POST', 'HEAD', 'OPTIONS', 'PUT', 'CONNECT', 'QUERY', 'get'])
    : 'GET'
  const path = dice.pick(PATHS)
  const lines = [...headers].map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const whole = `${method} ${path} HTTP/1.1\r\n${lines}\r\n`
  const isAsMade = !dice.oneIn(3)
  return { text: isAsMade ? whole : dice.damaged(whole, PIECES), isAsMade, method, path, headers }
}

/** Decides by RFC 6455 section 4.2.1 and the settings, without any code of the server, whether a request has to be upgraded. */
function mayUpgrade({ method, path, headers }: Upgrade): boolean {
  const header = (name: string): string | undefined => headers.get(name)?.trim()
  const protocols = header('Sec-WebSocket-Protocol')
  const offered = protocols?.split(',').map((name) => name.trim())
  return (
    method === 'GET' &&
    // RFC 9112 section 3.2.2: the whole address may stand there.
    path.replace(/^http:\/\/a|\?.*$/g, '') === '/ws' &&
    headers.has('Host') &&
    (header('Connection') ?? '').toLowerCase().split(/, */).includes('upgrade') &&
    header('Upgrade')?.toLowerCase() === 'websocket' &&
    ['13', '8'].includes(header('Sec-WebSocket-Version') ?? '') &&
    header('Sec-WebSocket-Key') === KEYS[0] &&
    [undefined, ORIGIN].includes(header('Origin')) &&
    (offered === undefined ||
      (offered.includes('resp3') &&
        new Set(offered).size === offered.length &&
        offered.length <= 16))
  )
}

/** One end of a connection without a network. */
class Peer extends Duplex {
  readonly remoteAddress = '127.0.0.1'
  readonly remotePort = 40_000
  readonly localAddress = '127.0.0.1'
  readonly localPort = 80
  readonly #sent: Buffer[] = []

  /** What the server has written. */
  get received(): string {
    return Buffer.concat(this.#sent).toString('latin1')
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#sent.push(chunk)
    done()
  }

  destroySoon(): void {
    this.end(() => this.destroy())
  }

  setTimeout(): this {
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

async function answerOf(app: FastifyInstance, bytes: Buffer): Promise<Peer> {
  const peer = new Peer()
  app.server.emit('connection', peer)
  peer.push(bytes)
  for (let turn = 0; turn < 4 && peer.received === '' && !peer.destroyed; turn++) await nextTurn()
  peer.push(null)
  for (let turn = 0; !peer.destroyed && !peer.writableEnded; turn++) {
    ok(turn < MOST_TURNS, 'neither answered nor closed')
    await nextTurn()
  }
  peer.destroy()
  return peer
}

/**
 * Upgrade requests, through Node's HTTP parser, Fastify and ws: each is answered or closed within a bounded number of turns; 101
 * where RFC 6455, the path, the origin and the subprotocols ask for it and nowhere else; no token comes back.
 */
export const upgrade: FuzzTarget = {
  name: 'upgrade',
  open: async () => {
    const core = new TestCore({ 'ws-allowed-origins': ORIGIN, 'auth-failure-delay': '0' })
    const keepAlive = new KeepAlive(core.clock, core.config, () => 0.5)
    const waiting = new WaitingSockets(() => 10)
    const app = await createPublicApp(core, keepAlive, waiting, undefined)
    core.admission.open()
    await app.ready()
    return async (dice) => {
      const request = upgradeOf(dice)
      const { received } = await answerOf(app, Buffer.from(request.text, 'latin1'))
      const [, status] = /^HTTP\/1\.[01] (\d{3}) /.exec(received) ?? []
      ok(status !== undefined || received === '', `no HTTP answer: ${received.slice(0, 100)}`)
      if (status !== undefined) ok(STATUSES.has(Number(status)) || Number(status) === 200, status)
      ok(!received.includes('canary'), 'a token came back')
      if (request.isAsMade)
        strictEqual(
          status === '101',
          mayUpgrade(request),
          `${status}: ${JSON.stringify(request.text)}`,
        )
      else if (status === '101') ok(/\/ws[? ]/i.test(request.text), 'upgraded elsewhere')
      await nextTurn()
      strictEqual(core.clients.size, 0, 'a client was left behind')
    }
  },
}
