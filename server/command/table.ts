import { CommandCatalog, withKnownCommands, type CatalogEntry } from '../acl/catalog.ts'
import type { Request } from '../resp/request.ts'
import type { CommandSpec, Positions } from './spec.ts'

/** Most spellings of command names that are cached, so that the usual ones cost one lookup. */
const CACHED_SPELLINGS = 1_024

/** Longest name that is looked up, in bytes: an argument may be too long for a string. */
const LONGEST_NAME = 1_024

/** A command in the table, with its statistics. */
export class Command {
  readonly spec: CommandSpec
  readonly acl: CatalogEntry
  readonly container: Command | undefined
  readonly subcommands = new Map<string, Command>()
  readonly noAuth: boolean
  readonly noMulti: boolean
  /** A pause of writes holds it. */
  readonly replicates: boolean
  /** It reads or changes data, which a client in MONITOR may not do. */
  readonly touchesData: boolean
  /** Arguments by which a cluster routes it. */
  readonly slots: Positions | undefined
  calls = 0
  /** Time spent on it. */
  microseconds = 0
  /** Calls by duration: index n counts those from 2^(n-1) to less than 2^n microseconds. */
  readonly histogram = new Float64Array(33)
  rejectedCalls = 0
  failedCalls = 0

  constructor(spec: CommandSpec, acl: CatalogEntry, container: Command | undefined) {
    this.spec = spec
    this.acl = acl
    this.container = container
    this.noAuth = spec.flags.includes('no_auth')
    this.noMulti = spec.flags.includes('no_multi')
    this.replicates = spec.mayReplicate === true || spec.flags.includes('write')
    this.touchesData = this.replicates || spec.flags.includes('readonly')
    this.slots = spec.shardChannels ?? spec.keys
  }

  /** Counts the time of one call. @param tracked In the histogram too (`latency-tracking`). */
  addTime(microseconds: number, tracked = true): void {
    this.microseconds += microseconds
    if (!tracked) return
    const slot = 32 - Math.clz32(microseconds)
    this.histogram[slot] = (this.histogram[slot] as number) + 1
  }

  /** CONFIG RESETSTAT. */
  resetStatistics(): void {
    this.calls = this.microseconds = this.rejectedCalls = this.failedCalls = 0
    this.histogram.fill(0)
  }

  /** Reports whether the arity allows `count` arguments, the name included. */
  accepts(count: number): boolean {
    const { arity } = this.spec
    return arity >= 0 ? count === arity : count >= -arity
  }

  /** An argument as MONITOR and the slow log show it: secrets are redacted. */
  shown(request: Request, index: number): string {
    const { secret } = this.spec
    const isSecret = typeof secret === 'number' ? index >= secret : secret?.(request, index)
    return isSecret ? '(redacted)' : request.text(index)
  }
}

/** All commands of this server, by name. */
export class CommandTable {
  /** Commands that ACL rules can name: these, and those of Redis that this server lacks. */
  readonly catalog: CommandCatalog
  readonly #byName = new Map<string, Command>()
  readonly #bySpelling = new Map<string, Command>()
  /** The last command found that has no subcommands, and how it was spelled. */
  #last: Command | undefined
  #lastSpelling = ''

  /**
   * @param specs Containers before their subcommands.
   * @param renames Old and new names (`rename-command`); an empty new name removes the command. ACL rules and statistics
   *   keep the old name, as in Redis.
   * @throws Error Two specs have one name, or a subcommand has no container.
   */
  constructor(specs: readonly CommandSpec[], renames: readonly (readonly string[])[] = []) {
    this.catalog = new CommandCatalog(withKnownCommands(specs))
    for (const spec of specs) {
      const bar = spec.name.indexOf('|')
      const container = bar < 0 ? undefined : this.#byName.get(spec.name.slice(0, bar))
      const command = new Command(spec, this.catalog.get(spec.name), container)
      if (bar < 0) this.#byName.set(spec.name, command)
      else if (container) container.subcommands.set(spec.name.slice(bar + 1), command)
      else throw new Error(`Subcommand '${spec.name}' stands before its container`)
    }
    for (const [from = '', to = ''] of renames) this.#rename(from.toLowerCase(), to.toLowerCase())
  }

  /** Number of top-level commands. */
  get size(): number {
    return this.#byName.size
  }

  /** Top-level commands in the order of the table. */
  commands(): IterableIterator<Command> {
    return this.#byName.values()
  }

  /** All commands, each container followed by its subcommands. */
  *all(): IterableIterator<Command> {
    for (const command of this.#byName.values()) {
      yield command
      yield* command.subcommands.values()
    }
  }

  /** Finds a command by its full name in any case: `publish`, `CLIENT|ID`. */
  named(fullName: string): Command | undefined {
    const [name = '', subcommand, ...more] = fullName.toLowerCase().split('|')
    if (more.length > 0) return undefined
    const command = this.#byName.get(name)
    return subcommand === undefined ? command : command?.subcommands.get(subcommand)
  }

  /**
   * Finds the command that a request names, by its second word too if the first is a container. A container alone is
   * found itself: it fails by its arity.
   *
   * @param at Position of the command's name in the request.
   */
  find(request: Request, at = 0): Command | undefined {
    // Mostly a request names the same command as the one before it: then no name has to be decoded.
    const last = this.#last
    if (last && request.equals(at, this.#lastSpelling)) return last
    if (request.length(at) > LONGEST_NAME) return undefined
    const name = request.text(at)
    const command = this.#spelled(name)
    if (!command) return undefined
    if (command.subcommands.size === 0) {
      this.#last = command
      this.#lastSpelling = name
      return command
    }
    if (request.count < at + 2) return command
    if (request.length(at + 1) > LONGEST_NAME) return undefined
    return command.subcommands.get(request.text(at + 1).toLowerCase())
  }

  /** Reports whether the first word of a request is a container. (`client|id` is a name in rules, but not on the wire.) */
  namesContainer(request: Request): boolean {
    if (request.length(0) > LONGEST_NAME) return false
    const command = this.#spelled(request.text(0))
    return command !== undefined && command.subcommands.size > 0
  }

  #rename(from: string, to: string): void {
    const command = this.#byName.get(from)
    if (!command) return
    this.#byName.delete(from)
    if (to !== '') this.#byName.set(to, command)
  }

  #spelled(name: string): Command | undefined {
    const known = this.#bySpelling.get(name)
    if (known) return known
    const command = this.#byName.get(name.toLowerCase())
    if (command && this.#bySpelling.size < CACHED_SPELLINGS) this.#bySpelling.set(name, command)
    return command
  }
}
