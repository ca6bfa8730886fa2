import type { CommandCatalog } from '../../acl/catalog.ts'
import { applyRules, newUser } from '../../acl/rules.ts'
import type { Selector } from '../../acl/user.ts'

/** Commands that a token holds only through an alternative with channels. */
export const CHANNEL_COMMANDS: readonly string[] = [
  'subscribe',
  'psubscribe',
  'ssubscribe',
  'publish',
  'spublish',
]

/** Rules of an alternative that subscribes. */
export const SUBSCRIBE_RULES: readonly string[] = ['+subscribe', '+psubscribe', '+ssubscribe']

/** Rules of an alternative that publishes. */
export const PUBLISH_RULES: readonly string[] = ['+publish', '+spublish']

/** Commands that every token holds; none of them reaches a channel. */
const COMMON_COMMANDS: readonly string[] = (
  'auth hello ping echo quit reset select multi exec discard ' +
  'client|id client|getname client|setname client|setinfo client|info acl|whoami token|why ' +
  'unsubscribe punsubscribe sunsubscribe'
).split(' ')

/** Reports whether a selector allows a command with any arguments. */
export function hasCommand({ allowed }: Selector, id: number): boolean {
  return (((allowed[id >>> 5] ?? 0) >>> (id & 31)) & 1) === 1
}

/** Makes selectors without channels for one catalog. */
export class CommandSets {
  readonly #catalog: CommandCatalog
  readonly #byRules = new Map<string, Selector>()

  constructor(catalog: CommandCatalog) {
    this.#catalog = catalog
  }

  /** The root permissions of every token: the common commands that the catalog has, no key, no channel. */
  root(): Selector {
    const known = COMMON_COMMANDS.filter((name) => this.#catalog.lookup(name) !== undefined)
    return this.of(known.map((name) => `+${name}`))
  }

  /**
   * A selector with these command rules and nothing else.
   *
   * @param rules Rules that are known to be good; they never come from a token.
   * @throws Error if the ACL refuses one.
   */
  of(rules: readonly string[]): Selector {
    const key = rules.join(' ')
    const known = this.#byRules.get(key)
    if (known !== undefined) return known
    const options = { pubsubDefault: 'resetchannels' } as const
    const applied = applyRules(
      this.#catalog,
      newUser(this.#catalog, '', options),
      ['resetchannels', ...rules],
      options,
    )
    const selector = 'user' in applied ? applied.user.selectors[0] : undefined
    if (selector === undefined) throw new Error(`Bad command rules for tokens: ${key}`)
    this.#byRules.set(key, selector)
    return selector
  }

  /** The commands of a selector that tokens may hold, as rules. */
  restrict(selector: Selector): readonly string[] {
    return CHANNEL_COMMANDS.flatMap((name) => {
      const id = this.#catalog.lookup(name)?.id
      if (id === undefined) return []
      if (hasCommand(selector, id)) return [`+${name}`]
      return (selector.firstArguments.get(id) ?? []).map((argument) => `+${name}|${argument}`)
    })
  }
}
