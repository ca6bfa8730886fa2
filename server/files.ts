import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import * as asyncFiles from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { RespcastError } from './errors.ts'

/** Permissions of a file that holds secrets: only its owner may read and write it. */
export const SECRET_MODE = 0o600

/**
 * Reads a file that a directive names.
 *
 * @throws RespcastError `ERR_CONFIG` names the directive and the file.
 */
export function readNamedFile(directive: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new RespcastError(
      'ERR_CONFIG',
      `${directive} ${path}: cannot be read (${code}). Give the path of a readable file.`,
    )
  }
}

/** The file system as {@link replaceFileLater} uses it; tests break it. */
export type Files = Pick<
  typeof asyncFiles,
  'open' | 'readdir' | 'realpath' | 'rename' | 'rm' | 'stat'
>

/**
 * Replaces a file as a whole or not at all: the content is on disk in a temporary file before that replaces the old one.
 * A symbolic link stays, and the file that it names is replaced.
 *
 * @param mode Permissions; by default those of the file that is replaced.
 * @throws The system's error. The old file is as it was.
 */
export function replaceFile(path: string, content: Buffer, mode?: number): void {
  const target = resolved(path)
  const temporary = temporaryOf(target)
  const permissions = mode ?? modeOf(target)
  try {
    const file = openSync(temporary, 'w', permissions)
    try {
      // An old temporary file keeps its own mode, and the umask takes from that of a new one.
      if (permissions !== undefined) fchmodSync(file, permissions)
      writeFileSync(file, content)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, target)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  const folder = openSync(dirname(target), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** Permissions of a file that is replaced: those of a file with secrets, or those that it has. */
type Permissions = typeof SECRET_MODE | 'kept'

/**
 * As {@link replaceFile}, without holding up the event loop.
 *
 * @param content Whole, or in pieces, each of which is written before the next is asked for.
 * @throws The system's error. The old file is as it was, unless only the folder could not be written to disk.
 */
export async function replaceFileLater(
  path: string,
  content: Buffer | AsyncIterable<Buffer>,
  files: Files = asyncFiles,
  permissions: Permissions = SECRET_MODE,
): Promise<void> {
  const target = await files.realpath(path).catch(() => path)
  const temporary = temporaryOf(target)
  const mode = permissions === 'kept' ? await permissionsOf(target, files) : permissions
  try {
    const file = await files.open(temporary, 'w', mode)
    try {
      // The umask takes from the mode of a new file.
      if (mode !== undefined) await file.chmod(mode)
      if (Buffer.isBuffer(content)) await writeWhole(file, content)
      else for await (const piece of content) await writeWhole(file, piece)
      await file.sync()
    } finally {
      await file.close()
    }
    await files.rename(temporary, target)
  } catch (error) {
    await files.rm(temporary, { force: true }).catch(() => {})
    throw error
  }
  await syncFolderOf(target, files)
}

/** Undefined if the file does not exist. */
async function permissionsOf(path: string, files: Files): Promise<number | undefined> {
  const found = await files.stat(path).catch(() => undefined)
  return found && found.mode & 0o777
}

/**
 * Writes of one file, one at a time. Requests that come during a write share the next one, so that however many wait, each waits for two
 * writes at most.
 */
export class SharedWrites<Result> {
  readonly #write: () => Promise<Result>
  /** The write under way, or the last one. */
  #writing: Promise<unknown> = Promise.resolve()
  /** The write that has not begun, and will have every change of until then. */
  #next: Promise<Result> | undefined
  #isWriting = false

  /** @param write It must not reject. */
  constructor(write: () => Promise<Result>) {
    this.#write = write
  }

  /** A write is under way or waits. */
  get isBusy(): boolean {
    return this.#isWriting || this.#next !== undefined
  }

  /** Writes what there is once the write has begun. */
  request(): Promise<Result> {
    this.#next ??= this.#writing.then(async () => {
      this.#writing = this.#next as Promise<Result>
      this.#next = undefined
      this.#isWriting = true
      try {
        return await this.#write()
      } finally {
        this.#isWriting = false
      }
    })
    return this.#next
  }

  /** Settles when no write is under way or waits. */
  async settled(): Promise<void> {
    while (this.isBusy) await (this.#next ?? this.#writing)
  }
}

/** Writes the folder of a file to disk, so that a new or renamed file is found there after a crash. */
export async function syncFolderOf(path: string, files: Pick<Files, 'open'>): Promise<void> {
  const folder = await files.open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Ends the name of a temporary file, before what makes it unique. */
const TEMPORARY = '.tmp-'

/** A name that no other process uses: several in containers may have one PID and one folder. */
function temporaryOf(path: string): string {
  return `${path}${TEMPORARY}${randomBytes(6).toString('hex')}`
}

/** Removes the temporary files that interrupted replacements of a file have left. Nobody else may be replacing it now. */
export async function removeLeftovers(path: string, files: Files = asyncFiles): Promise<void> {
  const [folder, start] = [dirname(path), basename(path) + TEMPORARY]
  for (const name of await files.readdir(folder)) {
    if (name.startsWith(start)) await files.rm(join(folder, name), { force: true })
  }
}

/** Writes all of the content: one call of the system may take a part. */
export async function writeWhole(file: FileHandle, content: Buffer): Promise<void> {
  for (let at = 0; at < content.length;) {
    const { bytesWritten } = await file.write(content, at, content.length - at)
    at += bytesWritten
  }
}

/** The file to which symbolic links of a path lead; the path itself if the file does not exist. */
function resolved(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function modeOf(path: string): number | undefined {
  try {
    return statSync(path).mode & 0o777
  } catch {
    return undefined
  }
}
