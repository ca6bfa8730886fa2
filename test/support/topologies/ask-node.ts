import { connect } from 'node:net'
import { RespReader } from '../../../shared/resp/reader.ts'
import { isError, type RespValue } from '../../../shared/resp/types.ts'

/** Longest wait for an answer of a node that is said to live. */
const PATIENCE_MS = 5_000

/**
 * Sends one command to a server over a connection of its own.
 *
 * @param args Byte strings.
 * @throws Error It cannot be reached, it answers an error, or it does not answer within five seconds.
 */
export function askNode(
  { port, host = '127.0.0.1' }: { readonly port: number; readonly host?: string },
  ...args: readonly string[]
): Promise<RespValue> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host, noDelay: true })
    const reader = new RespReader()
    const timer = setTimeout(() => fail(new Error('it does not answer')), PATIENCE_MS)
    const fail = (error: Error): void => {
      clearTimeout(timer)
      socket.destroy()
      reject(new Error(`${port}: ${args.join(' ')}: ${error.message}`))
    }
    socket.once('error', fail)
    socket.once('close', () => fail(new Error('it closes the connection')))
    socket.on('data', (chunk) => {
      reader.push(chunk)
      const value = reader.next()
      if (value === undefined) return
      if (isError(value)) {
        fail(new Error(value.message))
        return
      }
      clearTimeout(timer)
      socket.destroy()
      resolve(value)
    })
    const head = `*${args.length}\r\n`
    const parts = args.map((arg) => `$${arg.length}\r\n${arg}\r\n`)
    socket.write(Buffer.from(head + parts.join(''), 'latin1'))
  })
}

/** The text of a reply that is a string or a bulk string. */
export function textOf(value: RespValue | undefined): string {
  if (typeof value === 'string') return value
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  throw new Error('the reply is no string')
}

/** Waits until something holds; what it throws means not yet. @throws Error It did not hold in time. */
export async function waitUntil(
  what: string,
  holds: () => boolean | Promise<boolean>,
  patienceMs = 20_000,
): Promise<void> {
  const deadlineMs = performance.now() + patienceMs
  let problem: unknown
  for (;;) {
    try {
      if (await holds()) return
    } catch (error) {
      problem = error
    }
    if (performance.now() > deadlineMs) {
      throw new Error(`waited in vain for: ${what}`, { cause: problem })
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
