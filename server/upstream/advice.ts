import { isTagged, type RespValue } from '../../shared/resp/types.ts'
import { textOf } from './link/link.ts'

/** Bytes that the upstream should let a gateway have waiting, at least: a second of messages at full speed. */
const ENOUGH_BYTES = 134_217_728

/**
 * Judges `client-output-buffer-limit` of the upstream: it ends a gateway's subscriber link that reads too slowly for a moment, and
 * the messages of all its clients are lost then.
 *
 * @param reply Of CONFIG GET client-output-buffer-limit.
 * @returns A sentence, if another setting is better.
 */
export function adviceOnOutputLimit(reply: RespValue): string | undefined {
  if (!isTagged(reply) || reply.type !== 'map') return undefined
  const [pair] = reply.entries
  const limit = /\bpubsub (\d+) (\d+) (\d+)/.exec(textOf(pair?.[1]))
  if (limit === null) return undefined
  const [hard = 0, soft = 0] = limit.slice(1).map(Number)
  const isEnough = (bytes: number): boolean => bytes === 0 || bytes >= ENOUGH_BYTES
  if (isEnough(hard) && isEnough(soft)) return undefined
  return (
    `client-output-buffer-limit of the upstream is '${limit[0]}': a gateway that cannot read for a moment loses its link and messages. ` +
    "There: CONFIG SET client-output-buffer-limit 'pubsub 256mb 128mb 60'"
  )
}
