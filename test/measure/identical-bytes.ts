import { createHash, type Hash } from 'node:crypto'
import { connect } from 'node:net'
import { WebSocket } from 'ws'
import { Dice } from '../fuzz/dice.ts'
import { encodeCommand, push } from '../support/resp-client.ts'
import { startServer, type TestGateway } from '../support/server.ts'

/** Messages that are under way at once. */
const BATCH = 200

/** A subscriber that keeps nothing but a digest of its bytes. */
interface Tap {
  readonly name: string
  readonly protocol: 2 | 3
  readonly hash: Hash
  bytes: number
  pause(): void
  resume(): void
  close(): void
}

/** Streams of bytes that differed from those published. */
export interface Divergence {
  readonly server: string
  readonly subscriber: string
}

/**
 * Publishes random messages to subscribers over RESP2, RESP3, WebSocket and compressed WebSocket, some of which read in fits and
 * starts, and compares the digests of all bytes that each of them got with those of what was published.
 */
export async function identicalBytes(count: number, seed: number): Promise<Divergence[]> {
  const found: Divergence[] = []
  for (const deflate of ['no', 'yes']) {
    const server = await startServer({
      directives: {
        'ws-permessage-deflate': deflate,
        'client-output-buffer-limit': 'normal 0 0 0 pubsub 0 0 0 websocket 0 0 0',
      },
    })
    try {
      const different = await compare(server, Math.ceil(count / 2), new Dice(seed))
      found.push(...different.map((subscriber) => ({ server: `deflate ${deflate}`, subscriber })))
    } finally {
      await server.stop()
    }
  }
  return found
}

async function compare(server: TestGateway, count: number, dice: Dice): Promise<string[]> {
  const token = await server.mint('1', { channels: ['*'] })
  const taps = [
    await tapTcp(server, 'RESP2', 2),
    await tapTcp(server, 'RESP2 that pauses', 2),
    await tapTcp(server, 'RESP3', 3),
    await tapWebSocket(server, 'WebSocket', token),
    await tapWebSocket(server, 'WebSocket that pauses', token),
  ]
  const publisher = connect({ port: server.port, host: '127.0.0.1', noDelay: true })
  let answers = 0
  publisher.on('data', (chunk: Buffer) => {
    for (const byte of chunk) if (byte === 0x0a) answers++
  })
  const expected = {
    2: { hash: createHash('sha256'), bytes: 0 },
    3: { hash: createHash('sha256'), bytes: 0 },
  }
  for (let sent = 0; sent < count;) {
    const commands: Buffer[] = []
    for (let at = 0; at < BATCH && sent < count; at++, sent++) {
      const payload = payloadOf(dice)
      commands.push(encodeCommand('PUBLISH', 'a', payload))
      for (const protocol of [2, 3] as const) {
        const frame = push(protocol, 'message', 'a', payload)
        expected[protocol].hash.update(frame)
        expected[protocol].bytes += frame.length
      }
    }
    for (const tap of taps.filter(({ name }) => name.includes('pauses'))) {
      if (dice.oneIn(2)) tap.pause()
      else tap.resume()
    }
    publisher.write(Buffer.concat(commands))
    await until(() => answers >= sent)
    if (dice.oneIn(10)) await allHave(taps, expected)
  }
  await allHave(taps, expected)
  const digests = { 2: expected[2].hash.digest('hex'), 3: expected[3].hash.digest('hex') }
  publisher.destroy()
  for (const tap of taps) tap.close()
  return taps
    .filter((tap) => tap.hash.digest('hex') !== digests[tap.protocol])
    .map(({ name }) => name)
}

/** Small ones mostly; those beyond 16 KiB are shared between subscribers and not copied. */
function payloadOf(dice: Dice): Buffer {
  const size = dice.oneIn(200)
    ? dice.below(200_000)
    : dice.oneIn(20)
      ? dice.below(20_000)
      : dice.below(300)
  const filling = dice.bytes(16)
  return filling === '' ? Buffer.alloc(size) : Buffer.alloc(size, filling, 'latin1')
}

async function allHave(
  taps: readonly Tap[],
  expected: Record<2 | 3, { readonly bytes: number }>,
): Promise<void> {
  for (const tap of taps) tap.resume()
  await until(() => taps.every((tap) => tap.bytes >= expected[tap.protocol].bytes))
}

async function until(holds: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 60_000
  while (!holds()) {
    if (performance.now() > deadlineMs) throw new Error('bytes are missing')
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

async function tapTcp({ port }: TestGateway, name: string, protocol: 2 | 3): Promise<Tap> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const greeting = protocol === 3 ? encodeCommand('HELLO', '3') : Buffer.alloc(0)
  const end = push(protocol, 'subscribe', 'a', 1)
  let head = Buffer.alloc(0)
  let isReady = false
  const tap: Tap = {
    name,
    protocol,
    hash: createHash('sha256'),
    bytes: 0,
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    close: () => void socket.destroy(),
  }
  socket.on('data', (chunk: Buffer) => {
    if (isReady) {
      tap.hash.update(chunk)
      tap.bytes += chunk.length
      return
    }
    head = Buffer.concat([head, chunk])
    isReady = head.subarray(-end.length).equals(end)
  })
  socket.write(Buffer.concat([greeting, encodeCommand('SUBSCRIBE', 'a')]))
  await until(() => isReady)
  return tap
}

async function tapWebSocket({ wsUrl }: TestGateway, name: string, token: string): Promise<Tap> {
  const webSocket = new WebSocket(wsUrl, ['resp3', `bearer.${token}`])
  const end = push(3, 'subscribe', 'a', 1)
  let isReady = false
  const tap: Tap = {
    name,
    protocol: 3,
    hash: createHash('sha256'),
    bytes: 0,
    pause: () => webSocket.pause(),
    resume: () => webSocket.resume(),
    close: () => webSocket.terminate(),
  }
  webSocket.on('message', (data) => {
    const bytes = data as Buffer
    if (isReady) {
      tap.hash.update(bytes)
      tap.bytes += bytes.length
    } else isReady = bytes.subarray(-end.length).equals(end)
  })
  webSocket.once('open', () => webSocket.send(encodeCommand('SUBSCRIBE', 'a')))
  await until(() => isReady)
  return tap
}
