import { describe } from 'vitest'
import { testTranscript } from '../../support/test-transcript.ts'

describe('CLIENT REPLY', () => {
  testTranscript(
    'CLIENT REPLY OFF in RESP2',
    String.raw`
      C: CLIENT REPLY OFF
      S: (nothing)
      C: PING
      S: (nothing)
      C: SUBSCRIBE foo
      S: *3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n
      C: PING
      S: (nothing)
      C: CLIENT REPLY ON
      S: (nothing)
      C: RESET
      S: +RESET\r\n
      C: PING
      S: +PONG\r\n
    `,
  )

  testTranscript(
    'CLIENT REPLY OFF in RESP3',
    String.raw`
      C: HELLO 3
      S: (HELLO 3)
      C: CLIENT REPLY OFF
      S: (nothing)
      C: SUBSCRIBE foo
      S: >3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n
      C: PUBLISH foo a
      S: >3\r\n$7\r\nmessage\r\n$3\r\nfoo\r\n$1\r\na\r\n
      C: PING
      S: (nothing)
      C: UNSUBSCRIBE
      S: >3\r\n$11\r\nunsubscribe\r\n$3\r\nfoo\r\n:0\r\n
      C: CLIENT REPLY ON
      S: +OK\r\n
      C: PING
      S: +PONG\r\n
    `,
  )

  testTranscript(
    'CLIENT REPLY SKIP',
    String.raw`
      C: CLIENT REPLY SKIP
      S: (nothing)
      C: PING a
      S: (nothing)
      C: PING b
      S: $1\r\nb\r\n
      C: CLIENT REPLY SKIP
      S: (nothing)
      C: CLIENT REPLY ON
      S: +OK\r\n
      C: PING c
      S: $1\r\nc\r\n
      C: CLIENT REPLY SKIP
      S: (nothing)
      C: SUBSCRIBE foo
      S: *3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n
      C: PING
      S: *2\r\n$4\r\npong\r\n$0\r\n\r\n
    `,
  )

  testTranscript(
    'CLIENT REPLY SKIP before an error',
    String.raw`
      C: CLIENT REPLY SKIP
      S: (nothing)
      C: FOO
      S: (nothing)
      C: PING b
      S: $1\r\nb\r\n
      C: CLIENT REPLY BAD
      S: -ERR syntax error\r\n
      C: CLIENT REPLY
      S: -ERR wrong number of arguments for 'client|reply' command\r\n
      C: CLIENT REPLY OFF
      S: (nothing)
      C: CLIENT REPLY SKIP
      S: (nothing)
      C: CLIENT REPLY ON
      S: +OK\r\n
      C: PING
      S: +PONG\r\n
    `,
  )
})
