import type { Identity } from './authorize.ts'
import type { ChannelRule, Selector, User } from './user.ts'

/**
 * Reports whether a change of a user (ACL SETUSER, ACL LOAD) takes a channel rule away, so that the user's clients have
 * to be checked. It does not if some selector of the new user has all channels, or if every channel rule of the old
 * user is still there as text: Redis then pardons every client, regardless of its subscriptions.
 */
export function mayLoseSubscriptions(before: User, after: User): boolean {
  if (hasAllChannels(after)) return false
  if (hasAllChannels(before)) return true
  const kept = patternsOf(after)
  return channelRulesOf(before).some((rule) => !kept.has(rule.pattern))
}

/** Reports whether a user's channel rules cover a channel, or a pattern, that a client is subscribed to. */
type Coverage = (name: string, isPattern: boolean) => boolean

/**
 * Redis' rule for the subscriptions of a user that was changed. The channel rules of all selectors count together: a
 * channel or shard channel must match one, and a pattern must be equal to one. The commands of the selectors, `off`
 * and passwords play no part.
 */
export function coverageOf(user: User): Coverage {
  if (hasAllChannels(user)) return () => true
  const rules = channelRulesOf(user)
  const patterns = patternsOf(user)
  return (name, isPattern) =>
    isPattern ? patterns.has(name) : rules.some((rule) => rule.glob.matches(name))
}

/**
 * Reports whether an identity may allow something that it did not allow before. It compares selectors by their commands and
 * by the texts of their channel rules, so a rule that is written in another way counts as new.
 */
export function mayGain(before: Identity, after: Identity): boolean {
  if (isWider(before.user, after.user)) return true
  return before.ceilings.some((ceiling) => {
    const now = after.ceilings.find(({ name }) => name === ceiling.name)
    return now === undefined || isWider(ceiling, now)
  })
}

function isWider(before: User, after: User): boolean {
  if (after.enabled && !before.enabled) return true
  if (after.selectors === before.selectors) return false
  return !after.selectors.every((one) => before.selectors.some((other) => includes(other, one)))
}

/** Reports whether all that `part` allows is allowed by `whole`. Keys play no part: there are none. */
function includes(whole: Selector, part: Selector): boolean {
  if (whole === part) return true
  if (part.allCommands && !whole.allCommands) return false
  if (part.allowed.some((bits, i) => (bits & ~(whole.allowed[i] ?? 0)) !== 0)) return false
  for (const [id, words] of part.firstArguments) {
    const isWhole = ((whole.allowed[id >> 5] ?? 0) & (1 << (id & 31))) !== 0
    const known = whole.firstArguments.get(id) ?? []
    if (!isWhole && words.some((word) => !known.includes(word))) return false
  }
  if (whole.allChannels) return true
  if (part.allChannels) return false
  const patterns = new Set(whole.channels.map(({ pattern }) => pattern))
  return part.channels.every(({ pattern }) => patterns.has(pattern))
}

function hasAllChannels(user: User): boolean {
  return user.selectors.some((selector) => selector.allChannels)
}

function channelRulesOf(user: User): ChannelRule[] {
  return user.selectors.flatMap((selector) => selector.channels)
}

function patternsOf(user: User): ReadonlySet<string> {
  return new Set(channelRulesOf(user).map((rule) => rule.pattern))
}
