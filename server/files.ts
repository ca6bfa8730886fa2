import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import * as asyncFiles from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** Permissions of a file that holds secrets: only its owner may read and write it. */
export const SECRET_MODE = 0o600

/** The file system as {@link replaceFileLater} uses it; tests break it. */
export type Files = Pick<typeof asyncFiles, 'open' | 'readdir' | 'realpath' | 'rename' | 'rm'>

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

/**
 * As {@link replaceFile}, without holding up the event loop, for a file that holds secrets.
 *
 * @throws The system's error. The old file is as it was, unless only the folder could not be written to disk.
 */
export async function replaceFileLater(
  path: string,
  content: Buffer,
  files: Files = asyncFiles,
): Promise<void> {
  const target = await files.realpath(path).catch(() => path)
  const temporary = temporaryOf(target)
  try {
    const file = await files.open(temporary, 'w', SECRET_MODE)
    try {
      await file.chmod(SECRET_MODE)
      await writeWhole(file, content)
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
