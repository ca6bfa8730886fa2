import { compileGlob } from '../../shared/glob.ts'
import type { CommandCatalog } from './catalog.ts'
import { asciiLower, CommandRules } from './command-rules.ts'
import { hasSpaceOrNul } from './names.ts'
import { RULE_ERRORS } from './rule-errors.ts'
import type { ChannelRule, KeyRule, Selector } from './user.ts'

/** What a new user or selector may do with channels: the directive `acl-pubsub-default`. */
export type PubsubDefault = 'allchannels' | 'resetchannels'

/** What rules are applied under, beside the catalog. */
export interface RuleOptions {
  readonly pubsubDefault: PubsubDefault
  /** Bound of the ids in `db=`, the directive `databases`; 16 if absent. */
  readonly databases?: number
  /**
   * Judges the channel patterns of users named `role:…`, in which placeholders stand: the text of the error,
   * or undefined if the pattern (a byte string without the `&`) is fine.
   */
  readonly checkRolePattern?: (pattern: string) => string | undefined
}

/** A selector while it is being changed. */
export class SelectorDraft {
  readonly #options: RuleOptions
  readonly #commands: CommandRules
  readonly #checkPattern: ((pattern: string) => string | undefined) | undefined
  #allKeys = false
  #keys: KeyRule[] = []
  #allChannels: boolean
  #channels: ChannelRule[] = []

  /**
   * @param base The selector to start from; without one, a new selector that allows what `acl-pubsub-default` says.
   * @param isRole The user's channel patterns hold placeholders.
   */
  constructor(catalog: CommandCatalog, options: RuleOptions, isRole: boolean, base?: Selector) {
    this.#options = options
    this.#checkPattern = isRole ? options.checkRolePattern : undefined
    this.#allChannels = options.pubsubDefault === 'allchannels'
    this.#commands = base ? CommandRules.of(catalog, base) : new CommandRules(catalog)
    if (!base) return
    this.#allKeys = base.allKeys
    this.#keys = [...base.keys]
    this.#allChannels = base.allChannels
    this.#channels = [...base.channels]
  }

  /**
   * Applies one rule that is allowed in a selector.
   *
   * @param rule A byte string of at least one byte.
   * @returns What is wrong with the rule, in which case nothing has changed; else undefined.
   */
  apply(rule: string): string | undefined {
    switch (asciiLower(rule)) {
      case 'allkeys':
      case '~*':
        this.#resetKeys(true)
        return undefined
      case 'resetkeys':
        this.#resetKeys(false)
        return undefined
      case 'allchannels':
      case '&*':
        this.#resetChannels(true)
        return undefined
      case 'resetchannels':
        this.#resetChannels(false)
        return undefined
      case 'allcommands':
      case '+@all':
        this.#commands.reset(true)
        return undefined
      case 'nocommands':
      case '-@all':
        this.#commands.reset(false)
        return undefined
      case 'alldbs':
      case 'resetdbs':
        return undefined
      default:
        return this.#applyWithOperand(rule)
    }
  }

  /** The effect of `reset` on the root selector. */
  reset(): void {
    this.#resetKeys(false)
    this.#resetChannels(this.#options.pubsubDefault === 'allchannels')
    this.#commands.reset(false)
  }

  /** Ends the draft, which must not be changed any more. */
  finish(): Selector {
    return {
      allCommands: this.#commands.allCommands,
      commandRules: this.#commands.rules,
      allowed: this.#commands.allowed,
      firstArguments: this.#commands.firstArguments,
      allKeys: this.#allKeys,
      keys: this.#keys,
      allChannels: this.#allChannels,
      channels: this.#channels,
    }
  }

  #applyWithOperand(rule: string): string | undefined {
    switch (rule.charAt(0)) {
      case '&':
        return this.#addChannel(rule.slice(1))
      case '~':
        return this.#addKey(rule.slice(1), true, true)
      case '%':
        return this.#addKeyWithAccess(rule)
      case '+':
      case '-':
        return this.#commands.apply(rule)
      default:
        return asciiLower(rule).startsWith('db=')
          ? databasesError(rule.slice(3), this.#options.databases ?? 16)
          : RULE_ERRORS.syntax
    }
  }

  #resetKeys(allKeys: boolean): void {
    this.#allKeys = allKeys
    this.#keys = []
  }

  #resetChannels(allChannels: boolean): void {
    this.#allChannels = allChannels
    this.#channels = []
  }

  #addChannel(pattern: string): string | undefined {
    if (this.#allChannels) return RULE_ERRORS.channelsExist
    if (hasSpaceOrNul(pattern)) return RULE_ERRORS.syntax
    const problem = this.#checkPattern?.(pattern)
    if (problem !== undefined) return problem
    if (!this.#channels.some((channel) => channel.pattern === pattern)) {
      this.#channels.push({ pattern, glob: compileGlob(pattern) })
    }
    return undefined
  }

  /** `%R~pattern`, `%W~pattern`, `%RW~pattern`; `%R` alone is the empty pattern. */
  #addKeyWithAccess(rule: string): string | undefined {
    if (this.#allKeys) return RULE_ERRORS.keysExist
    const access = /^%(?:(r)(w)?|(w)(r)?)(?:~|$)/i.exec(rule)
    if (!access) return RULE_ERRORS.syntax
    const read = (access[1] ?? access[4]) !== undefined
    const write = (access[2] ?? access[3]) !== undefined
    return this.#addKey(rule.slice(access[0].length), read, write)
  }

  #addKey(pattern: string, read: boolean, write: boolean): string | undefined {
    if (this.#allKeys) return RULE_ERRORS.keysExist
    if (hasSpaceOrNul(pattern)) return RULE_ERRORS.syntax
    const index = this.#keys.findIndex((key) => key.pattern === pattern)
    const known = this.#keys[index]
    if (known) {
      this.#keys[index] = { ...known, read: known.read || read, write: known.write || write }
    } else {
      this.#keys.push({ pattern, glob: compileGlob(pattern), read, write })
    }
    return undefined
  }
}

/** Judges the list of Valkey's `db=0,1`, which has no effect where there are no keys. */
function databasesError(list: string, databases: number): string | undefined {
  if (!/^\d+(?:,\d+)*$/.test(list)) return RULE_ERRORS.syntax
  const inRange = list.split(',').every((id) => Number(id) < databases)
  return inRange ? undefined : RULE_ERRORS.databaseRange
}
