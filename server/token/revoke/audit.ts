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

/** Entries that are kept in memory. */
const RECENT_ENTRIES = 1_000

/** Bytes of the file that are read for them at start. */
const RECENT_BYTES = 524_288

/**
 * Record of all revocations and their authors: JSON lines in a file. A full file is renamed to `<path>.1` and replaces the one
 * before it, so that two of them are kept.
 */
export class AuditLog {
  readonly #path: string
  readonly #maxBytes: () => number
  #recent: AuditEntry[] = []
  #handle: FileHandle | undefined
  #bytes = 0
  #last: Promise<unknown> = Promise.resolve()

  /** @param options `path`: absolute; empty keeps no file. `maxBytes`: `token-audit-max` as it is now. */
  constructor(options: { readonly path: string; readonly maxBytes: () => number }) {
    this.#path = options.path
    this.#maxBytes = options.maxBytes
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
      // An unfinished line must not swallow the next one.
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
   * @throws The system's error; the entry is still in memory.
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
   * @param sinceMs Entries that are older are left out.
   */
  recent(count: number, sinceMs = 0): readonly AuditEntry[] {
    const entries = this.#recent.filter(({ atMs }) => atMs >= sinceMs)
    return entries.slice(-Math.max(count, 0) || entries.length).toReversed()
  }

  /** Closes the file after the writes that are under way. */
  async close(): Promise<void> {
    await this.#last
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close().catch(() => {})
  }

  async #append(line: string): Promise<void> {
    if (this.#path === '') return
    const bytes = Buffer.from(line, 'utf8')
    if (this.#bytes > 0 && this.#bytes + bytes.length > this.#maxBytes()) await this.#rotate()
    const handle = this.#handle ?? (await this.#openHandle())
    await handle.appendFile(bytes)
    this.#bytes += bytes.length
  }

  async #rotate(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close()
    await nodeFiles.rename(this.#path, `${this.#path}.1`)
  }

  async #openHandle(): Promise<FileHandle> {
    const handle = await nodeFiles.open(this.#path, 'a', 0o600)
    this.#handle = handle
    this.#bytes = (await handle.stat()).size
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
