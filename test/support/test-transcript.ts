import { expect, test } from 'vitest'
import { ArgumentList } from '../../server/resp/request.ts'
import { splitInline } from '../../server/resp/inline.ts'
import { TestServer } from './test-server-parts.ts'

/**
 * Plays a transcript on a fresh connection, one command a line.
 *
 * `C:` is what the client sends, `S:` the raw bytes it is sent back, with `\r\n` spelled out. `(nothing)` means that no byte
 * comes, `<EOF>` that the connection ends, `(HELLO n)` the reply to HELLO in protocol n for client 1.
 */
export function testTranscript(name: string, transcript: string): void {
  test(name, () => {
    const server = new TestServer()
    const connection = server.connect()
    const lines = transcript.split('\n').map((line) => line.trim())
    let sent = ''
    for (const line of lines) {
      if (line.startsWith('C: ')) sent = line.slice(3)
      if (!line.startsWith('S: ')) continue
      const args = splitInline(Buffer.from(sent, 'latin1')) ?? []
      const request = new ArgumentList(args)
      const received = connection.send(
        ...Array.from({ length: request.count }, (_, i) => request.text(i)),
      )
      const ended = connection.sink.ends.length > 0 ? '<EOF>' : ''
      expect(`${sent} => ${escape(received)}${ended}`).toBe(`${sent} => ${expected(line.slice(3))}`)
    }
  })
}

function expected(text: string): string {
  if (text === '(nothing)') return ''
  if (text === '(HELLO 2)') return escape(helloReply(2, 1))
  if (text === '(HELLO 3)') return escape(helloReply(3, 1))
  return text
}

function escape(text: string): string {
  return text.replaceAll('\r', '\\r').replaceAll('\n', '\\n')
}

/** What HELLO answers in a protocol. */
export function helloReply(protocol: 2 | 3, id: number): string {
  return (
    `${protocol === 2 ? '*14' : '%7'}\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n8.0.6\r\n` +
    `$5\r\nproto\r\n:${protocol}\r\n$2\r\nid\r\n:${id}\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n` +
    '$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n'
  )
}
