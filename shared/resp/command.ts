import { utf8Length, writeUtf8 } from '../bytes.ts'

/** Argument of a command: a text, which is sent as UTF-8, or bytes, which are sent unchanged. */
export type CommandArgument = string | Uint8Array

/**
 * Encodes a command: an array of bulk strings, in one buffer of the exact size.
 *
 * @param args The command's name first.
 */
export function encodeCommand(args: readonly CommandArgument[]): Uint8Array<ArrayBuffer> {
  const command = new Uint8Array(commandLength(args))
  let at = writeUtf8(command, 0, `*${args.length}\r\n`)
  for (const arg of args) {
    if (typeof arg === 'string') {
      at = writeUtf8(command, at, `$${utf8Length(arg)}\r\n${arg}\r\n`)
    } else {
      at = writeUtf8(command, at, `$${arg.length}\r\n`)
      command.set(arg, at)
      at = writeUtf8(command, at + arg.length, '\r\n')
    }
  }
  return command
}

/** The length of an encoded command in bytes. */
export function commandLength(args: readonly CommandArgument[]): number {
  let total = headerLength(args.length)
  for (const arg of args) {
    const length = typeof arg === 'string' ? utf8Length(arg) : arg.length
    total += headerLength(length) + length + 2
  }
  return total
}

/** Type byte, decimal digits, CR LF. */
function headerLength(count: number): number {
  return 3 + String(count).length
}
