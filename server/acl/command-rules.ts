import { isCategory } from './categories.ts'
import type { CatalogEntry, CommandCatalog } from './catalog.ts'
import { hasSpaceOrNul } from './names.ts'
import { RULE_ERRORS } from './rule-errors.ts'
import type { Selector } from './user.ts'

/** The part of a selector that says which commands it allows, while it is being changed. */
export class CommandRules {
  readonly #catalog: CommandCatalog
  allCommands = false
  rules: string[] = []
  allowed: Uint32Array
  firstArguments = new Map<number, readonly string[]>()

  constructor(catalog: CommandCatalog) {
    this.#catalog = catalog
    this.allowed = new Uint32Array((catalog.all.length + 31) >>> 5)
  }

  /** A copy to change, of rules that were built for the same catalog. */
  static of(catalog: CommandCatalog, selector: Selector): CommandRules {
    const draft = new CommandRules(catalog)
    draft.allCommands = selector.allCommands
    draft.rules = [...selector.commandRules]
    draft.allowed = selector.allowed.slice()
    draft.firstArguments = new Map(selector.firstArguments)
    return draft
  }

  /** `+@all` (true) or `-@all` (false): everything said before is void. */
  reset(allCommands: boolean): void {
    this.allCommands = allCommands
    this.rules = []
    this.allowed.fill(allCommands ? 0xffff_ffff : 0)
    this.firstArguments.clear()
  }

  /**
   * Applies `+command`, `-command`, `+command|argument`, `+@category` or `-@category`.
   *
   * @param rule In any case; `@all` is told by {@link reset}.
   * @returns What is wrong with the rule, or undefined.
   */
  apply(rule: string): string | undefined {
    const allow = rule.startsWith('+')
    const name = asciiLower(rule.slice(1))
    if (name.startsWith('@')) return this.#applyCategory(name, allow)
    if (allow && name.includes('|')) return this.#allowBehindBar(name)

    const entry = this.#catalog.lookup(name)
    if (!entry) return RULE_ERRORS.unknownCommand
    this.#set(entry, allow)
    this.#remember(name, allow)
    return undefined
  }

  #applyCategory(name: string, allow: boolean): string | undefined {
    const category = name.slice(1)
    if (!isCategory(category)) return RULE_ERRORS.unknownCommand
    for (const entry of this.#catalog.inCategory(category)) this.#set(entry, allow)
    this.#remember(name, allow)
    return undefined
  }

  /** `+container|subcommand`, or `+command|argument` where the command has no subcommands. */
  #allowBehindBar(name: string): string | undefined {
    const bar = name.lastIndexOf('|')
    const entry = this.#catalog.lookup(name.slice(0, bar))
    const argument = name.slice(bar + 1)
    if (!entry) return RULE_ERRORS.unknownCommand
    if (entry.parent) return RULE_ERRORS.firstArgument
    // A blank would make two rules of one when the user is printed and read again.
    if (argument === '' || hasSpaceOrNul(argument)) return RULE_ERRORS.syntax

    if (entry.subcommands.length > 0) {
      const subcommand = this.#catalog.lookup(name)
      if (!subcommand) return RULE_ERRORS.unknownCommand
      this.#set(subcommand, true)
    } else {
      const known = this.firstArguments.get(entry.id) ?? []
      if (!known.includes(argument)) this.firstArguments.set(entry.id, [...known, argument])
    }
    this.#remember(name, true)
    return undefined
  }

  /** Allows or denies a command with all its subcommands, whatever was said of their first arguments. */
  #set(entry: CatalogEntry, allow: boolean): void {
    const word = entry.id >>> 5
    const bit = 1 << (entry.id & 31)
    const bits = this.allowed[word] as number
    this.allowed[word] = allow ? bits | bit : bits & ~bit
    this.firstArguments.delete(entry.id)
    for (const subcommand of entry.subcommands) this.#set(subcommand, allow)
  }

  /** Puts a rule behind the others and drops those that it makes void: its like, and rules for its subcommands. */
  #remember(name: string, allow: boolean): void {
    this.rules = this.rules.filter((rule) => {
      const other = rule.slice(1)
      return other !== name && !other.startsWith(`${name}|`)
    })
    this.rules.push((allow ? '+' : '-') + name)
  }
}

/** Lower case of ASCII letters alone, as C's `tolower` in the C locale; other bytes stay. */
export function asciiLower(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
