import { crc32 } from 'node:zlib'
import { RespcastError } from '../../errors.ts'
import { isJsonObject } from '../text.ts'
import { REVOCATION_KINDS, type Revocation } from './revocation.ts'

/** One record of the log. */
export type LogEntry =
  | { readonly op: 'revoke'; readonly record: Revocation }
  /** TOKEN UNREVOKE. */
  | { readonly op: 'lift'; readonly id: number }
  /** Ids below this were given out already. */
  | { readonly op: 'next'; readonly id: number }

/** What a log held. */
export interface DecodedLog {
  readonly entries: readonly LogEntry[]
  /** Bytes up to the end of the last good record; what is behind them was never finished. */
  readonly goodBytes: number
}

/** The first line: what the file is. */
export const LOG_HEADER = 'respcast-token-log 1\n'

/** Eight hexadecimal digits each: bytes of the JSON text, its CRC-32. */
const FRAME = /^([0-9a-f]{8}) ([0-9a-f]{8}) $/
const FRAME_BYTES = 18

const LF = 0x0a

/** One record as bytes: a line `<length> <crc-32> <json>`, in ASCII alone. */
export function encodeEntry(entry: LogEntry): Buffer {
  const json = JSON.stringify(entry).replace(/[\u007f-\uffff]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
  return Buffer.from(`${hex(json.length)} ${hex(crc32(json))} ${json}\n`, 'latin1')
}

/**
 * Reads a log. A record at its end that was not finished (the process was killed while it wrote) is left out: nobody was
 * told that it is kept.
 *
 * @throws RespcastError `ERR_DATA_DIR`: the file is something else, or is damaged before its end, so that records which were
 *   acknowledged are lost.
 */
export function decodeLog(bytes: Buffer, path: string): DecodedLog {
  if (bytes.length < LOG_HEADER.length) {
    if (!LOG_HEADER.startsWith(bytes.toString('latin1'))) throw notALog(path)
    return { entries: [], goodBytes: 0 }
  }
  if (bytes.toString('latin1', 0, LOG_HEADER.length) !== LOG_HEADER) throw notALog(path)
  const entries: LogEntry[] = []
  let at = LOG_HEADER.length
  while (at < bytes.length) {
    const read = readEntry(bytes, at)
    if (!read || bytes[read.end] !== LF) {
      if (hasEntryBehind(bytes, at, read?.end)) throw damaged(path, at)
      break
    }
    entries.push(read.entry)
    at = read.end + 1
  }
  return { entries, goodBytes: at }
}

/** @returns The record and where its line ends; undefined where there is no whole one. */
function readEntry(
  bytes: Buffer,
  at: number,
): { readonly entry: LogEntry; readonly end: number } | undefined {
  const frame = FRAME.exec(bytes.toString('latin1', at, at + FRAME_BYTES))
  if (!frame) return undefined
  const start = at + FRAME_BYTES
  const end = start + Number.parseInt(frame[1] as string, 16)
  if (end > bytes.length) return undefined
  const json = bytes.subarray(start, end)
  if (hex(crc32(json)) !== frame[2]) return undefined
  const entry = parseEntry(json.toString('latin1'))
  return entry && { entry, end }
}

/** Whether a whole record follows a damaged one, so that it was not the end of the file that broke off. */
function hasEntryBehind(bytes: Buffer, damagedAt: number, end: number | undefined): boolean {
  if (end !== undefined && readEntry(bytes, end + 1)) return true
  for (let at = bytes.indexOf(LF, damagedAt); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    if (readEntry(bytes, at + 1)) return true
  }
  return false
}

function parseEntry(json: string): LogEntry | undefined {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    return undefined
  }
  if (!isJsonObject(value)) return undefined
  const { op, id, record } = value as { op?: unknown; id?: unknown; record?: unknown }
  if (op === 'lift' || op === 'next')
    return Number.isSafeInteger(id) ? { op, id: id as number } : undefined
  return op === 'revoke' && isRecord(record) ? { op, record: whole(record) } : undefined
}

/** The checksum says that we wrote it; this says that it was a version of ours which knew all that is needed. */
function isRecord(value: unknown): value is Revocation {
  if (!isJsonObject(value)) return false
  const { id, kind, target, by, atMs } = value as Partial<Record<keyof Revocation, unknown>>
  const known: readonly unknown[] = REVOCATION_KINDS
  return (
    Number.isSafeInteger(id) &&
    known.includes(kind) &&
    typeof target === 'string' &&
    typeof by === 'string' &&
    typeof atMs === 'number'
  )
}

/** JSON leaves out what is undefined. */
function whole(record: Revocation): Revocation {
  return {
    ...record,
    issuer: record.issuer,
    scope: record.scope,
    only: record.only,
    beforeMs: record.beforeMs,
    expiresAtMs: record.expiresAtMs,
  }
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0')
}

function notALog(path: string): RespcastError {
  return new RespcastError(
    'ERR_DATA_DIR',
    `token-log-file ${path} is something else than a log of revocations. Name another file, or move this one away.`,
  )
}

function damaged(path: string, at: number): RespcastError {
  return new RespcastError(
    'ERR_DATA_DIR',
    `token-log-file ${path} is damaged at byte ${at}, and revocations may be lost. Restore it from a copy; or move it ` +
      'away, start, and revoke again what has to be.',
  )
}
