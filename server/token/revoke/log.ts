import * as nodeFiles from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { asciiJson } from '../../ascii-json.ts'
import type { Clock, Timer } from '../../clock.ts'
import { RespcastError } from '../../errors.ts'
import { Slices } from '../../slices.ts'
import {
  removeLeftovers,
  replaceFileLater,
  SECRET_MODE,
  writeWhole,
  type Files,
} from '../../files.ts'
import { isJsonObject } from '../text.ts'
import { idOf, REVOCATION_KINDS, type Revocation } from './revocation.ts'

/** A register that gateways share: that of a revocation has the record, a deleted one null. */
export interface RegisterEntry {
  readonly op: 'register'
  readonly key: string
  readonly version: number
  readonly uuid: string
  readonly value: string | Revocation | null
}

/** One entry of the log. */
export type LogEntry =
  | { readonly op: 'revoke'; readonly record: Revocation }
  /** TOKEN UNREVOKE. */
  | { readonly op: 'lift'; readonly id: number }
  /** Ids below this are taken; of ids that begin with the number of a gateway, the counter after it. */
  | { readonly op: 'next'; readonly id: number }
  | RegisterEntry
  /** The last entry of the log of gateways that has been applied. */
  | { readonly op: 'at'; readonly id: string; readonly uuid: string; readonly epoch: string }

/** The calls of the file system that the log makes; tests let them fail. */
export type LogFiles = Files & Pick<typeof nodeFiles, 'readFile'>

/** A log below this size is not worth compacting. */
const SMALLEST_COMPACTED_BYTES = 1_048_576

/** A log that is written anew is written in pieces of about so many bytes. */
const PIECE_BYTES = 262_144

const NOTHING = Buffer.alloc(0)

/** Time after a failure until the log is tried again, in ms. */
const RETRY_MS = 5_000

const NOT_DURABLE = 'revocations are in force but not durable: token-log-file cannot be written'

/** An entry at the end of the log that was never finished, and so never acknowledged. */
interface UnfinishedTail {
  /** In the file, in bytes. */
  readonly offset: number
  readonly bytes: number
}

/** Receives the changes of the file's state. */
export interface LogHooks {
  /** The log cannot be written, or can be again. */
  readonly onDurable: (isDurable: boolean, error?: unknown) => void
  /** The last entry was left out as the log was read. */
  readonly onUnfinished: (tail: UnfinishedTail) => void
}

/** What a log that is written anew has. */
export interface LiveEntries {
  /** Everything that is in force, as entries. What changes while they are asked for, over several turns, is appended after them. */
  entries(): Iterable<LogEntry>
  /** Their number, nearly, and quickly. */
  count(): number
}

interface Waiting {
  readonly bytes: Buffer
  readonly entries: number
  readonly resolve: (isDurable: boolean) => void
}

/**
 * The file in which revocations survive. There is one writer; entries that come during a write go with the next one, so that
 * many revocations at once share one fsync.
 *
 * After a failure nothing that was written before is trusted (an fsync that failed may have thrown pages away): the next
 * write is the whole log, in a new file.
 */
export class RevocationLog {
  readonly #path: string
  readonly #clock: Clock
  readonly #live: LiveEntries
  readonly #hooks: LogHooks
  readonly #files: LogFiles
  readonly #confirm: () => Promise<void>
  #handle: FileHandle | undefined
  #waiting: Waiting[] = []
  #isWriting = false
  #mustRewrite = false
  #isBroken = false
  #reason = ''
  #retry: Timer | undefined
  #bytes = 0
  /** Of the file. */
  #entries = 0
  #compactAtBytes = SMALLEST_COMPACTED_BYTES

  /**
   * @param path Absolute.
   * @param confirm Rejects where another process has taken the log over: then nothing may be written.
   */
  constructor(
    path: string,
    clock: Clock,
    live: LiveEntries,
    hooks: LogHooks,
    files: LogFiles = nodeFiles,
    confirm: () => Promise<void> = () => Promise.resolve(),
  ) {
    this.#path = path
    this.#clock = clock
    this.#live = live
    this.#hooks = hooks
    this.#files = files
    this.#confirm = confirm
  }

  /** The problem that `/readyz` reports; undefined if there is none. */
  get problem(): string | undefined {
    return this.#isBroken ? `${NOT_DURABLE} (${this.#reason})` : undefined
  }

  /**
   * Reads the file; it may be missing.
   *
   * @throws RespcastError `ERR_DATA_DIR`: it cannot be read, or is damaged.
   */
  async read(): Promise<readonly LogEntry[]> {
    const path = this.#path
    let bytes: Buffer
    try {
      bytes = await this.#files.readFile(path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unusable(path, 'read', error)
      this.#mustRewrite = true
      return []
    }
    const { entries, goodBytes } = decodeLog(bytes, path)
    this.#bytes = goodBytes
    this.#entries = entries.length
    // An unfinished entry must not precede the next one.
    const droppedBytes = bytes.length - goodBytes
    this.#mustRewrite = droppedBytes > 0 || goodBytes === 0
    if (droppedBytes > 0) this.#hooks.onUnfinished({ offset: goodBytes, bytes: droppedBytes })
    return entries
  }

  /**
   * Proves that the file can be written, and writes it anew if needed.
   *
   * @param isStale It also holds records that are no longer in force; or another process had it, which may be suspended. What
   *   that appends later reaches a file without a name, which it finds out before it answers.
   * @throws RespcastError `ERR_DATA_DIR`
   */
  async prepare(isStale: boolean): Promise<void> {
    try {
      await removeLeftovers(this.#path, this.#files)
      if (isStale || this.#mustRewrite) await this.#rewrite()
      else await this.#openHandle()
    } catch (error) {
      throw unusable(this.#path, 'written', error)
    }
  }

  /**
   * Appends encoded entries, and settles after the fsync. Never rejects.
   *
   * @param entries Their number.
   * @returns False where they could not be written; then they may or may not be there after a restart.
   */
  append(bytes: Buffer, entries: number): Promise<boolean> {
    return new Promise((resolve) => {
      this.#waiting.push({ bytes, entries, resolve })
      if (!this.#isWriting) void this.#writeAll()
    })
  }

  /** Writes the file anew, with what is in force by then. Never rejects. @returns As {@link append}. */
  rewrite(): Promise<boolean> {
    this.#mustRewrite = true
    return this.append(NOTHING, 0)
  }

  /** Closes the file after the writes that are under way. */
  async close(): Promise<void> {
    if (this.#isWriting) await this.append(NOTHING, 0)
    this.#retry?.cancel()
    await this.#closeHandle()
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    // A revocation that gateways share is an entry and a register, which come one after the other.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      let isDurable = true
      try {
        const entries = batch.reduce((sum, each) => sum + each.entries, 0)
        await this.#write(Buffer.concat(batch.map(({ bytes }) => bytes)), entries)
        this.#setBroken(false)
      } catch (error) {
        isDurable = false
        this.#mustRewrite = true
        this.#setBroken(true, error)
      }
      for (const { resolve } of batch) resolve(isDurable)
    }
    this.#isWriting = false
  }

  #setBroken(isBroken: boolean, error?: unknown): void {
    this.#retry?.cancel()
    this.#retry = undefined
    if (isBroken) {
      this.#reason = (error as NodeJS.ErrnoException).code ?? String(error)
      // The retry writes everything in force; there is nothing to add.
      this.#retry = this.#clock.after(RETRY_MS, () => void this.append(NOTHING, 0))
    }
    if (isBroken === this.#isBroken) return
    this.#isBroken = isBroken
    this.#hooks.onDurable(!isBroken, error)
  }

  async #write(bytes: Buffer, entries: number): Promise<void> {
    await this.#confirm()
    // Entries that wait are in force already, so a log that is written anew holds them.
    if (this.#mustRewrite || this.#isMostlyStale()) {
      await this.#rewrite()
      return
    }
    const handle = this.#handle ?? (await this.#openHandle())
    await writeWhole(handle, bytes)
    const [{ nlink }] = await Promise.all([handle.stat(), handle.sync()])
    this.#bytes += bytes.length
    this.#entries += entries
    // The file was removed: bytes written to it are lost with the process.
    if (nlink === 0) await this.#rewrite()
  }

  /** Reports whether the file is large, and more than half of its entries are of no use any more. */
  #isMostlyStale(): boolean {
    if (this.#bytes < this.#compactAtBytes) return false
    this.#compactAtBytes = this.#bytes * 2
    return this.#entries > this.#live.count() * 2
  }

  /** Replaces the log by one with everything in force. */
  async #rewrite(): Promise<void> {
    // A request that comes from here on is not of this rewrite.
    this.#mustRewrite = false
    const written = { bytes: 0, entries: 0 }
    await replaceFileLater(this.#path, this.#content(written), this.#files)
    await this.#openHandle()
    this.#bytes = written.bytes
    this.#entries = written.entries
    this.#compactAtBytes = Math.max(SMALLEST_COMPACTED_BYTES, written.bytes * 2)
  }

  /** The log as it would be written now, in pieces; the event loop goes on between them. */
  async *#content(written: { bytes: number; entries: number }): AsyncIterableIterator<Buffer> {
    const slices = new Slices(this.#clock)
    let lines = LOG_HEADER
    const taken = (): Buffer => {
      const piece = Buffer.from(lines, 'latin1')
      lines = ''
      written.bytes += piece.length
      return piece
    }
    for (const entry of this.#live.entries()) {
      lines += lineOfEntry(entry)
      written.entries++
      if (lines.length >= PIECE_BYTES) yield taken()
      if (slices.isOver) await slices.next()
    }
    yield taken()
  }

  async #openHandle(): Promise<FileHandle> {
    await this.#closeHandle()
    this.#handle = await this.#files.open(this.#path, 'a', SECRET_MODE)
    return this.#handle
  }

  async #closeHandle(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close().catch(() => {})
  }
}

/** The first line, by which the file is recognised. */
export const LOG_HEADER = 'respcast-token-log 1\n'

/** Eight hexadecimal digits each: bytes of the JSON text, its CRC-32. */
const FRAME = /^([0-9a-f]{8}) ([0-9a-f]{8}) $/
const FRAME_BYTES = 18

const LF = 0x0a

/** Encodes an entry: a line `<length> <crc-32> <json>`, in ASCII alone. */
export function encodeEntry(entry: LogEntry): Buffer {
  return Buffer.from(lineOfEntry(entry), 'latin1')
}

/** As {@link encodeEntry}, as text. */
export function lineOfEntry(entry: LogEntry): string {
  return lineOf(asciiJson(entry))
}

/** As {@link lineOfEntry}, for a register whose value is JSON in ASCII already. */
export function lineOfRegister(
  { key, version, uuid }: Pick<RegisterEntry, 'key' | 'version' | 'uuid'>,
  value: string,
): string {
  const name = asciiJson(key)
  return lineOf(
    `{"op":"register","key":${name},"version":${version},"uuid":"${uuid}","value":${value}}`,
  )
}

function lineOf(json: string): string {
  return `${hex(json.length)} ${hex(crc32(json))} ${json}\n`
}

/**
 * Decodes a log. An unfinished entry at its end (the process was killed while it wrote) is left out: it was never acknowledged.
 * One that is whole and wrong was acknowledged, and is damage like any other: a revocation that is lost opens what its owner
 * believes closed.
 *
 * @returns The entries, and the number of bytes up to the end of the last good one.
 * @throws RespcastError `ERR_DATA_DIR`: the file is no such log, or is damaged, so that acknowledged entries are lost.
 */
export function decodeLog(
  bytes: Buffer,
  path: string,
): { readonly entries: readonly LogEntry[]; readonly goodBytes: number } {
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
      if (!isUnfinished(bytes, at) || hasEntryAfter(bytes, at, read?.end)) throw damaged(path, at)
      break
    }
    entries.push(read.entry)
    at = read.end + 1
  }
  return { entries, goodBytes: at }
}

/** @returns The entry and the index at which its line ends; undefined if there is no whole one. */
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

/** Beginnings of an entry: up to eight digits, a blank, up to eight digits, a blank, ASCII. */
const BEGINNING = /^(?:[0-9a-f]{1,8}|[0-9a-f]{8} [0-9a-f]{0,8}|[0-9a-f]{8} [0-9a-f]{8} [ -~]*)$/

/**
 * Reports whether the end of a log is the beginning of one entry, perhaps with zeros after it: a file system that lost power
 * may have made the file longer without its content.
 */
function isUnfinished(bytes: Buffer, at: number): boolean {
  let end = bytes.length
  while (end > at && bytes[end - 1] === 0) end--
  const tail = bytes.toString('latin1', at, end)
  if (tail === '') return true
  if (!BEGINNING.test(tail)) return false
  const jsonBytes = Number.parseInt(tail.slice(0, 8), 16)
  return tail.length <= FRAME_BYTES + jsonBytes
}

/** Reports whether a whole entry follows a damaged one, so that the damage is not an end that broke off. */
function hasEntryAfter(bytes: Buffer, damagedAt: number, end: number | undefined): boolean {
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
  const { op, id, record } = value
  if (op === 'lift' || op === 'next') return isId(id) ? { op, id } : undefined
  if (op === 'register') return readRegister(value)
  if (op === 'at') {
    const { uuid, epoch } = value
    return isText(id) && isText(uuid) && isText(epoch) ? { op, id, uuid, epoch } : undefined
  }
  return op === 'revoke' && isRecord(record) ? { op, record } : undefined
}

function readRegister({
  key,
  version,
  uuid,
  value,
}: Readonly<Record<string, unknown>>): RegisterEntry | undefined {
  if (!isText(key) || !isText(uuid) || typeof version !== 'number') return undefined
  const register = { op: 'register', key, version, uuid } as const
  if (idOf(key) === undefined || value === null) {
    return value === null || isText(value) ? { ...register, value } : undefined
  }
  return isRecord(value) ? { ...register, value } : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

/** The checksum proves that a server wrote the record; this proves that its version knew all that is needed. */
function isRecord(value: unknown): value is Revocation {
  if (!isJsonObject(value)) return false
  const { id, kind, target, keys, by, atMs } = value
  const known: readonly unknown[] = REVOCATION_KINDS
  return (
    isId(id) &&
    known.includes(kind) &&
    typeof target === 'string' &&
    (keys === undefined || (Array.isArray(keys) && keys.every((key) => typeof key === 'string'))) &&
    typeof by === 'string' &&
    typeof atMs === 'number'
  )
}

/** The hexadecimal digits of each byte. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** The eight hexadecimal digits of an unsigned 32-bit number. */
function hex(value: number): string {
  const [a, b, c, d] = [value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff]
  return `${HEX[a]}${HEX[b]}${HEX[c]}${HEX[d]}`
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
    `token-log-file ${path} is damaged at byte ${at}, and revocations may be lost. Restore it from a copy. To do ` +
      `without what follows: truncate -s ${at} ${path}, start, and revoke again what has to be.`,
  )
}

function unusable(path: string, what: 'read' | 'written', error: unknown): RespcastError {
  const { code } = error as NodeJS.ErrnoException
  return new RespcastError(
    'ERR_DATA_DIR',
    `token-log-file ${path} cannot be ${what} (${code ?? String(error)}), so that revocations would not survive. ` +
      'Let dir name a folder that this user may write.',
    { cause: error },
  )
}
