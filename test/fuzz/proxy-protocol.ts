import { deepStrictEqual, ok } from 'node:assert/strict'
import { isIP } from 'node:net'
import { parseProxyHeader } from '../../server/transport/proxy-protocol.ts'
import { binaryHeader } from '../support/proxy-header.ts'
import type { Dice } from './dice.ts'
import type { FuzzTarget } from './targets.ts'

const PIECES = [
  ...['PROXY ', 'TCP4', 'TCP6', 'UNKNOWN', ' ', '\r\n', '\r', '\n', '\0', 'QUIT\n', '0', '65535'],
  ...['203.0.113.7', '::1', '::ffff:1.2.3.4', '\r\n\r\n\0\r\nQUIT\n', '\x21\x11', '\x20\0\0\0'],
]

const HEX_FAMILIES = [0x00, 0x11, 0x21, 0x31, 0x12, 0x41]

function binaryOf(dice: Dice): string {
  const header = binaryHeader({
    command: dice.pick([0x20, 0x21, 0x22, 0x11]),
    family: dice.pick(HEX_FAMILIES),
    addresses: Buffer.from(dice.bytes(dice.pick([11, 12, 36, 216, 300])), 'latin1'),
    more: Buffer.alloc(dice.pick([0, 3, 4_000, 65_000])),
  })
  return header.toString('latin1')
}

function lineOf(dice: Dice): string {
  const [source, target] = [dice.pick(PIECES), dice.pick(PIECES)]
  return `PROXY ${dice.pick(['TCP4', 'TCP6', 'UNKNOWN', ''])} ${source} ${target} 1 ${dice.below(70_000)}\r\n`
}

/**
 * First bytes of a connection from a proxy: nothing is thrown, an answer stays what it is whatever follows, no more than 4096 bytes
 * are awaited, and a client has an address and a port.
 */
export const proxyProtocol: FuzzTarget = {
  name: 'proxy-protocol',
  open: () => (dice) => {
    const good = dice.oneIn(2) ? binaryOf(dice) : lineOf(dice)
    const text = dice.oneIn(8)
      ? dice.text(PIECES, 20)
      : dice.oneIn(2)
        ? good
        : dice.damaged(good, PIECES)
    const bytes = Buffer.from(text, 'latin1')
    const whole = parseProxyHeader(bytes)
    if (whole === undefined) {
      ok(bytes.length < 4_096, `${bytes.length} bytes are awaited`)
      return
    }
    deepStrictEqual(parseProxyHeader(Buffer.concat([bytes, Buffer.from(dice.bytes(40))])), whole)
    if ('fault' in whole) return
    ok(whole.length > 0 && whole.length <= Math.min(bytes.length, 4_096))
    deepStrictEqual(parseProxyHeader(bytes.subarray(0, whole.length)), whole)
    deepStrictEqual(parseProxyHeader(bytes.subarray(0, whole.length - 1)), undefined)
    if (whole.client === undefined) return
    ok(isIP(whole.client.ip) > 0, whole.client.ip)
    ok(whole.client.port >= 0 && whole.client.port <= 65_535)
  },
}
