import { utf8Bytes } from '../bytes.ts'

/** Argument of a command: a text, which is sent as UTF-8, or bytes, which are sent unchanged. */
export type CommandArgument = string | Uint8Array

/**
 * Encodes a command: an array of bulk strings, in one buffer of the exact size.
 *
 * @param args The command's name first.
 */
export function encodeCommand(args: readonly CommandArgument[]): Uint8Array<ArrayBuffer> {
  const parts = args.flatMap((arg) => {
    const bytes = typeof arg === 'string' ? utf8Bytes(arg) : arg
    return [utf8Bytes(`$${bytes.length}\r\n`), bytes, utf8Bytes('\r\n')]
  })
  parts.unshift(utf8Bytes(`*${args.length}\r\n`))
  const command = new Uint8Array(parts.reduce((total, { length }) => total + length, 0))
  let at = 0
  for (const part of parts) {
    command.set(part, at)
    at += part.length
  }
  return command
}
