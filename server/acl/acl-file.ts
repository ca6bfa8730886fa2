import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { CommandCatalog } from './catalog.ts'
import { parseAclFile, printAclFile } from './file.ts'
import type { UserTable } from './users.ts'
import type { Clock } from '../clock.ts'
import type { AclFileAccess } from '../command/context.ts'
import type { Logger } from '../log.ts'

const NOT_CONFIGURED =
  'This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER ' +
  'command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store ' +
  'users in the Redis configuration.'

const CANNOT_SAVE =
  'There was an error trying to save the ACLs. Please check the server logs for more information'

/** What the ACL file is read and written with. */
export interface AclFileParts {
  /** Absolute; empty without one. */
  readonly path: string
  readonly catalog: CommandCatalog
  readonly users: UserTable
  readonly clock: Clock
  readonly log: Logger
  /** `acl-autosave`. */
  readonly autosave: () => boolean
}

/** Reads and writes the ACL file; a file that is there is replaced as a whole or not at all. */
export function aclFile(parts: AclFileParts): AclFileAccess {
  const { path, catalog, users, clock, log } = parts
  const save = (): string | undefined => {
    if (path === '') return NOT_CONFIGURED
    try {
      replaceFile(path, printAclFile(users.list()), `tmp-${process.pid}-${clock.wallMs()}`)
      return undefined
    } catch (error) {
      log.error({ err: error, path }, 'the ACL file cannot be written')
      return CANNOT_SAVE
    }
  }
  return {
    save,
    load: () => {
      if (path === '') return NOT_CONFIGURED
      let text: string
      try {
        text = readFileSync(path, 'latin1')
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        const reason = code === 'ENOENT' ? 'No such file or directory' : (code ?? 'unreadable')
        return `Error loading ACLs, opening file '${path}': ${reason}`
      }
      const result = parseAclFile(catalog, text, path, users.ruleOptions)
      if ('error' in result) return result.error
      users.replaceAll(result.users)
      return undefined
    },
    autosave: () => (path !== '' && parts.autosave() ? save() : undefined),
  }
}

/** Writes a file beside the old one, on disk before it takes its place. */
function replaceFile(path: string, text: string, suffix: string): void {
  const temporary = `${path}.${suffix}`
  writeFileSync(temporary, text, { encoding: 'latin1', mode: 0o600, flush: true })
  renameSync(temporary, path)
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
