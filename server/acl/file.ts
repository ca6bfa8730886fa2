import { readFileSync } from 'node:fs'
import type { Settings } from '../config/settings.ts'
import { replaceFile, SECRET_MODE } from '../files.ts'
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

/** The ACL file of `aclfile`. All methods return the error's text without its code, if any. */
export class AclFile {
  /** Absolute; empty without one. */
  readonly #path: string
  readonly #catalog: CommandCatalog
  readonly #users: UserTable
  readonly #settings: Settings
  readonly #log: Logger

  constructor(catalog: CommandCatalog, users: UserTable, settings: Settings, log: Logger) {
    this.#path = settings.path('aclfile')
    this.#catalog = catalog
    this.#users = users
    this.#settings = settings
    this.#log = log
  }

  /** ACL SAVE: replaces the file as a whole or not at all. */
  save(): string | undefined {
    const path = this.#path
    if (path === '') return NOT_CONFIGURED
    try {
      replaceFile(path, Buffer.from(printAclFile(this.#users.list()), 'latin1'), SECRET_MODE)
      return undefined
    } catch (error) {
      this.#log.error({ err: error, path }, 'the ACL file cannot be written')
      return CANNOT_SAVE
    }
  }

  /** ACL LOAD. */
  load(): string | undefined {
    const path = this.#path
    if (path === '') return NOT_CONFIGURED
    let text: string
    try {
      text = readFileSync(path, 'latin1')
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      const reason = code === 'ENOENT' ? 'No such file or directory' : (code ?? 'unreadable')
      return `Error loading ACLs, opening file '${path}': ${reason}`
    }
    const result = parseAclFile(this.#catalog, text, path, this.#users.ruleOptions)
    if ('error' in result) return result.error
    this.#users.replaceAll(result.users)
    return undefined
  }

  /** Saves if `acl-autosave` asks for it. */
  autosave(): string | undefined {
    return this.#path !== '' && this.#settings.boolean('acl-autosave') ? this.save() : undefined
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
  return [...users].map((user) => `${describeUser(user)}\n`).join('')
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
