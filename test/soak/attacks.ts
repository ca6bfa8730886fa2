import { setTimeout as wait } from 'node:timers/promises'
import { encodeCommand } from '../support/resp-client.ts'
import { clientFrame } from '../support/raw-upgrade.ts'
import type { Dice } from '../fuzz/dice.ts'
import { Peer, upgradeRequest, type Target } from './peer.ts'

/** What an attack has at hand. */
export interface Scene {
  readonly target: Target
  readonly dice: Dice
  /** Tokens for all channels that begin with `h:`. */
  readonly tokens: readonly string[]
}

/** One round of an attack: it closes what it opened. */
type Attack = (scene: Scene) => Promise<void>

/** Addresses that hostile peers come from. */
const ADDRESSES = Array.from({ length: 40 }, (_, at) => `127.0.1.${at + 1}`)

/** Longest wait for the server to end a connection, and longest that one is held open. */
const PATIENCE_MS = 1_000
const HOLD_MS = 400

const connect = ({ dice }: Scene, port: number): Peer => new Peer(port, dice.pick(ADDRESSES))

/** A WebSocket that sends what follows with its upgrade, logged in or not. */
function browser(scene: Scene, isLoggedIn = true): Peer {
  const peer = connect(scene, scene.target.httpPort)
  peer.write(upgradeRequest(isLoggedIn ? scene.dice.pick(scene.tokens) : undefined))
  return peer
}

async function endAll(peers: readonly Peer[], ms = PATIENCE_MS): Promise<void> {
  await Promise.all(peers.map((peer) => peer.endsWithin(ms)))
  for (const peer of peers) peer.close()
}

/** Sends messages over and over for so long as the connection lives and its output is taken. */
async function flood(peer: Peer, message: Buffer, messages: number): Promise<void> {
  const frame = clientFrame(message)
  for (let sent = 0; sent < messages && peer.isOpen; sent++) {
    peer.write(frame)
    if (peer.unsent > 262_144) await wait(5)
    if (peer.unsent > 4_194_304) return
  }
}

const repeated = (count: number, ...words: string[]): Buffer =>
  Buffer.concat(Array<Buffer>(count).fill(encodeCommand(...words)))

const several = (count: number, make: () => Peer): Peer[] => Array.from({ length: count }, make)

/** Everything that strangers, and users with a small token, were seen to do to servers of this kind. */
export const ATTACKS: Readonly<Record<string, Attack>> = {
  'queues commands in MULTI': async (scene) => {
    const peers = several(7, () => browser(scene))
    const pings = repeated(4_000, 'PING')
    for (const peer of peers) peer.send(encodeCommand('MULTI'))
    await Promise.all(peers.map((peer) => flood(peer, pings, 65)))
    await endAll(peers, HOLD_MS)
  },

  'executes large replies': async (scene) => {
    const peers = several(3, () => browser(scene))
    for (const peer of peers) {
      peer.stopReading()
      peer.send(encodeCommand('MULTI'), repeated(1_500, 'CLIENT', 'INFO'), encodeCommand('EXEC'))
    }
    await endAll(peers, HOLD_MS)
  },

  'subscribes to costly patterns and publishes to costly names': async (scene) => {
    const peers = several(4, () => browser(scene))
    for (const peer of peers) {
      for (let at = 0; at < 16; at++)
        peer.send(encodeCommand('PSUBSCRIBE', `h:${'*a'.repeat(40 + at)}b`))
      for (let at = 0; at < 20; at++)
        peer.send(encodeCommand('PUBLISH', `h:${'a'.repeat(240 + at)}`, 'm'))
    }
    await endAll(peers, HOLD_MS)
  },

  'uses hostile names': async (scene) => {
    const peer = browser(scene)
    const names = [
      'h:\r\n+OK',
      'h:\0',
      'h:__proto__',
      'h:\u202e',
      'h:\x1b[2J',
      `h:${'x'.repeat(60_000)}`,
      'h:\xff\xfe',
    ]
    for (const name of names)
      peer.send(encodeCommand('SUBSCRIBE', name), encodeCommand('PUBLISH', name, 'm'))
    peer.send(
      encodeCommand('CLIENT', 'SETNAME', 'constructor'),
      encodeCommand('HELLO', '3', 'SETNAME', '__proto__'),
    )
    await endAll([peer], 100)
  },

  'does not read what it publishes to itself': async (scene) => {
    const peers = several(3, () => browser(scene))
    const message = encodeCommand('PUBLISH', 'h:unread', 'x'.repeat(60_000))
    for (const peer of peers) {
      peer.stopReading()
      peer.send(encodeCommand('SUBSCRIBE', 'h:unread'))
    }
    await Promise.all(peers.map((peer) => flood(peer, message, 60)))
    await endAll(peers, HOLD_MS)
  },

  'guesses passwords': async (scene) => {
    const backends = several(2, () => connect(scene, scene.target.respPort))
    for (const peer of backends) peer.write(repeated(500, 'AUTH', 'admin', 'wrong'))
    const browsers = several(5, () => browser(scene, false))
    for (const peer of browsers)
      peer.send(...Array<Buffer>(8).fill(encodeCommand('AUTH', 'jwt', 'eyJ.e30.x')))
    await endAll([...backends, ...browsers], HOLD_MS)
  },

  'leaves upgrades half open': async (scene) => {
    const request = upgradeRequest()
    const peers = several(60, () => connect(scene, scene.target.httpPort))
    for (const peer of peers) peer.write(request.slice(0, scene.dice.below(request.length)))
    await endAll(peers, HOLD_MS)
  },

  'asks for addresses that cannot be decoded': async (scene) => {
    const peers = several(20, () => connect(scene, scene.target.httpPort))
    for (const peer of peers)
      peer.write(
        upgradeRequest().replace('/ws', scene.dice.pick(['/ws%0', '*Y', 'http:/%', '/%ff'])),
      )
    await endAll(peers)
  },

  'never logs in': async (scene) => {
    const peers = several(60, () => browser(scene, false))
    await endAll(peers, HOLD_MS)
  },

  'subscribes and unsubscribes': async (scene) => {
    const peer = browser(scene)
    const round = Buffer.concat([
      encodeCommand('SUBSCRIBE', ...Array.from({ length: 60 }, (_, at) => `h:churn:${at}`)),
      encodeCommand('PSUBSCRIBE', 'h:churn:*', 'h:*'),
      encodeCommand('UNSUBSCRIBE'),
      encodeCommand('PUNSUBSCRIBE'),
    ])
    await flood(peer, round, 100)
    peer.reset()
  },

  'has confirmations amplified': async (scene) => {
    const peers = several(3, () => browser(scene))
    const names = Array<string>(120).fill(`h:${'n'.repeat(400)}`)
    const commands = Buffer.concat([
      encodeCommand('SUBSCRIBE', ...names),
      encodeCommand('UNSUBSCRIBE'),
    ])
    for (const peer of peers) peer.stopReading()
    await Promise.all(peers.map((peer) => flood(peer, commands, 60)))
    await endAll(peers, HOLD_MS)
  },

  'sends endless fragments': async (scene) => {
    const peers = several(5, () => browser(scene, scene.dice.oneIn(2)))
    for (const peer of peers) {
      peer.frame('x', { final: false })
      for (let at = 0; at < 500; at++)
        peer.frame(at % 2 === 0 ? 'x' : '', { opcode: 0, final: false })
    }
    await endAll(peers)
  },

  'floods with pings and pongs': async (scene) => {
    const peers = several(4, () => browser(scene))
    for (const peer of peers) {
      peer.stopReading()
      for (let at = 0; at < 500; at++)
        peer.frame('x'.repeat(125), { opcode: scene.dice.pick([9, 10]) })
    }
    await endAll(peers)
  },

  'breaks RFC 6455': async (scene) => {
    const peers = several(8, () => browser(scene))
    for (const peer of peers) {
      peer.frame(
        encodeCommand('PING'),
        scene.dice.pick([{ reserved: 0x70 }, { opcode: 3 }, { masked: false }, { opcode: 0 }]),
      )
      peer.write(scene.dice.bytes(64))
    }
    await endAll(peers)
  },

  'sends header bombs': async (scene) => {
    const bombs = [
      Array.from({ length: 2_000 }, (_, at) => `X-${at}: a\r\n`).join(''),
      `Sec-WebSocket-Protocol: b${' '.repeat(15_000)}x\r\n`,
      'Sec-WebSocket-Extensions: constructor\r\n',
      `Cookie: ${'a=b;'.repeat(20_000)}\r\n`,
    ]
    const peers = bombs.map(() => connect(scene, scene.target.httpPort))
    for (const [at, peer] of peers.entries()) peer.write(upgradeRequest(undefined, bombs[at]))
    await endAll(peers)
  },

  'takes huge names': async (scene) => {
    const peers = several(40, () => browser(scene))
    for (const peer of peers) peer.send(encodeCommand('CLIENT', 'SETNAME', 'x'.repeat(60_000)))
    await endAll(peers, HOLD_MS)
  },

  'floods the log': async (scene) => {
    const origins = several(30, () => connect(scene, scene.target.httpPort))
    for (const peer of origins)
      peer.write(upgradeRequest(undefined, 'Origin: https://evil.example\r\n'))
    const strangers = several(30, () => connect(scene, scene.target.respPort))
    for (const peer of strangers)
      peer.write(
        scene.dice.pick(['GET / HTTP/1.1\r\n\r\n', '\x16\x03\x01\x02', '*1\r\n$-5\r\n', '"\r\n']),
      )
    await endAll([...origins, ...strangers])
  },

  'sends greedy pipelines': async (scene) => {
    const peers = several(2, () => browser(scene))
    const publishes = repeated(1_500, 'PUBLISH', 'h:greedy', 'm')
    for (const peer of peers) peer.send(encodeCommand('SUBSCRIBE', 'h:greedy'))
    await Promise.all(peers.map((peer) => flood(peer, publishes, 20)))
    await endAll(peers, HOLD_MS)
  },

  'hoards idle HTTP connections': async (scene) => {
    const peers = several(100, () => connect(scene, scene.target.httpPort))
    for (const peer of peers) peer.write('GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n')
    await endAll(peers, HOLD_MS)
  },

  'sends a byte at a time': async (scene) => {
    const peers = several(5, () => browser(scene))
    const bytes = clientFrame(encodeCommand('PUBLISH', 'h:slow', 'x'.repeat(300)))
    for (const byte of bytes) {
      for (const peer of peers) peer.write(Buffer.of(byte))
      await wait(0)
    }
    await endAll(peers, 50)
  },

  'vanishes at any moment': async (scene) => {
    const peers = several(40, () => browser(scene, scene.dice.oneIn(2)))
    for (const peer of peers)
      peer.send(encodeCommand('SUBSCRIBE', 'h:gone'), encodeCommand('PUBLISH', 'h:gone', 'm'))
    await wait(scene.dice.below(30))
    for (const peer of peers) peer.reset()
  },

  'promises what it never sends': async (scene) => {
    const peers = several(20, () => connect(scene, scene.target.respPort))
    for (const peer of peers) peer.write('*1048576\r\n$536870912\r\nx')
    await endAll(peers, HOLD_MS)
  },
}
