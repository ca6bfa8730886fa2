import type { SubscriptionKind } from '../../client/index.ts'
import type { RespValue } from '../../../shared/resp/types.ts'
import type { CommandSource } from './command-log.ts'
import { bytesOf, labelOf, listOf, numberOf, pairsOf } from './reply.ts'
import type { Command } from './command.ts'
import type { Session } from './session.ts'

/** A channel, pattern or shard channel that somebody listens to. */
export interface ChannelRow {
  readonly name: Uint8Array
  /** For people. */
  readonly label: string
  /** Undefined where it was not asked for, see {@link MAX_COUNTED}. */
  readonly subscribers: number | undefined
}

/** Commands over a WebSocket have 128 arguments at most. */
const NAMES_PER_COMMAND = 120

/** So many channels are counted; the rest is listed without. */
export const MAX_COUNTED = 10_000

/**
 * Lists what is subscribed to: `PUBSUB CHANNELS` and `PUBSUB NUMSUB`, their forms for shard channels, or `RESPCAST PATTERNS`.
 *
 * @throws {RespcastError} As {@link Session.send}.
 */
export async function loadChannels(
  session: Session,
  kind: SubscriptionKind,
  source: CommandSource,
): Promise<readonly ChannelRow[]> {
  if (kind === 'pattern') {
    const reply = await session.send(['RESPCAST', 'PATTERNS'], source)
    return pairsOf(reply).map(([name, count]) => row(name, numberOf(count)))
  }
  const [list, count] = kind === 'shard' ? ['SHARDCHANNELS', 'SHARDNUMSUB'] : ['CHANNELS', 'NUMSUB']
  const names = listOf(await session.send(['PUBSUB', list], source))
  const counted = names.slice(0, MAX_COUNTED).map((name) => bytesOf(name))
  const commands: Command[] = []
  for (let at = 0; at < counted.length; at += NAMES_PER_COMMAND) {
    commands.push(['PUBSUB', count, ...counted.slice(at, at + NAMES_PER_COMMAND)])
  }
  const counts = (await session.sendAll(commands, source)).flatMap((reply) => pairsOf(reply))
  // NUMSUB answers in the order in which it was asked.
  return names.map((name, at) => row(name, numberOf(counts[at]?.[1])))
}

function row(value: RespValue, subscribers: number | undefined): ChannelRow {
  const name = bytesOf(value)
  return { name, label: labelOf(name), subscribers }
}
