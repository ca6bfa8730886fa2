import type { RespValue } from '../../../shared/resp/types.ts'
import { numberOf, recordOf, textOf } from './reply.ts'

/** One line of a feed: what an operator did, or what was refused. Texts are for people. */
export interface AuditRow {
  readonly key: string
  /** Milliseconds since 1970. */
  readonly atMs: number
  readonly action: string
  readonly by: string
  readonly what: string
  readonly reason: string
  /** How many: sessions that were hit, or refusals of the same kind. */
  readonly count: number
}

/** Reads one record of RESPCAST AUDIT. */
export function parseAuditEntry(record: RespValue): AuditRow {
  const fields = recordOf(record)
  const text = (name: string): string => textOf(fields.get(name))
  const words = [text('kind').toUpperCase(), text('target'), text('options')]
  const notes = [text('reason')]
  if (text('durable') === '0') notes.push('not on disk')
  return {
    key: `${text('at')}-${text('id')}-${text('action')}`,
    atMs: numberOf(fields.get('at')) ?? 0,
    action: text('action'),
    by: `${text('by')} ${text('address')}`.trim(),
    what: words.filter((word) => word !== '').join(' '),
    reason: notes.filter((note) => note !== '').join(', '),
    count: numberOf(fields.get('hit')) ?? 0,
  }
}

/** Reads one record of ACL LOG. */
export function parseLogEntry(record: RespValue): AuditRow {
  const fields = recordOf(record)
  const text = (name: string): string => textOf(fields.get(name))
  const address = /(?:^| )addr=(\S*)/.exec(text('client-info'))?.[1] ?? ''
  return {
    key: text('entry-id'),
    atMs: numberOf(fields.get('timestamp-last-updated')) ?? 0,
    action: text('reason'),
    by: `${text('username')} ${address}`.trim(),
    what: text('object'),
    reason: text('context') === 'toplevel' ? '' : text('context'),
    count: numberOf(fields.get('count')) ?? 0,
  }
}
