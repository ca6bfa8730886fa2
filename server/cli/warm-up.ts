import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { encodeCommand } from '../../shared/resp/command.ts'
import { RESP3_SUBPROTOCOL } from '../../shared/subprotocol.ts'
import { systemClock } from '../clock.ts'
import { loadConfig } from '../config/load.ts'
import { Config } from '../config/store.ts'
import { Gateway } from '../gateway.ts'
import { silentLog, type Logger } from '../log.ts'
import { mintToken } from '../token/mint.ts'

/** Time for which the rehearsal goes on, in ms. Longer makes nothing faster that was measured. */
const SPAN_MS = 400

/** Longest time that one of its clients may take, in ms. */
const PATIENCE_MS = 1_000

const LOOPBACK = '127.0.0.1'

/** The token of all who rehearse. */
const REQUEST = {
  iss: 'https://rehearsal.invalid',
  aud: 'rehearsal',
  sub: 'rehearsal',
  claim: 'respcast',
  lifetimeSeconds: 60,
  grants: { channels: ['r:*'] },
}

/** Clients of one round. */
const BROWSERS = 8

/** Where the rehearsal happens. */
interface Stage {
  readonly respPort: number
  readonly httpPort: number
  readonly token: string
}

/**
 * Lets a server that nobody else knows of serve for a moment: the runtime compiles a function when it is first called, and improves
 * it when it has been called often. Without this, the first clients of a server wait for that, those who are many at once above all.
 * It listens at free ports of the loopback interface, has no user but that of one token, and ends before this returns. Where that is
 * not possible, nothing is rehearsed, and the log says why.
 *
 * @returns The commands that were rehearsed.
 */
export async function warmUp(log: Pick<Logger, 'debug'>): Promise<number> {
  try {
    const dir = mkdtempSync(join(tmpdir(), 'respcast-rehearsal-'))
    try {
      const commands = await rehearse(dir)
      log.debug({ commands }, 'rehearsed')
      return commands
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  } catch (error) {
    log.debug({ reason: (error as Error).message }, 'nothing was rehearsed')
    return 0
  }
}

async function rehearse(dir: string): Promise<number> {
  const secret = randomBytes(32).toString('base64url')
  const gateway = new Gateway({ config: configOf(dir, secret), log: silentLog(), anyPort: true })
  try {
    const { resp, http = 0 } = await gateway.start()
    const token = await mintToken(Buffer.from(secret), REQUEST, systemClock)
    const stage = { respPort: resp[0]?.port ?? 0, httpPort: http, token }
    const endMs = systemClock.monotonicMs() + SPAN_MS
    while (systemClock.monotonicMs() < endMs) await round(stage)
    return gateway.core.counters.commandsProcessed
  } finally {
    await gateway.stop()
  }
}

/** Nothing of the server's own configuration is in it, the environment's neither. */
function configOf(dir: string, secret: string): Config {
  const argv = [
    ...['--bind', LOOPBACK, '--http-bind', LOOPBACK, '--port', '0', '--http-port', '0'],
    ...['--admin-port', '0', '--dir', dir, '--user', 'default', 'off'],
    ...['--jwt-issuer', REQUEST.iss, '--jwt-audience', REQUEST.aud],
  ]
  return new Config(loadConfig({ argv, env: { RESPCAST_CONF_JWT_SECRET: secret }, cwd: dir }))
}

/** Browsers and backends come, subscribe, publish to each other, are refused, and go. */
async function round({ respPort, httpPort, token }: Stage): Promise<void> {
  await Promise.all([
    ...Array.from({ length: BROWSERS }, () => browse(httpPort, token)),
    dial(respPort, [encodeCommand(['HELLO', '3', 'AUTH', 'jwt', token]), ...COMMANDS]),
    dial(respPort, [encodeCommand(['AUTH', 'jwt', token]), ...COMMANDS]),
    dial(respPort, [encodeCommand(['AUTH', 'nobody', 'wrong']), ...COMMANDS]),
    dial(respPort, ['*1\r\n$-5\r\n']),
    dial(httpPort, ['GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n']),
    dial(httpPort, [UPGRADE_OF_A_STRANGER]),
  ])
}

const PUBLISH = encodeCommand(['PUBLISH', 'r:1', 'rehearsed'])
const COMMANDS: readonly Uint8Array[] = [
  encodeCommand(['SUBSCRIBE', ...Array.from({ length: 20 }, (_, at) => `r:${at}`)]),
  encodeCommand(['PSUBSCRIBE', 'r:*', 'r:?', 'r:*a*b']),
  encodeCommand(['PUBLISH', 'r:2', 'x'.repeat(20_000)]),
  Buffer.concat(Array.from({ length: 32 }, () => PUBLISH)),
  ...[['MULTI'], ['PING'], ['CLIENT', 'INFO'], ['PUBLISH', 'r:3', 'm'], ['EXEC']].map(
    encodeCommand,
  ),
  ...[['CLIENT', 'SETNAME', 'r'], ['PUBLISH', 'denied', 'm'], ['NOSUCH'], ['PING']].map(
    encodeCommand,
  ),
  ...[['UNSUBSCRIBE', 'r:1'], ['PUNSUBSCRIBE'], ['UNSUBSCRIBE'], ['QUIT']].map(encodeCommand),
]

const UPGRADE_OF_A_STRANGER =
  'GET /ws HTTP/1.1\r\nHost: a\r\nOrigin: https://stranger.invalid\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

/** A WebSocket with a token, until the server has closed it. */
function browse(port: number, token: string): Promise<void> {
  const url = `ws://${LOOPBACK}:${port}/ws`
  const webSocket = new WebSocket(url, [RESP3_SUBPROTOCOL, `bearer.${token}`], {
    handshakeTimeout: PATIENCE_MS,
  })
  webSocket.on('open', () => {
    for (const command of COMMANDS) webSocket.send(command)
  })
  return closed(webSocket, () => webSocket.terminate())
}

/** A socket that sends, until the server has closed it. */
function dial(port: number, sent: readonly (Uint8Array | string)[]): Promise<void> {
  const socket = connect(port, LOOPBACK)
  socket.resume()
  for (const bytes of sent) socket.write(bytes)
  return closed(socket, () => socket.destroy())
}

/** Waits until it has closed; ends it if that takes too long. */
function closed(peer: Socket | WebSocket, end: () => void): Promise<void> {
  const timer = systemClock.after(PATIENCE_MS, end)
  peer.on('error', () => {})
  return new Promise((resolve) => {
    peer.once('close', () => {
      timer.cancel()
      resolve()
    })
  })
}
