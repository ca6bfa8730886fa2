import type { RespValue } from '../../../shared/resp/types.ts'
import { userKind } from './acl-rules.ts'
import { parseClient, parseClientList } from './client-list.ts'
import type { ConnectionRow } from './client-list.ts'
import type { Command } from './commands.ts'
import { plural } from './format.ts'
import { announceOutcome, confirm } from './messages.ts'
import { listOf, numberOf, recordOf, textOf } from './reply.ts'
import type { Session } from './session.ts'

/** The live connections that a change affects. */
export interface Affected {
  readonly count: number
  /** Some of them. */
  readonly sample: readonly ConnectionRow[]
}

const SAMPLE_SIZE = 10

/** Reads the reply of TOKEN REVOKE ... DRYRUN. */
export function parseDryRun(reply: RespValue): Affected {
  const fields = recordOf(reply)
  return {
    count: numberOf(fields.get('sessions')) ?? 0,
    sample: listOf(fields.get('sample') ?? []).map((line) => parseClient(textOf(line))),
  }
}

/**
 * Finds the live connections of a user, role or ceiling: those of tokens by a dry run of a revocation, others in CLIENT LIST.
 *
 * @throws {RespcastError} As {@link Session.send}.
 */
export async function affectedBy(session: Session, user: string): Promise<Affected> {
  const command = dryRunFor(user)
  if (command) return parseDryRun(await session.send(command))
  const list = parseClientList(textOf(await session.send(['CLIENT', 'LIST'])))
  const own = list.filter((row) => row.user === user)
  return { count: own.length, sample: own.slice(0, SAMPLE_SIZE) }
}

function dryRunFor(user: string): Command | undefined {
  const kind = userKind(user)
  if (kind === 'role') return ['TOKEN', 'REVOKE', 'ROLE', user.slice('role:'.length), 'DRYRUN']
  if (kind === 'user') return undefined
  const [, alias = 'default', subject = ''] = /^jwt(?:@([^:]*))?:(.*)$/s.exec(user) ?? []
  return ['TOKEN', 'REVOKE', 'SUB', subject, 'FROM', alias, 'DRYRUN']
}

/**
 * Asks, then kills connections one by one, by their id.
 *
 * @returns True if the commands were sent.
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
  await announceOutcome(async () => {
    const replies = await session.sendAll(commands)
    const killed = replies.reduce<number>((sum, reply) => sum + (numberOf(reply) ?? 0), 0)
    return `${plural(killed, 'connection')} killed`
  })
  return true
}
