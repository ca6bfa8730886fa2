import type { Subscriber } from './subscriber.ts'

/**
 * Subscribers of one name. Most names have one, and a set for one costs as much as everything else about its subscription
 * taken together: one subscriber stands for itself.
 */
export type Members = Subscriber | Set<Subscriber> | undefined

/** `members` and one more. */
export function withMember(members: Members, subscriber: Subscriber): Members {
  if (members === undefined || members === subscriber) return subscriber
  if (members instanceof Set) return members.add(subscriber)
  return new Set([members, subscriber])
}

/** `members` without one that may be among them. */
export function withoutMember(members: Members, subscriber: Subscriber): Members {
  if (members === subscriber) return undefined
  if (!(members instanceof Set)) return members
  members.delete(subscriber)
  return members.size === 0 ? undefined : members
}

/** Whether a subscriber is among `members`. */
export function isMember(members: Members, subscriber: Subscriber): boolean {
  return members === subscriber || (members instanceof Set && members.has(subscriber))
}

/** How many there are. */
export function memberCount(members: Members): number {
  if (members === undefined) return 0
  return members instanceof Set ? members.size : 1
}

/** All there are. */
export function eachMember(members: Members): Iterable<Subscriber> {
  if (members === undefined) return []
  return members instanceof Set ? members : [members]
}
