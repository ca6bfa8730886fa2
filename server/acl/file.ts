import { readFileSync } from 'node:fs'
import type { Settings } from '../config/settings.ts'
import { atEndOfTurn, type Clock, type Timer } from '../clock.ts'
import { replaceFileLater, SharedWrites } from '../files.ts'
import type { Logger } from '../log.ts'
import type { UserTable } from './users.ts'
import type { CommandCatalog } from './catalog.ts'
import { describeUser } from './describe.ts'
import { isRoleName, isValidUserName, type User } from './user.ts'
import {
  BAD_USER_NAME,
  RULE_ERRORS,
  UserDraft,
  joinSelectors,
  newUser,
  printable,
  type RuleOptions,
} from './rules.ts'

const NOT_CONFIGURED =
  'This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER ' +
  'command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store ' +
  'users in the Redis configuration.'

const CANNOT_SAVE =
  'There was an error trying to save the ACLs. Please check the server logs for more information'

/** Users that are described in one turn of the event loop: about a millisecond of work. */
const USERS_PER_SLICE = 500

/** Time after an autosave that failed until the next one, in ms. */
const RETRY_MS = 5_000

/** The ACL file of `aclfile`, which is written off the event loop. All methods return the error's text without its code, if any. */
export class AclFile {
  /** Absolute; empty without one. */
  readonly #path: string
  readonly #catalog: CommandCatalog
  readonly #users: UserTable
  readonly #settings: Settings
  readonly #log: Logger
  readonly #clock: Clock
  readonly #writes = new SharedWrites(() => this.#write())
  #retry: Timer | undefined
  #problem: string | undefined
  #isClosed = false

  constructor(
    catalog: CommandCatalog,
    users: UserTable,
    settings: Settings,
    log: Logger,
    clock: Clock,
  ) {
    this.#path = settings.path('aclfile')
    this.#catalog = catalog
    this.#users = users
    this.#settings = settings
    this.#log = log
    this.#clock = clock
  }

  /** The problem that `/readyz` reports; undefined if there is none. It is tried again until it works. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** A write is under way or waits. */
  get isBusy(): boolean {
    return this.#writes.isBusy
  }

  /** ACL SAVE: replaces the file as a whole or not at all. Never rejects. */
  save(): Promise<string | undefined> {
    if (this.#path === '') return Promise.resolve(NOT_CONFIGURED)
    return this.#writes.request()
  }

  /** Saves after a change of a role or ceiling, if `acl-autosave` asks for it. Undefined if it does not. */
  autosave(): Promise<string | undefined> | undefined {
    return this.#isAutosaved ? this.save() : undefined
  }

  /** Settles when no write is under way or waits. */
  async settled(): Promise<void> {
    await this.#writes.settled()
  }

  /** Waits for the writes under way; nothing is tried again afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#retry?.cancel()
    await this.settled()
  }

  get #isAutosaved(): boolean {
    return this.#path !== '' && this.#settings.boolean('acl-autosave')
  }

  async #write(): Promise<string | undefined> {
    try {
      await replaceFileLater(this.#path, await this.#content())
      return this.#noteResult()
    } catch (error) {
      return this.#noteResult(error)
    }
  }

  /** The users as they are now. Users are never changed but replaced, so that slices see one state. */
  async #content(): Promise<Buffer> {
    const users = this.#users.list()
    const parts: Buffer[] = []
    for (let at = 0; at < users.length; at += USERS_PER_SLICE) {
      if (at > 0) await new Promise<void>(atEndOfTurn)
      const text = users
        .slice(at, at + USERS_PER_SLICE)
        .map(lineOf)
        .join('')
      parts.push(Buffer.from(text, 'latin1'))
    }
    return Buffer.concat(parts)
  }

  /** Keeps the problem until a write succeeds, and tries again. @returns The text of the reply. */
  #noteResult(error?: unknown): string | undefined {
    this.#retry?.cancel()
    this.#retry = undefined
    if (error === undefined) {
      if (this.#problem !== undefined) {
        this.#log.info({ path: this.#path }, 'the ACL file can be written again')
      }
      this.#problem = undefined
      return undefined
    }
    const { code } = error as NodeJS.ErrnoException
    this.#log.error({ err: error, path: this.#path }, 'the ACL file cannot be written')
    this.#problem = `aclfile cannot be written (${code ?? 'failed'}): changes of users are in force but not saved`
    if (this.#isAutosaved && !this.#isClosed) {
      this.#retry = this.#clock.after(RETRY_MS, () => void this.save())
    } else if (!this.#isAutosaved) this.#problem = undefined
    return CANNOT_SAVE
  }

  /** ACL LOAD. */
  load(): string | undefined {
    const result = this.read()
    if ('error' in result) return result.error
    this.#users.replaceAll(result.users)
    return undefined
  }

  /** The users that the file has now. */
  read(): ReturnType<typeof parseAclFile> {
    const path = this.#path
    if (path === '') return { error: NOT_CONFIGURED }
    let text: string
    try {
      text = readFileSync(path, 'latin1')
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      const reason = code === 'ENOENT' ? 'No such file or directory' : (code ?? 'unreadable')
      return { error: `Error loading ACLs, opening file '${path}': ${reason}` }
    }
    return parseAclFile(this.#catalog, text, path, this.#users.ruleOptions)
  }
}

/** Ends the errors of {@link parseAclFile}. */
const NOTHING_CHANGED =
  'WARNING: ACL errors detected, no change to the previously active ACL rules was performed'

/**
 * Reads an ACL file: one `user <name> <rule>...` per line, separated by single spaces, without comments. Every user
 * starts from nothing, `default` included.
 *
 * @param text The file's bytes as a byte string.
 * @param fileName As errors name it.
 * @returns All users in the order of the file, or, if any line is wrong, one line that lists all errors.
 */
export function parseAclFile(
  catalog: CommandCatalog,
  text: string,
  fileName: string,
  options: RuleOptions,
): { readonly users: readonly User[] } | { readonly error: string } {
  const users = new Map<string, User>()
  let errors = ''
  for (const [index, untrimmed] of text.split('\n').entries()) {
    const line = untrimmed.replace(/^[ \t\r]+|[ \t\r]+$/g, '')
    if (line === '') continue
    const lineNumber = index + 1
    const place = `${fileName}:${lineNumber}`
    const [keyword, name, ...rules] = line.split(' ')
    if (keyword !== 'user' || name === undefined) {
      errors += `${place} should start with user keyword followed by the username. `
    } else if (!isValidUserName(name)) {
      errors += `'${place}: username '${printable(name)}' contains invalid characters. `
    } else if (users.has(name)) {
      errors += `WARNING: Duplicate user '${name}' found on line ${lineNumber}. `
    } else {
      const draft = new UserDraft(catalog, newUser(catalog, name, options), options)
      errors += applyLine(draft, rules, place)
      users.set(name, draft.finish())
    }
  }
  return errors === '' ? { users: [...users.values()] } : { error: errors + NOTHING_CHANGED }
}

/** The text of an ACL file that {@link parseAclFile} reads as the same users (ACL SAVE). */
export function printAclFile(users: Iterable<User>): string {
  return [...users].map(lineOf).join('')
}

function lineOf(user: User): string {
  return `${describeUser(user)}\n`
}

/** A `user` line of the configuration, already split into words. */
interface UserLine {
  readonly name: string
  readonly rules: readonly string[]
}

/**
 * Makes the users of a configuration's `user` lines. `default` starts from `reset`, others from nothing.
 *
 * @returns The users, and a notice for each that is off; or the error of the first bad line.
 */
export function usersOfConfig(
  catalog: CommandCatalog,
  lines: readonly UserLine[],
  options: RuleOptions,
):
  | { readonly users: readonly User[]; readonly notices: readonly string[] }
  | { readonly error: string } {
  const users = new Map<string, User>()
  const notices: string[] = []
  for (const { name, rules } of lines) {
    const wrong = (shown: string, message: string): { readonly error: string } => ({
      error: `Error in user declaration '${printable(shown)}': ${message}`,
    })
    if (!isValidUserName(name)) return wrong(name, BAD_USER_NAME)
    if (users.has(name)) {
      return wrong(name, 'Duplicate user found. A user can only be defined once in config files')
    }
    const joined = joinSelectors(rules)
    if ('unmatched' in joined) return wrong(shownRule(name, joined.rule), joined.error)

    const draft = new UserDraft(catalog, newUser(catalog, name, options), options)
    for (const rule of joined.rules) {
      const error = draft.apply(rule)
      if (error === RULE_ERRORS.unknownCommand) {
        return {
          error: `Error loading ACL rule '${printable(rule)}' for the user named '${name}': ${error}`,
        }
      }
      if (error !== undefined) return wrong(shownRule(name, rule), error)
    }
    const user = draft.finish()
    users.set(name, user)
    // A role is always off: no client logs in as it.
    if (!user.enabled && !isRoleName(name)) {
      notices.push(
        `The user '${name}' is disabled (there is no 'on' modifier in the user description). ` +
          'Make sure this is not a configuration error.',
      )
    }
  }
  return { users: [...users.values()], notices }
}

/**
 * The part of a `user` line that an error repeats: the rule, if it begins as rules of commands, keys and channels do. Any other
 * may be a password, perhaps without its `>`; then it is the user.
 */
function shownRule(name: string, rule: string): string {
  return /^[-+~%&@]/.test(rule) ? rule : `${name} ...`
}

/**
 * Applies the rules of one line of the file and goes on after errors: names of unknown commands are reported one by
 * one. Of other errors only the first is reported, without the rule, which may be a password.
 */
function applyLine(draft: UserDraft, rules: readonly string[], place: string): string {
  const joined = joinSelectors(rules)
  if ('unmatched' in joined) return `${place}: Unmatched parenthesis in selector definition.`
  let errors = ''
  let otherError = false
  for (const rule of joined.rules) {
    const trimmed = rule.replace(/^[\t\r]+|[\t\r]+$/g, '')
    const error = draft.apply(trimmed)
    if (error === undefined) continue
    if (error === RULE_ERRORS.unknownCommand) {
      errors += `${place}: Error in applying operation '${printable(trimmed)}': ${error}. `
    } else if (!otherError) {
      errors += `${place}: ${error}. `
      otherError = true
    }
  }
  return errors
}
