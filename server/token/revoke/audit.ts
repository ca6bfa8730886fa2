import * as nodeFiles from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { RespcastError } from '../../errors.ts'
import { isJsonObject } from '../text.ts'

/** One act of an administrator: a line of the audit log. Texts are UTF-8, times milliseconds since 1970. */
export interface AuditEntry {
  readonly atMs: number
  readonly action: 'revoke' | 'unrevoke'
  /** The user. */
  readonly by: string
  /** `ip:port` of the connection. */
  readonly address: string
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

/** What an audit log is kept with. */
export interface AuditParts {
  /** Absolute; empty keeps no file. */
  readonly path: string
  /** `token-audit-max` in bytes. */
  readonly maxBytes: () => number
}

/** Entries that are kept at hand. */
const RECENT_ENTRIES = 1_000

/** How much of the file is read for them at start. */
const RECENT_BYTES = 524_288

/**
 * Who revoked what, when and why: JSON lines in a file. A file that is full is put aside as `<path>.1`, in the place of the
 * one before it, so that two of them are kept.
 */
export class AuditLog {
  readonly #parts: AuditParts
  #recent: AuditEntry[] = []
  #handle: FileHandle | undefined
  #bytes = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(parts: AuditParts) {
    this.#parts = parts
  }

  /**
   * Opens the file, and has its last entries at hand.
   *
   * @throws RespcastError `ERR_DATA_DIR`: it cannot be written.
   */
  async open(): Promise<void> {
    const { path } = this.#parts
    if (path === '') return
    try {
      await this.#openHandle()
      const text = await readTail(path, this.#bytes)
      this.#recent = text.split('\n').flatMap(parseEntry).slice(-RECENT_ENTRIES)
      // A line that was not finished must not swallow the next one.
      if (text !== '' && !text.endsWith('\n')) await this.#append('\n')
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
   * Adds an entry. Settles when it is handed to the system; entries stay in order.
   *
   * @throws The system's error; the entry is at hand all the same.
   */
  append(entry: AuditEntry): Promise<void> {
    this.#recent.push(entry)
    if (this.#recent.length > RECENT_ENTRIES) this.#recent.shift()
    const line = `${JSON.stringify(lineOf(entry))}\n`
    const done = this.#last.then(() => this.#append(line))
    this.#last = done.catch(() => {})
    return done
  }

  /**
   * The newest entries, newest first.
   *
   * @param sinceMs None that is older.
   */
  recent(count: number, sinceMs = 0): readonly AuditEntry[] {
    const entries = this.#recent.filter(({ atMs }) => atMs >= sinceMs)
    return entries.slice(-Math.max(count, 0) || entries.length).toReversed()
  }

  /** Closes the file behind what waits to be written. */
  async close(): Promise<void> {
    await this.#last
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close().catch(() => {})
  }

  async #append(line: string): Promise<void> {
    if (this.#parts.path === '') return
    const bytes = Buffer.from(line, 'utf8')
    if (this.#bytes > 0 && this.#bytes + bytes.length > this.#parts.maxBytes()) await this.#rotate()
    const handle = this.#handle ?? (await this.#openHandle())
    await handle.appendFile(bytes)
    this.#bytes += bytes.length
  }

  async #rotate(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close()
    await nodeFiles.rename(this.#parts.path, `${this.#parts.path}.1`)
  }

  async #openHandle(): Promise<FileHandle> {
    const handle = await nodeFiles.open(this.#parts.path, 'a', 0o600)
    this.#handle = handle
    this.#bytes = (await handle.stat()).size
    return handle
  }
}

/** For people the time as text stands first. */
function lineOf(entry: AuditEntry): object {
  return { at: new Date(entry.atMs).toISOString(), ...entry }
}

function parseEntry(line: string): AuditEntry[] {
  try {
    const value: unknown = JSON.parse(line)
    if (!isJsonObject(value) || typeof value['atMs'] !== 'number') return []
    const { at: _text, ...entry } = value
    return [entry as unknown as AuditEntry]
  } catch {
    // The first line may be cut, the last one may never have been finished.
    return []
  }
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
