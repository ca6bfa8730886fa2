import * as nodeFiles from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { RespcastError } from '../../errors.ts'
import { decodeLog, LOG_HEADER, type LogEntry } from './log.ts'

/** The file system, as far as the log needs it; tests break it. */
export type LogFiles = Pick<typeof nodeFiles, 'open' | 'readFile' | 'rename'>

/** What a log file is opened with. */
export interface LogFileParts {
  /** Absolute. */
  readonly path: string
  /** Everything that is in force now, encoded: what a log that is written anew holds behind its header. */
  readonly live: () => Buffer
  readonly files?: LogFiles
}

/** Below this size a log is not worth being written anew. */
const SMALLEST_COMPACTED_BYTES = 1_048_576

interface Waiting {
  readonly bytes: Buffer
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * The file in which revocations survive. One writer; what comes while it writes goes with the next write, so that many
 * revocations at once share one fsync.
 *
 * After a failure nothing that was written before is trusted (an fsync that failed may have thrown pages away): the next
 * write is the whole log, in a new file.
 */
export class TokenLogFile {
  readonly #parts: LogFileParts
  readonly #files: LogFiles
  #handle: FileHandle | undefined
  #waiting: Waiting[] = []
  #isWriting = false
  #mustRewrite = false
  #bytes = 0
  #compactAtBytes = SMALLEST_COMPACTED_BYTES

  constructor(parts: LogFileParts) {
    this.#parts = parts
    this.#files = parts.files ?? nodeFiles
  }

  /**
   * Reads what the file holds; there may be none.
   *
   * @throws RespcastError `ERR_DATA_DIR`: it cannot be read, or is damaged.
   */
  async read(): Promise<readonly LogEntry[]> {
    const { path } = this.#parts
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
    // What was not finished must not stand in front of the next record.
    this.#mustRewrite = goodBytes < bytes.length || goodBytes === 0
    return entries
  }

  /**
   * Proves that the file can be written, and leaves out of it what is no longer in force.
   *
   * @param isStale It holds more than {@link LogFileParts.live}.
   * @throws RespcastError `ERR_DATA_DIR`
   */
  async prepare(isStale: boolean): Promise<void> {
    try {
      if (isStale || this.#mustRewrite) await this.#rewrite()
      else await this.#openHandle()
    } catch (error) {
      throw unusable(this.#parts.path, 'written', error)
    }
  }

  /**
   * Appends a record. Settles when it is on disk.
   *
   * @throws The system's error; then it may or may not be there after a restart.
   */
  append(bytes: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ bytes, resolve, reject })
      if (!this.#isWriting) void this.#writeAll()
    })
  }

  /** Closes the file behind what waits to be written. */
  async close(): Promise<void> {
    if (this.#isWriting) await this.append(Buffer.alloc(0)).catch(() => {})
    await this.#closeHandle()
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      try {
        await this.#write(Buffer.concat(batch.map(({ bytes }) => bytes)))
        for (const { resolve } of batch) resolve()
      } catch (error) {
        this.#mustRewrite = true
        for (const { reject } of batch) reject(error)
      }
    }
    this.#isWriting = false
  }

  async #write(bytes: Buffer): Promise<void> {
    // What waits is in force already, so that a log written anew holds it.
    if (this.#mustRewrite || this.#bytes >= this.#compactAtBytes) {
      await this.#rewrite()
      return
    }
    const handle = this.#handle ?? (await this.#openHandle())
    await writeWhole(handle, bytes)
    await handle.sync()
    this.#bytes += bytes.length
    // Somebody took the file away: what is written to it is lost with the process.
    if ((await handle.stat()).nlink === 0) await this.#rewrite()
  }

  /** Writes all that is in force to a file beside the old one, on disk before it takes its place. */
  async #rewrite(): Promise<void> {
    const { path, live } = this.#parts
    const content = Buffer.concat([Buffer.from(LOG_HEADER, 'latin1'), live()])
    const temporary = `${path}.tmp`
    const fresh = await this.#files.open(temporary, 'w', 0o600)
    try {
      await writeWhole(fresh, content)
      await fresh.sync()
    } finally {
      await fresh.close()
    }
    await this.#files.rename(temporary, path)
    const folder = await this.#files.open(dirname(path), 'r')
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
    await this.#openHandle()
    this.#bytes = content.length
    this.#compactAtBytes = Math.max(SMALLEST_COMPACTED_BYTES, content.length * 2)
    this.#mustRewrite = false
  }

  async #openHandle(): Promise<FileHandle> {
    await this.#closeHandle()
    this.#handle = await this.#files.open(this.#parts.path, 'a', 0o600)
    return this.#handle
  }

  async #closeHandle(): Promise<void> {
    const handle = this.#handle
    this.#handle = undefined
    await handle?.close().catch(() => {})
  }
}

async function writeWhole(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, at, bytes.length - at)
    at += bytesWritten
  }
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
