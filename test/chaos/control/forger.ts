import { encodeEntry, encodeMessage, unsignedRow } from '../../../server/control/codec.ts'
import type { Entry } from '../../../server/control/entry.ts'
import type { Register } from '../../../server/control/register.ts'
import type { Dice } from '../../fuzz/dice.ts'
import { textOf } from '../../support/topologies/ask-node.ts'
import type { Node } from '../../support/topologies/node.ts'
import type { RespValue } from '../../../shared/resp/types.ts'
import { KEYS } from './keys.ts'

const FORGED_MAC = 'f'.repeat(64)
const ALL = 'on nopass ~* &* +@all'

function hex(dice: Dice): string {
  return Array.from({ length: 16 }, () => dice.below(16).toString(16)).join('')
}

/** An entry that gives everybody everything, or takes revocations back. */
function greedy(dice: Dice, uuid: string, lifted: string): Entry {
  const registers: Register[] = dice.oneIn(2)
    ? [{ key: lifted, version: 1_000, uuid, value: undefined }]
    : [{ key: 'u:role:r1', version: 1_000, uuid, value: ALL }]
  const origin = { node: hex(dice), user: 'default', address: '127.0.0.1:1' }
  return { uuid, origin, atMs: Date.now(), registers, order: undefined }
}

/** Publishes an entry again, as if it came after the last one. */
export async function replay(node: Node, isCluster: boolean, payload: string): Promise<void> {
  const last = textOf(await node.ask('HGET', KEYS.state, 'last')) || '-'
  const [, , mac, ...body] = payload.split(' ')
  const again = [last, `${Date.now()}-0`, mac, ...body].join(' ')
  await node.ask(isCluster ? 'SPUBLISH' : 'PUBLISH', KEYS.entries, again)
}

/**
 * Does once what somebody may do who can write to the upstream, and has no key of gateways: entries that are unsigned, forged, taken
 * from the log or cut off, on the channel, in the log and in the state.
 *
 * @param seen Entries that were published.
 */
export async function forge(
  node: Node,
  isCluster: boolean,
  dice: Dice,
  seen: readonly string[],
): Promise<void> {
  const publish = (payload: string): Promise<RespValue> =>
    node.ask(isCluster ? 'SPUBLISH' : 'PUBLISH', KEYS.entries, payload)
  const last = textOf(await node.ask('HGET', KEYS.state, 'last')) || '-'
  const fields = (await node.ask('HKEYS', KEYS.state)) as readonly RespValue[]
  const registers = fields.map(textOf).filter((key) => key.startsWith('r:'))
  const lifted = registers.length > 0 ? dice.pick(registers) : 'r:1099511627777'
  const uuid = hex(dice)
  const body = encodeEntry(greedy(dice, uuid, lifted))
  const row = unsignedRow(`${Date.now()}-${dice.below(9)}`, last, body)
  const mac = dice.oneIn(2) ? row.mac : FORGED_MAC
  switch (dice.below(7)) {
    case 0:
      await publish(encodeMessage({ ...row, mac }))
      break
    case 1: {
      const message = encodeMessage({ ...row, mac })
      await publish(message.slice(0, dice.below(message.length)))
      break
    }
    case 2:
      await publish(dice.bytes(200))
      break
    case 3: {
      // The signature is over the body: the place of an entry can be another.
      if (seen.length === 0) break
      const parts = dice.pick(seen).split(' ')
      if (dice.oneIn(2)) parts.splice(0, 2, last, row.id)
      await publish(parts.join(' '))
      break
    }
    case 4:
      await node.ask(
        'XADD',
        KEYS.log,
        '*',
        'uuid',
        uuid,
        'previous',
        last,
        'mac',
        mac,
        'body',
        body,
      )
      break
    case 5:
      await node.ask('XADD', KEYS.log, '*', 'some', 'thing')
      break
    default: {
      const key = dice.oneIn(2) ? lifted : 'u:role:r1'
      const value = key === lifted ? 'null' : JSON.stringify(ALL)
      await node.ask('HSET', KEYS.state, key, `1000 ${uuid} ${row.id} ${mac} ${value}`)
    }
  }
}
