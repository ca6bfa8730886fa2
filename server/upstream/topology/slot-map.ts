import { SLOT_COUNT } from '../../../shared/key-slot.ts'
import type { RespValue } from '../../../shared/resp/types.ts'
import { textOf } from '../link/link.ts'
import { isSameNode, nodeText, type Node } from '../node.ts'

/** The masters of a cluster, by slot. */
export class SlotMap {
  readonly #owners: (Node | undefined)[] = []

  /** The owner of a slot. */
  ownerOf(slot: number): Node | undefined {
    return this.#owners[slot]
  }

  /** A slot has moved. */
  set(slot: number, owner: Node): void {
    this.#owners[slot] = owner
  }

  /** The owners, each once, by `host:port`. */
  masters(): Map<string, Node> {
    const masters = new Map<string, Node>()
    let last: Node | undefined
    for (const owner of this.#owners) {
      // Neighbouring slots share an owner, and its object.
      if (owner === undefined || owner === last) continue
      masters.set(nodeText(owner), owner)
      last = owner
    }
    return masters
  }

  equals(other: SlotMap): boolean {
    for (let slot = 0; slot < SLOT_COUNT; slot++) {
      if (!isSameNode(this.#owners[slot], other.#owners[slot])) return false
    }
    return true
  }

  /** Slots that have no owner. */
  get uncovered(): number {
    let count = 0
    for (let slot = 0; slot < SLOT_COUNT; slot++) if (this.#owners[slot] === undefined) count++
    return count
  }
}

/**
 * Reads the reply of CLUSTER SLOTS: an array of `[first, last, [host, port, id, ...], replica, ...]`.
 *
 * @param asked The node that was asked: it stands for a master whose host it does not know, its own.
 * @returns Undefined if it is none, or names no slots.
 */
export function readSlots(value: RespValue, asked: Node): SlotMap | undefined {
  if (!Array.isArray(value)) return undefined
  const map = new SlotMap()
  let isAny = false
  for (const range of value as readonly RespValue[]) {
    if (!Array.isArray(range)) return undefined
    const [first, last, master] = range as readonly RespValue[]
    if (typeof first !== 'number' || typeof last !== 'number' || !Array.isArray(master))
      return undefined
    const [host, port] = master as readonly RespValue[]
    if (typeof port !== 'number') return undefined
    const name = textOf(host)
    // `cluster-preferred-endpoint-type unknown-endpoint` sends nil, and a node that has not met others an empty text or `?`.
    const node = { host: name === '' || name === '?' ? asked.host : name, port }
    for (let slot = first; slot <= last && slot < SLOT_COUNT; slot++) map.set(slot, node)
    isAny = true
  }
  return isAny ? map : undefined
}
