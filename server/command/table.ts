import { CommandCatalog, withKnownCommands, type CatalogEntry } from '../acl/catalog.ts'
import type { Request } from '../resp/request.ts'
import { Command, type CommandSpec } from './spec.ts'

/** Spellings of command names that are remembered, so that the usual ones cost one look-up. */
const REMEMBERED_SPELLINGS = 1_024

/** No command has a longer name, in bytes: an argument may be too long to be looked up, even for a string. */
const LONGEST_NAME = 1_024

/** All commands this server has, by name. */
export class CommandTable {
  /** What ACL rules can name: these commands, and those of Redis that this server does not have. */
  readonly catalog: CommandCatalog
  readonly #byName = new Map<string, Command>()
  readonly #bySpelling = new Map<string, Command>()
  /** The last command found that has no subcommands, and how it was spelled. */
  #last: Command | undefined
  #lastSpelling = ''

  /**
   * @param specs Containers before their subcommands.
   * @param renames Old and new names (`rename-command`); an empty new name takes the command away. ACL rules and statistics
   *   keep the old name, as in Redis.
   * @throws Error Two specs have one name, or a subcommand has no container.
   */
  constructor(specs: readonly CommandSpec[], renames: readonly (readonly string[])[] = []) {
    this.catalog = new CommandCatalog(withKnownCommands(specs))
    for (const spec of specs) {
      const bar = spec.name.indexOf('|')
      const container = bar < 0 ? undefined : this.#byName.get(spec.name.slice(0, bar))
      const command = new Command(spec, this.catalog.lookup(spec.name) as CatalogEntry, container)
      if (bar < 0) this.#byName.set(spec.name, command)
      else if (container) container.subcommands.set(spec.name.slice(bar + 1), command)
      else throw new Error(`Subcommand '${spec.name}' stands before its container`)
    }
    for (const [from = '', to = ''] of renames) this.#rename(from.toLowerCase(), to.toLowerCase())
  }

  /** Top-level commands: COMMAND COUNT. */
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

  /** The command of a full name in any case: `publish`, `CLIENT|ID`. */
  named(fullName: string): Command | undefined {
    const [name = '', subcommand] = fullName.toLowerCase().split('|', 2)
    const command = this.#byName.get(name)
    return subcommand === undefined ? command : command?.subcommands.get(subcommand)
  }

  /**
   * The command that a request names, by its second word too where the first is a container. A container alone is
   * itself the answer: it fails by its arity.
   *
   * @param at Position of the command's name in the request.
   */
  find(request: Request, at = 0): Command | undefined {
    // A client mostly sends what the one before it sent: then no name has to be made of the bytes.
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

  /** Whether the first word of a request is a container. (`client|id` is a name in rules, but none on the wire.) */
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
    if (command && this.#bySpelling.size < REMEMBERED_SPELLINGS) this.#bySpelling.set(name, command)
    return command
  }
}
