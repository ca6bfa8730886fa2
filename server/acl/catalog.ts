import type { Category } from './categories.ts'
import { KNOWN_COMMANDS } from './known-commands.ts'

/** The arguments of a command that are channels, and the use it makes of them. */
export interface ChannelUse {
  /** `none`: the command needs no right to the channels it names (the unsubscribes). */
  readonly kind: 'subscribe' | 'pattern' | 'publish' | 'none'
  /** Position of the first channel; the command's name is argument 0. */
  readonly first: number
  /** Position of the last channel; negative counts from the end, -1 being the last argument. */
  readonly last: number
}

/** The arguments of a command that are keys, and the access it needs to them. */
export interface KeyUse {
  readonly first: number
  /** Negative counts from the end, -1 being the last argument. */
  readonly last: number
  /** Distance between keys, at least 1. */
  readonly step: number
  /** The command shows the value of a key. */
  readonly read: boolean
  /** The command changes the key. */
  readonly write: boolean
}

/** A command as a catalog is built from it; the specs of the command table satisfy it. */
export interface CommandSource {
  /** Lower-case full name: `publish`, `client|kill`. */
  readonly name: string
  readonly categories: readonly Category[]
  readonly channels?: ChannelUse | undefined
  readonly keys?: KeyUse | undefined
}

/** A command as the ACL knows it. */
export interface CatalogEntry {
  /** Position in the catalog, from 0 without holes: the bit that stands for the command in a selector. */
  readonly id: number
  /** Lower-case full name: `publish`, `client|kill`. */
  readonly name: string
  readonly categories: readonly Category[]
  readonly channels: ChannelUse | undefined
  readonly keys: KeyUse | undefined
  /** The container of a subcommand. */
  readonly parent: CatalogEntry | undefined
  /** Subcommands of a container; empty for others. */
  readonly subcommands: readonly CatalogEntry[]
}

interface MutableEntry extends CatalogEntry {
  parent: CatalogEntry | undefined
  readonly subcommands: CatalogEntry[]
}

/** All commands that rules can name, each with its bit in a selector. Never changed once built. */
export class CommandCatalog {
  /** Every entry, at the index that is its id. */
  readonly all: readonly CatalogEntry[]
  readonly #byName = new Map<string, MutableEntry>()
  readonly #byCategory = new Map<Category, CatalogEntry[]>()

  /**
   * @param commands Subcommands may come before or after their container.
   * @throws {Error} A name occurs twice, or a subcommand's container is missing.
   */
  constructor(commands: Iterable<CommandSource>) {
    const all: MutableEntry[] = []
    for (const { name, categories, channels, keys } of commands) {
      if (this.#byName.has(name)) throw new Error(`Command '${name}' is in the catalog twice`)
      const entry: MutableEntry = {
        id: all.length,
        name,
        categories,
        channels,
        keys,
        parent: undefined,
        subcommands: [],
      }
      all.push(entry)
      this.#byName.set(name, entry)
      for (const category of categories) {
        const members = this.#byCategory.get(category)
        if (members) members.push(entry)
        else this.#byCategory.set(category, [entry])
      }
    }
    for (const entry of all) {
      const bar = entry.name.indexOf('|')
      if (bar < 0) continue
      const parent = this.#byName.get(entry.name.slice(0, bar))
      if (!parent) throw new Error(`Subcommand '${entry.name}' has no container in the catalog`)
      entry.parent = parent
      parent.subcommands.push(entry)
    }
    this.all = all
  }

  /** The entry of a full name in lower case (`publish`, `client|kill`). */
  lookup(lowerCaseName: string): CatalogEntry | undefined {
    return this.#byName.get(lowerCaseName)
  }

  /**
   * The entry of a command that must be there.
   *
   * @throws {Error} It is not.
   */
  get(lowerCaseName: string): CatalogEntry {
    const entry = this.#byName.get(lowerCaseName)
    if (!entry) throw new Error(`Command '${lowerCaseName}' is not in the catalog`)
    return entry
  }

  /** Commands and subcommands of a category, as ACL CAT lists them; empty if there are none. */
  inCategory(category: Category): readonly CatalogEntry[] {
    return this.#byCategory.get(category) ?? []
  }
}

/** The server's own commands, then those of {@link KNOWN_COMMANDS} that it does not have itself. */
export function withKnownCommands(own: readonly CommandSource[]): CommandSource[] {
  const names = new Set(own.map((command) => command.name))
  return [...own, ...KNOWN_COMMANDS.filter((command) => !names.has(command.name))]
}
