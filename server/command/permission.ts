import { check, checkCeiling, type Denial } from '../acl/check.ts'
import type { Client } from '../client/client.ts'
import type { Request } from '../resp/request.ts'
import type { Command } from './spec.ts'

/**
 * Why a client may not run a command now, or undefined if it may: its user must allow it, each of its ceilings too,
 * and no channel may be taken away from it.
 */
export function denialOf(client: Client, command: Command, request: Request): Denial | undefined {
  const { identity, overlay } = client
  const { channels, keys } = command.spec
  const denial = check(identity.user, command.acl, request, channels, keys)
  if (denial) return denial
  for (const ceiling of identity.ceilings) {
    const bound = checkCeiling(ceiling, command.acl, request, channels, keys)
    if (bound) return bound
  }
  if (overlay && channels && channels.kind !== 'none' && channels.kind !== 'pattern') {
    const last = channels.last < 0 ? request.count + channels.last : channels.last
    for (let i = channels.first; i <= last; i++) {
      const name = request.text(i)
      const may = channels.kind === 'publish' ? overlay.mayPublish(name) : overlay.mayReceive(name)
      if (!may) return { reason: 'channel', object: name }
    }
  }
  return undefined
}
