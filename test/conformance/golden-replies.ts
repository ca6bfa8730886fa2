import { parseTranscript, type Transcript } from '../support/transcript.ts'

/** HELLO, RESET and CLIENT REPLY, byte for byte as Redis 8.0 answers. */
export const GOLDEN_REPLIES: readonly Transcript[] = [
  parseTranscript(
    'HELLO switches the protocol of a subscriber',
    String.raw`
A: HELLO 3
S: (HELLO reply, proto as requested)
A: SUBSCRIBE a
S: >3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n
A: HELLO 2
S: (HELLO reply, proto as requested)
A: ECHO x
S: -ERR Can't execute 'echo': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
A: GET x
S: -ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
respcast keyspace-commands-unknown: -ERR unknown command 'GET', with args beginning with: 'x' \r\n
A: HELLO 3
S: -ERR Can't execute 'hello': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
A: PING
S: *2\r\n$4\r\npong\r\n$0\r\n\r\n
A: RESET
S: +RESET\r\n
A: CLIENT INFO
S: (client info line, resp=2 sub=0)
A: PING
S: +PONG\r\n
A: ECHO x
S: $1\r\nx\r\n
A: GET x
S: $-1\r\n
respcast keyspace-commands-unknown: -ERR unknown command 'GET', with args beginning with: 'x' \r\n
`,
  ),
  parseTranscript(
    'CLIENT REPLY OFF in RESP2',
    String.raw`
A: CLIENT REPLY OFF
S: (nothing)
A: PING
S: (nothing)
A: SUBSCRIBE foo
S: *3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n
A: PING
S: (nothing)
A: CLIENT REPLY ON
S: (nothing)
A: RESET
S: +RESET\r\n
A: PING
S: +PONG\r\n
`,
  ),
  parseTranscript(
    'CLIENT REPLY OFF in RESP3',
    String.raw`
A: HELLO 3
S: (HELLO reply, proto as requested)
A: CLIENT REPLY OFF
S: (nothing)
A: SUBSCRIBE foo
S: >3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n
A: PUBLISH foo a
S: >3\r\n$7\r\nmessage\r\n$3\r\nfoo\r\n$1\r\na\r\n
A: PING
S: (nothing)
A: UNSUBSCRIBE
S: >3\r\n$11\r\nunsubscribe\r\n$3\r\nfoo\r\n:0\r\n
A: CLIENT REPLY ON
S: +OK\r\n
A: PING
S: +PONG\r\n
`,
  ),
  parseTranscript(
    'CLIENT REPLY SKIP drops one reply',
    String.raw`
A: CLIENT REPLY SKIP
S: (nothing)
A: PING a
S: (nothing)
A: PING b
S: $1\r\nb\r\n
A: CLIENT REPLY SKIP
S: (nothing)
A: CLIENT REPLY ON
S: +OK\r\n
A: PING c
S: $1\r\nc\r\n
A: CLIENT REPLY SKIP
S: (nothing)
A: SUBSCRIBE foo
S: *3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n
A: PING
S: *2\r\n$4\r\npong\r\n$0\r\n\r\n
`,
  ),
  parseTranscript(
    'CLIENT REPLY SKIP drops an error',
    String.raw`
A: CLIENT REPLY SKIP
S: (nothing)
A: FOO
S: (nothing)
A: PING b
S: $1\r\nb\r\n
A: CLIENT REPLY BAD
S: -ERR syntax error\r\n
A: CLIENT REPLY
S: -ERR wrong number of arguments for 'client|reply' command\r\n
A: CLIENT REPLY OFF
S: (nothing)
A: CLIENT REPLY SKIP
S: (nothing)
A: CLIENT REPLY ON
S: +OK\r\n
A: PING
S: +PONG\r\n
`,
  ),
]
