import type { ChannelRule, User } from './user.ts'

/** What one client is subscribed to, as byte strings. */
export interface SubscriptionNames {
  readonly channels: Iterable<string>
  readonly patterns: Iterable<string>
  readonly shardChannels: Iterable<string>
}

/**
 * Whether a client of a user loses a subscription by a change of the user (ACL SETUSER, ACL LOAD), so that it is
 * killed. The right to run SUBSCRIBE, `off` and passwords play no part in it, and neither do the commands of the
 * selector that holds a channel.
 *
 * @param before The user as it was.
 * @param after The user as it is; undefined if it was deleted, in which case the client is killed in any case.
 */
export function losesSubscriptions(
  before: User,
  after: User | undefined,
  subscriptions: SubscriptionNames,
): boolean {
  if (!after) return true
  return mayLoseSubscriptions(before, after) && !coversSubscriptions(after, subscriptions)
}

/**
 * Whether a change takes a channel rule away, so that the user's clients have to be looked at. It does not if
 * the new user has all channels in some selector, or if every channel rule of the old one is still there as text.
 */
export function mayLoseSubscriptions(before: User, after: User): boolean {
  if (hasAllChannels(after)) return false
  if (hasAllChannels(before)) return true
  const kept = patternsOf(after)
  return channelRulesOf(before).some((rule) => !kept.has(rule.pattern))
}

/**
 * Whether a user's channel rules, those of all its selectors together, cover subscriptions: each channel and shard channel
 * matches one, and each pattern is equal to one.
 */
export function coversSubscriptions(user: User, subscriptions: SubscriptionNames): boolean {
  if (hasAllChannels(user)) return true
  const rules = channelRulesOf(user)
  const patterns = patternsOf(user)
  for (const pattern of subscriptions.patterns) if (!patterns.has(pattern)) return false
  for (const channel of subscriptions.channels) if (!matchesAny(rules, channel)) return false
  for (const channel of subscriptions.shardChannels) if (!matchesAny(rules, channel)) return false
  return true
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

function matchesAny(rules: readonly ChannelRule[], channel: string): boolean {
  return rules.some((rule) => rule.glob.matches(channel))
}
