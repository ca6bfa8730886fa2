import type { ChannelRule, User } from './user.ts'

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

function hasAllChannels(user: User): boolean {
  return user.selectors.some((selector) => selector.allChannels)
}

function channelRulesOf(user: User): ChannelRule[] {
  return user.selectors.flatMap((selector) => selector.channels)
}

function patternsOf(user: User): ReadonlySet<string> {
  return new Set(channelRulesOf(user).map((rule) => rule.pattern))
}
