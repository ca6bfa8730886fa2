import { describe } from 'vitest'
import { testTranscript } from '../../support/test-transcript.ts'

describe('In RESP2', () => {
  testTranscript(
    'A RESP2 client with subscriptions',
    String.raw`
      C: SUBSCRIBE foo
      S: *3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n
      C: SUBSCRIBE foo bar foo
      S: *3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$3\r\nbar\r\n:2\r\n*3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:2\r\n
      C: PSUBSCRIBE p* p*
      S: *3\r\n$10\r\npsubscribe\r\n$2\r\np*\r\n:3\r\n*3\r\n$10\r\npsubscribe\r\n$2\r\np*\r\n:3\r\n
      C: SSUBSCRIBE s1 s1
      S: *3\r\n$10\r\nssubscribe\r\n$2\r\ns1\r\n:1\r\n*3\r\n$10\r\nssubscribe\r\n$2\r\ns1\r\n:1\r\n
      C: PING
      S: *2\r\n$4\r\npong\r\n$0\r\n\r\n
      C: PING hi
      S: *2\r\n$4\r\npong\r\n$2\r\nhi\r\n
      C: PING a b
      S: -ERR wrong number of arguments for 'ping' command\r\n
      C: ECHO x
      S: -ERR Can't execute 'echo': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
      C: echo x y
      S: -ERR wrong number of arguments for 'echo' command\r\n
      C: foo
      S: -ERR unknown command 'foo', with args beginning with: \r\n
      C: CLIENT ID
      S: -ERR Can't execute 'client|id': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
      C: HELLO 3
      S: -ERR Can't execute 'hello': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
      C: RESET x
      S: -ERR wrong number of arguments for 'reset' command\r\n
      C: UNSUBSCRIBE nope
      S: *3\r\n$11\r\nunsubscribe\r\n$4\r\nnope\r\n:3\r\n
      C: UNSUBSCRIBE foo
      S: *3\r\n$11\r\nunsubscribe\r\n$3\r\nfoo\r\n:2\r\n
      C: PUNSUBSCRIBE
      S: *3\r\n$12\r\npunsubscribe\r\n$2\r\np*\r\n:1\r\n
      C: PUNSUBSCRIBE
      S: *3\r\n$12\r\npunsubscribe\r\n$-1\r\n:1\r\n
      C: UNSUBSCRIBE
      S: *3\r\n$11\r\nunsubscribe\r\n$3\r\nbar\r\n:0\r\n
      C: PING
      S: *2\r\n$4\r\npong\r\n$0\r\n\r\n
      C: SUNSUBSCRIBE
      S: *3\r\n$12\r\nsunsubscribe\r\n$2\r\ns1\r\n:0\r\n
      C: SUNSUBSCRIBE
      S: *3\r\n$12\r\nsunsubscribe\r\n$-1\r\n:0\r\n
      C: UNSUBSCRIBE
      S: *3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n
      C: PING
      S: +PONG\r\n
    `,
  )

  testTranscript(
    'Unsubscribing from what one is not subscribed to',
    String.raw`
      C: UNSUBSCRIBE
      S: *3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n
      C: PUNSUBSCRIBE
      S: *3\r\n$12\r\npunsubscribe\r\n$-1\r\n:0\r\n
      C: SUNSUBSCRIBE
      S: *3\r\n$12\r\nsunsubscribe\r\n$-1\r\n:0\r\n
      C: UNSUBSCRIBE a b
      S: *3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:0\r\n
      C: PUNSUBSCRIBE a
      S: *3\r\n$12\r\npunsubscribe\r\n$1\r\na\r\n:0\r\n
      C: SUNSUBSCRIBE a
      S: *3\r\n$12\r\nsunsubscribe\r\n$1\r\na\r\n:0\r\n
    `,
  )

  testTranscript(
    'A transaction that subscribes and publishes',
    String.raw`
      C: MULTI
      S: +OK\r\n
      C: SUBSCRIBE foo
      S: +QUEUED\r\n
      C: PUBLISH foo a
      S: +QUEUED\r\n
      C: PING
      S: +QUEUED\r\n
      C: ECHO k
      S: +QUEUED\r\n
      C: EXEC
      S: *4\r\n*3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n:1\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n$1\r\nk\r\n*3\r\n$7\r\nmessage\r\n$3\r\nfoo\r\n$1\r\na\r\n
      C: PING
      S: *2\r\n$4\r\npong\r\n$0\r\n\r\n
      C: ECHO k
      S: -ERR Can't execute 'echo': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
      C: RESET
      S: +RESET\r\n
    `,
  )

  testTranscript(
    'A transaction that subscribes to two channels',
    String.raw`
      C: MULTI
      S: +OK\r\n
      C: PING
      S: +QUEUED\r\n
      C: SUBSCRIBE foo bar
      S: +QUEUED\r\n
      C: UNSUBSCRIBE
      S: +QUEUED\r\n
      C: PING
      S: +QUEUED\r\n
      C: EXEC
      S: *4\r\n+PONG\r\n*3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$3\r\nbar\r\n:2\r\n*3\r\n$11\r\nunsubscribe\r\n$3\r\nfoo\r\n:1\r\n*3\r\n$11\r\nunsubscribe\r\n$3\r\nbar\r\n:0\r\n+PONG\r\n
      C: PING
      S: +PONG\r\n
    `,
  )

  testTranscript(
    'A transaction that subscribes to a shard channel',
    String.raw`
      C: MULTI
      S: +OK\r\n
      C: SSUBSCRIBE foo
      S: +QUEUED\r\n
      C: SUNSUBSCRIBE foo
      S: +QUEUED\r\n
      C: PSUBSCRIBE x
      S: +QUEUED\r\n
      C: PUNSUBSCRIBE
      S: +QUEUED\r\n
      C: EXEC
      S: *4\r\n-ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client\r\n*3\r\n$12\r\nsunsubscribe\r\n$3\r\nfoo\r\n:0\r\n*3\r\n$10\r\npsubscribe\r\n$1\r\nx\r\n:1\r\n*3\r\n$12\r\npunsubscribe\r\n$1\r\nx\r\n:0\r\n
    `,
  )

  testTranscript(
    'A RESP2 client with subscriptions may not begin a transaction',
    String.raw`
      C: SUBSCRIBE foo
      S: *3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n
      C: MULTI
      S: -ERR Can't execute 'multi': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
      C: EXEC
      S: -EXECABORT Transaction discarded because of: Can't execute 'exec': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
      C: DISCARD
      S: -ERR Can't execute 'discard': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
      C: WATCH a
      S: -ERR Can't execute 'watch': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
      C: AUTH x
      S: -ERR Can't execute 'auth': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
      C: HELLO 2
      S: -ERR Can't execute 'hello': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
      C: INFO
      S: -ERR Can't execute 'info': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
      C: QUIT x
      S: +OK\r\n<EOF>
    `,
  )
})
