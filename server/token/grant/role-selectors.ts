import type { Selector, User } from '../../acl/user.ts'
import { MAX_PATTERNS } from '../verify/claims.ts'
import { expandRolePattern, fixedText, parseRolePattern } from './placeholders.ts'
import type { PlaceholderValues, RolePattern } from './placeholders.ts'
import type { CommandSets } from './token-commands.ts'

/** One alternative out of a role, its placeholders filled. */
export interface RoleAlternative {
  /** Command rules; never empty. */
  readonly rules: readonly string[]
  readonly allChannels: boolean
  /** Byte strings, each once, in the order of the role. */
  readonly patterns: readonly string[]
}

/** What a selector of a role means for any token. */
interface Plan {
  readonly rules: readonly string[]
  readonly allChannels: boolean
  readonly patterns: readonly RolePattern[]
  /** The alternative, if it is the same for every token. */
  readonly fixed: RoleAlternative | undefined
}

/** Counts down the patterns that placeholders may still make for one token. */
export class PatternBudget {
  #left: number
  /** Some pattern did not fit, and vanished. */
  exceeded = false

  /** @param used Patterns that the token's own lists hold. */
  constructor(used: number) {
    this.#left = MAX_PATTERNS - used
  }

  take(patterns: readonly string[] | undefined): readonly string[] {
    if (patterns !== undefined && patterns.length <= this.#left) {
      this.#left -= patterns.length
      return patterns
    }
    this.exceeded = true
    return []
  }
}

/** Turns roles into alternatives for tokens. What is the same for every token is worked out once. */
export class RoleSelectors {
  readonly #commands: CommandSets
  readonly #plans = new WeakMap<Selector, Plan>()

  constructor(commands: CommandSets) {
    this.#commands = commands
  }

  /**
   * The alternatives of a role for one token: its root permissions and its selectors, cut down to the commands that
   * tokens may hold. Whether the role is `on` or `off` does not matter.
   *
   * A pattern that the budget has no room for vanishes; fixed patterns are the operator's and are not counted.
   */
  of(role: User, values: PlaceholderValues, budget: PatternBudget): readonly RoleAlternative[] {
    const alternatives: RoleAlternative[] = []
    for (const selector of role.selectors) {
      const plan = this.#planOf(selector)
      if (plan.rules.length === 0) continue
      alternatives.push(plan.fixed ?? expand(plan, values, budget))
    }
    return alternatives
  }

  #planOf(selector: Selector): Plan {
    const known = this.#plans.get(selector)
    if (known !== undefined) return known
    const parsed = selector.channels.map(({ pattern }) => parseRolePattern(pattern))
    // SETUSER refuses what does not parse; what comes from elsewhere must not widen either.
    const patterns = parsed.filter((pattern) => typeof pattern !== 'string')
    const rules = this.#commands.restrict(selector)
    const { allChannels } = selector
    const texts = patterns.map(fixedText).filter((text) => text !== undefined)
    const fixed =
      texts.length === patterns.length ? { rules, allChannels, patterns: unique(texts) } : undefined
    const plan: Plan = { rules, allChannels, patterns, fixed }
    this.#plans.set(selector, plan)
    return plan
  }
}

function expand(plan: Plan, values: PlaceholderValues, budget: PatternBudget): RoleAlternative {
  const patterns = plan.patterns.flatMap((pattern) => {
    const text = fixedText(pattern)
    return text === undefined ? budget.take(expandRolePattern(pattern, values)) : [text]
  })
  return { rules: plan.rules, allChannels: plan.allChannels, patterns: unique(patterns) }
}

function unique(patterns: readonly string[]): readonly string[] {
  return [...new Set(patterns)]
}
