import * as nodeFiles from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import type { Clock, Timer } from '../../clock.ts'
import { RespcastError } from '../../errors.ts'
import { syncFolderOf } from '../../files.ts'
import { isJsonObject } from '../text.ts'

/** One act of an administrator: a line of the audit log. Texts are UTF-8, times milliseconds since 1970. */
export interface AuditEntry {
  readonly atMs: number
  readonly action: 'revoke' | 'unrevoke'
  /** The user. */
  readonly by: string
  /** `ip:port` of the connection. */
  readonly address: string
  /** Id of the gateway at which it was ordered; left out by one that is alone. */
  readonly node?: string | undefined
  /** Of the revocation. */
  readonly id: number
  readonly kind: string
  readonly target: string
  /** The remaining options in the words of TOKEN REVOKE: `FROM partner ONLY PUBLISH`. */
  readonly options: string
  readonly reason: string
  readonly message: string
  /** Live sessions that it hit. */
  readonly hit: number
  /** It was on disk when it was answered. */
  readonly durable: boolean
}

/** The calls of the file system that the audit log makes; tests let them fail. */
export type AuditFiles = Pick<typeof nodeFiles, 'open' | 'rename'>

/** Entries that are kept in memory. */
const RECENT_ENTRIES = 1_000

/** Time after a failure until the file is tried again, in ms. */
const RETRY_MS = 5_000

/** Bytes of the file that are read for them at start. */
const RECENT_BYTES = 524_288

/**
 * Record of all revocations and their authors: JSON lines in a file. A full file is renamed to `<path>.1` and replaces the one
 * before it, so that two of them are kept. Entries that come during a write go with the next one, and share its fsync.
 */
export class AuditLog {
  readonly #path: string
  readonly #maxBytes: () => number
  readonly #confirm: () => Promise<void>
  readonly #clock: Clock
  #problem: string | undefined
  #retry: Timer | undefined
  #recent: AuditEntry[] = []
  #handle: FileHandle | undefined
  #bytes = 0
  /** Lines that are not in the file yet, oldest first. */
  #waiting: string[] = []
  /** The write that takes what waits, once the one under way is over. */
  #next: Promise<void> | undefined
  #last: Promise<void> = Promise.resolve()
  /** The last line may be unfinished, and must not swallow the next one. */
  #isTorn = false
  readonly #files: AuditFiles

  /**
   * @param options `path`: absolute; empty keeps no file. `maxBytes`: `token-audit-max` as it is now. `confirm`: rejects where
   *   another process has taken the file over: then nothing may be written.
   */
  constructor(
    options: {
      readonly path: string
      readonly clock: Clock
      readonly maxBytes: () => number
      readonly confirm?: () => Promise<void>
    },
    files: AuditFiles = nodeFiles,
  ) {
    this.#path = options.path
    this.#clock = options.clock
    this.#maxBytes = options.maxBytes
    this.#confirm = options.confirm ?? (() => Promise.resolve())
    this.#files = files
  }

  /** The problem that `/readyz` reports; undefined if there is none. */
  get problem(): string | undefined {
    return this.#problem
  }

  /**
   * Opens the file, and reads its last entries into memory.
   *
   * @throws RespcastError `ERR_DATA_DIR`: it cannot be written.
   */
  async open(): Promise<void> {
    const path = this.#path
    if (path === '') return
    try {
      await this.#openHandle()
      const text = await readTail(path, this.#bytes)
      this.#recent = text.split('\n').flatMap(parseEntry).slice(-RECENT_ENTRIES)
      this.#isTorn = text !== '' && !text.endsWith('\n')
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new RespcastError(
        'ERR_DATA_DIR',
        `token-audit-file ${path} cannot be written (${code ?? String(error)}). ` +
          'Let dir name a folder that this user may write.',
        { cause: error },
      )
    }
  }

  /**
   * Adds an entry. Settles when it is on disk; entries stay in order. What could not be written is tried again until it works.
   *
   * @throws The system's error; the entry is still in memory.
   */
  append(entry: AuditEntry): Promise<void> {
    this.#recent.push(entry)
    if (this.#recent.length > RECENT_ENTRIES) this.#recent.shift()
    if (this.#path === '') return Promise.resolve()
    this.#waiting.push(`${JSON.stringify(lineOf(entry))}\n`)
    return this.#writeNext()
  }

  #writeNext(): Promise<void> {
    if (!this.#next) {
      this.#next = this.#last.then(() => this.#writeWaiting())
      this.#last = this.#next.catch(() => {})
    }
    return this.#next
  }

  /**
   * The newest entries, newest first.
   *
   * @param sinceMs Entries that are older are left out.
   */
  recent(count: number, sinceMs = 0): readonly AuditEntry[] {
    const entries = this.#recent.filter(({ atMs }) => atMs >= sinceMs)
    return entries.slice(-Math.max(count, 0) || entries.length).toReversed()
  }

  /** Closes the file after the writes that are under way. */
  async close(): Promise<void> {
    await this.#last
    this.#retry?.cancel()
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close().catch(() => {})
  }

  async #writeWaiting(): Promise<void> {
    const lines = this.#waiting
    this.#waiting = []
    this.#next = undefined
    this.#retry?.cancel()
    this.#retry = undefined
    try {
      await this.#confirm()
      for (const line of lines) await this.#append(Buffer.from(line, 'utf8'))
      await this.#handle?.sync()
      this.#problem = undefined
    } catch (error) {
      // After an fsync that failed, what was written before it may be lost: rather twice than never.
      this.#waiting = [...lines, ...this.#waiting].slice(-RECENT_ENTRIES)
      const { code } = error as NodeJS.ErrnoException
      this.#problem = `token-audit-file cannot be written (${code ?? String(error)})`
      this.#retry = this.#clock.after(RETRY_MS, () => void this.#writeNext().catch(() => {}))
      throw error
    }
  }

  async #append(line: Buffer): Promise<void> {
    if (this.#bytes > 0 && this.#bytes + line.length > this.#maxBytes()) await this.#rotate()
    const handle = this.#handle ?? (await this.#openHandle())
    const bytes = this.#isTorn ? Buffer.concat([Buffer.from('\n'), line]) : line
    this.#isTorn = true
    await handle.appendFile(bytes)
    this.#isTorn = false
    this.#bytes += bytes.length
  }

  async #rotate(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.sync()
    await handle?.close()
    await this.#files.rename(this.#path, `${this.#path}.1`)
    this.#isTorn = false
  }

  /** Opens the file. A new one is in its folder for good before anything is said to be in it. */
  async #openHandle(): Promise<FileHandle> {
    const handle = await this.#files.open(this.#path, 'a', 0o600)
    this.#handle = handle
    this.#bytes = (await handle.stat()).size
    if (this.#bytes === 0) await syncFolderOf(this.#path, this.#files)
    return handle
  }
}

/** The time as text comes first, for human readers. */
function lineOf(entry: AuditEntry): object {
  return { at: new Date(entry.atMs).toISOString(), ...entry }
}

/** @returns The entry, or none for a line that is not whole. */
function parseEntry(line: string): AuditEntry[] {
  try {
    const value: unknown = JSON.parse(line)
    if (!isJsonObject(value)) return []
    const { at: _text, ...entry } = value
    return isAuditEntry(entry) ? [entry] : []
  } catch {
    // The first line may be cut, and the last one unfinished.
    return []
  }
}

const TEXTS = ['by', 'address', 'kind', 'target', 'options', 'reason', 'message'] as const
const NUMBERS = ['atMs', 'id', 'hit'] as const

function isAuditEntry(value: object): value is AuditEntry {
  const fields: Partial<Record<keyof AuditEntry, unknown>> = value
  return (
    TEXTS.every((name) => typeof fields[name] === 'string') &&
    NUMBERS.every((name) => typeof fields[name] === 'number') &&
    (fields.node === undefined || typeof fields.node === 'string') &&
    (fields.action === 'revoke' || fields.action === 'unrevoke') &&
    typeof fields.durable === 'boolean'
  )
}

async function readTail(path: string, bytes: number): Promise<string> {
  const file = await nodeFiles.open(path, 'r')
  try {
    const length = Math.min(bytes, RECENT_BYTES)
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(length),
      0,
      length,
      Math.max(0, bytes - length),
    )
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}
