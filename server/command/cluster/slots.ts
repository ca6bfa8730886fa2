import { keySlot } from '../../../shared/key-slot.ts'
import type { Client } from '../../client/client.ts'
import type { Request } from '../../resp/request.ts'
import type { Command } from '../table.ts'

export const CROSS_SLOT = "CROSSSLOT Keys in request don't hash to the same slot"

/** No slot yet: nothing that is routed was named. */
const NONE = -1

/** Names of more than one slot. */
const SEVERAL = -2

/**
 * Reports whether a command names shard channels or keys of more than one slot, which no node of a cluster serves. EXEC
 * names the keys and channels of its transaction.
 */
export function crossesSlots(client: Client, command: Command, request: Request): boolean {
  if (command.spec.name !== 'exec') {
    return command.slots !== undefined && slotOf(command, request, NONE) === SEVERAL
  }
  let slot = NONE
  for (const queued of client.transaction?.queue ?? []) {
    slot = slotOf(queued.command, queued.request, slot)
    if (slot === SEVERAL) return true
  }
  return false
}

/** The slot of all that a command names and of the `known` one, if it is the same. */
function slotOf({ slots }: Command, request: Request, known: number): number {
  if (!slots) return known
  const last = slots.last < 0 ? request.count + slots.last : slots.last
  let slot = known
  for (let i = slots.first; i <= last; i += slots.step) {
    const own = keySlot(request.text(i))
    if (slot === NONE) slot = own
    else if (slot !== own) return SEVERAL
  }
  return slot
}
