import type { ErrorLine } from '../resp/reply-writer.ts'
import type { Request } from '../resp/request.ts'

/** Longest part of an argument that an error repeats, in bytes, as in Redis. */
const SHOWN_BYTES = 128

/**
 * The refusal of a command before it runs: an error line, or the text of one whose code is `ERR`. EXECABORT repeats
 * either as it stands here, as in Redis.
 */
export type Refusal = ErrorLine | { readonly text: string }

export const SYNTAX_ERROR = 'ERR syntax error'
export const NOT_AN_INTEGER = 'ERR value is not an integer or out of range'
export const TOKEN_IN_MULTI = 'ERR AUTH with a token is not allowed inside MULTI'
export const NO_AUTH = 'NOAUTH Authentication required.'
export const MONITORS_ONLY_WATCH = { text: "Replica can't interact with the keyspace" }
export const NOT_IN_MULTI = { text: 'Command not allowed inside a transaction' }
export const CLUSTER_DISABLED = 'ERR This instance has cluster support disabled'

/** A channel name that is longer than a transport allows. */
export function channelTooLong(maxBytes: number): ErrorLine {
  return `ERR a channel name of more than ${maxBytes} bytes is not allowed on this connection`
}

/** `wrong number of arguments for 'publish' command`. */
export function wrongArity(fullName: string): string {
  return `wrong number of arguments for '${fullName}' command`
}

/** `unknown command 'foo', with args beginning with: 'bar' `, cut as Redis cuts it. */
export function unknownCommand(request: Request): { readonly text: string } {
  let args = ''
  for (let i = 1; i < request.count && args.length < SHOWN_BYTES; i++) {
    args += `'${shown(request, i, SHOWN_BYTES - args.length)}' `
  }
  return { text: `unknown command '${shown(request, 0)}', with args beginning with: ${args}` }
}

/** `unknown subcommand 'foo'. Try CLIENT HELP.` */
export function unknownSubcommand(request: Request): { readonly text: string } {
  const container = request.text(0).toUpperCase()
  return { text: `unknown subcommand '${shown(request, 1)}'. Try ${container} HELP.` }
}

/** For a number of arguments that the arity in the table allows and the command does not. */
export function subcommandArity(request: Request): ErrorLine {
  const container = request.text(0).toUpperCase()
  return `ERR unknown subcommand or wrong number of arguments for '${shown(request, 1)}'. Try ${container} HELP.`
}

/** For a command beyond `ws-max-queued-commands` or `tcp-max-queued-commands`. */
export function tooManyQueued(most: number): ErrorLine {
  return `ERR at most ${most} commands in one transaction are allowed on this connection`
}

/** For any other command of a RESP2 client with subscriptions. */
export function onlySubscriberCommands(fullName: string): { readonly text: string } {
  return {
    text:
      `Can't execute '${fullName}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET ` +
      'are allowed in this context',
  }
}

/** The beginning of an argument up to a NUL, since to Redis it is a C string. The whole may be too long for a string. */
function shown(request: Request, index: number, most = SHOWN_BYTES): string {
  const text = request.bytes(index).toString('latin1', 0, most)
  const nul = text.indexOf('\0')
  return nul < 0 ? text : text.slice(0, nul)
}
