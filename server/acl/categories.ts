/** ACL categories in the order in which Redis' `ACL CAT` answers them. */
export const CATEGORIES = [
  'keyspace',
  'read',
  'write',
  'set',
  'sortedset',
  'list',
  'hash',
  'string',
  'bitmap',
  'hyperloglog',
  'geo',
  'stream',
  'pubsub',
  'admin',
  'fast',
  'slow',
  'blocking',
  'dangerous',
  'connection',
  'transaction',
  'scripting',
] as const

/** An ACL category, without the `@`. */
export type Category = (typeof CATEGORIES)[number]

/** Reports whether a lower-case word is one of the {@link CATEGORIES}. */
export function isCategory(word: string): word is Category {
  return (CATEGORIES as readonly string[]).includes(word)
}
