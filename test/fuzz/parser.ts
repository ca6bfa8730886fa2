import { deepStrictEqual, ok } from 'node:assert/strict'
import { ProtocolError } from '../../server/resp/protocol-error.ts'
import { RequestParser, type RequestLimits } from '../../server/resp/request-parser.ts'
import { parseRequests, TCP_LIMITS } from '../support/parse-requests.ts'
import { cutAtRandom } from '../support/random.ts'
import type { Dice } from './dice.ts'
import type { FuzzTarget } from './targets.ts'

/** The limits of a WebSocket. */
const WEBSOCKET_LIMITS: RequestLimits = {
  maxBulkBytes: 65_536,
  maxArguments: 128,
  maxCommandBytes: 65_536,
}

const PIECES = [
  ...['\r\n', '\n', '\r', '\0', ' ', '\t', '"', "'", '\\x41', '*', '$', ':', '+', '-', '>', '%'],
  ...['*0\r\n', '*-1\r\n', '$-1\r\n', '$0\r\n\r\n', '*1\r\n$4\r\nPING\r\n', '*2147483648\r\n'],
  ...['*1048577\r\n', '$536870913\r\n', '$512\r\n', '*01\r\n', '*+1\r\n', '99999999999999999999'],
  ...['GET / HTTP/1.1\r\n', 'Host: a\r\n', 'POST ', '\x16\x03\x01', 'PING\r\n', '\xff', 'a'],
]

const NAMES = ['PING', 'PUBLISH', 'subscribe', 'HELLO', 'AUTH', '', 'x'.repeat(300)]

function requestOf(dice: Dice): string {
  const args = dice.several(1, 4, () => (dice.oneIn(2) ? dice.pick(NAMES) : dice.bytes(20)))
  if (dice.oneIn(4)) return `${args.map((arg) => JSON.stringify(arg)).join(' ')}\r\n`
  return `*${args.length}\r\n${args.map((arg) => `$${arg.length}\r\n${arg}\r\n`).join('')}`
}

/** Bytes as a peer might send them: good, damaged, or made of what a parser looks for. */
function streamOf(dice: Dice): Buffer {
  const text = dice.oneIn(4)
    ? dice.text(PIECES, 20)
    : dice.damaged(dice.several(0, 5, () => requestOf(dice)).join(''), PIECES)
  return Buffer.from(text, 'latin1')
}

/**
 * Bytes of a RESP peer: whole and cut anywhere they are the same requests and the same error, nothing but a `ProtocolError`
 * is thrown, each request takes at least a byte, and no more is held than was sent.
 */
export const parser: FuzzTarget = {
  name: 'parser',
  open: () => (dice) => {
    const stream = streamOf(dice)
    const limits = dice.oneIn(2) ? TCP_LIMITS : WEBSOCKET_LIMITS
    const unauthenticated = dice.oneIn(2)
    const whole = parseRequests([stream], limits, unauthenticated)
    const pieces = cutAtRandom(stream, dice.pick([1, 3, 30]), dice.unit)
    const cut = parseRequests(pieces, limits, unauthenticated)
    deepStrictEqual(cut.requests, whole.requests)
    deepStrictEqual(
      [cut.error?.kind, cut.error?.message],
      [whole.error?.kind, whole.error?.message],
    )
    ok(whole.requests.length <= stream.length)
    if (whole.error) ok(whole.error.message.length <= 256, whole.error.message)
    const held = heldBytes(pieces, limits)
    ok(held <= stream.length, `${held} of ${stream.length} bytes held`)
  },
}

/** The most that a parser holds of bytes that are lent to it. */
function heldBytes(pieces: readonly Buffer[], limits: RequestLimits): number {
  const one = new RequestParser(limits)
  let most = 0
  try {
    for (const piece of pieces) {
      one.lend(piece)
      while (one.next());
      one.keep(false)
      most = Math.max(most, one.pendingBytes)
    }
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
  }
  return most
}
