import { describe } from 'vitest'
import { testTranscript } from '../../support/test-transcript.ts'

describe('HELLO', () => {
  testTranscript(
    'A client that changes its protocol while it has subscriptions',
    String.raw`
      C: HELLO 3
      S: (HELLO 3)
      C: SUBSCRIBE a
      S: >3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n
      C: HELLO 2
      S: (HELLO 2)
      C: ECHO x
      S: -ERR Can't execute 'echo': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
      C: HELLO 3
      S: -ERR Can't execute 'hello': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
      C: PING
      S: *2\r\n$4\r\npong\r\n$0\r\n\r\n
      C: RESET
      S: +RESET\r\n
      C: PING
      S: +PONG\r\n
      C: ECHO x
      S: $1\r\nx\r\n
    `,
  )
})
