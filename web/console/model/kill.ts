import { plural } from './format.ts'
import { announce, announceFailure } from './notices.ts'
import type { ConnectionRow } from './client-list.ts'
import { confirm } from './confirmation.ts'
import { numberOf } from './reply.ts'
import type { Command } from './command.ts'
import type { Session } from './session.ts'

/**
 * Asks, then kills connections one by one, by their id.
 *
 * @returns Something was sent.
 */
export async function killConnections(
  session: Session,
  victims: readonly ConnectionRow[],
): Promise<boolean> {
  const commands = victims.map(({ id }): Command => ['CLIENT', 'KILL', 'ID', id])
  const confirmed = await confirm({
    title: `Kill ${plural(victims.length, 'connection')}?`,
    body: `They are closed at once, and what they had still to be sent is lost. Most clients connect again.`,
    commands,
    action: 'Kill',
    isDanger: true,
  })
  if (!confirmed) return false
  try {
    const replies = await session.sendAll(commands)
    const killed = replies.reduce<number>((sum, reply) => sum + (numberOf(reply) ?? 0), 0)
    announce(`${plural(killed, 'connection')} killed`)
  } catch (error) {
    announceFailure(error)
  }
  return true
}
