/**
 * The least that a server on this runtime can do: reads as Respcast does, counts the commands, and answers each with a
 * constant. What it takes is what is left once everything of a server's own is taken away: three system calls for each read,
 * and the runtime around them.
 *
 * `bare-node.ts PORT`
 */
import { createServer, Socket } from 'node:net'

const READ_BUFFER = Buffer.allocUnsafeSlow(65_536)
const COMMAND = Buffer.from('PUBLISH')
const REPLIES = Buffer.from(':0\r\n'.repeat(1_024))
const REPLY_BYTES = 4

function countCommands(bytes: number): number {
  const part = READ_BUFFER.subarray(0, bytes)
  let count = 0
  for (let at = part.indexOf(COMMAND); at >= 0; at = part.indexOf(COMMAND, at + 1)) count++
  return count
}

const onread = {
  buffer: READ_BUFFER,
  callback(this: Socket, bytes: number): boolean {
    const reply = REPLIES.subarray(0, countCommands(bytes) * REPLY_BYTES)
    this._write(reply, 'buffer' as BufferEncoding, () => {})
    return true
  },
}

createServer({ pauseOnConnect: true, noDelay: true }, (accepted) => {
  const handled = accepted as Socket & { _handle: unknown }
  const handle = handled._handle
  handled._handle = null
  const options = { handle, onread, readable: true, writable: true }
  const socket = new Socket(options)
  socket.on('error', () => socket.destroy()).read(0)
}).listen(Number(process.argv[2]), '127.0.0.1')
