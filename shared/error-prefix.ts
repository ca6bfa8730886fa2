/**
 * The codes that start an error reply, each with what it tells a client. A client decides by the code; the rest of the
 * line is for people.
 */
export const ERROR_PREFIXES = {
  ERR: 'the command could not be carried out',
  NOAUTH: 'log in first',
  WRONGPASS: 'the user, the password or the token was refused',
  NOPERM: 'the user may not run this command, or not on this channel',
  NOPROTO: 'the protocol version is not offered here',
  EXECABORT: 'the transaction was discarded because a command of it was refused',
  MISCONF: 'the change is in force but could not be made durable',
  MOVED: 'the slot of this shard channel is served by another node',
  CROSSSLOT: 'the shard channels of one command lie in different slots',
  CLUSTERDOWN: 'no node serves this slot',
} as const

/** A code that starts an error reply. */
export type ErrorPrefix = keyof typeof ERROR_PREFIXES

/**
 * The code of an error reply: its first word, if that is written as Redis writes codes (`NOPERM`, `ERR`), else `ERR`.
 *
 * @param text The line behind `-`, without its line end.
 */
export function errorPrefix(text: string): string {
  const end = text.indexOf(' ')
  const word = end < 0 ? text : text.slice(0, end)
  return /^[A-Z][A-Z0-9_]*$/.test(word) ? word : 'ERR'
}
