import { parseTranscript, type Transcript } from '../support/transcript.ts'

/** MULTI with Pub/Sub in it, byte for byte as Redis 8.0 answers. */
export const GOLDEN_MULTI: readonly Transcript[] = [
  parseTranscript(
    'RESP3 publishes to itself behind EXEC',
    String.raw`
A: HELLO 3
S: (HELLO reply, proto as requested)
A: SUBSCRIBE foo
S: >3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n
A: MULTI
S: +OK\r\n
A: PUBLISH foo a
S: +QUEUED\r\n
A: PUBLISH foo b
S: +QUEUED\r\n
A: PING
S: +QUEUED\r\n
A: EXEC
S: *3\r\n:1\r\n:1\r\n+PONG\r\n>3\r\n$7\r\nmessage\r\n$3\r\nfoo\r\n$1\r\na\r\n>3\r\n$7\r\nmessage\r\n$3\r\nfoo\r\n$1\r\nb\r\n
`,
  ),
  parseTranscript(
    'RESP2 subscribes and publishes in MULTI with a keyspace command',
    String.raw`
A: MULTI
S: +OK\r\n
A: SUBSCRIBE foo
S: +QUEUED\r\n
A: PUBLISH foo a
S: +QUEUED\r\n
A: PING
S: +QUEUED\r\n
A: GET k
S: +QUEUED\r\n
respcast keyspace-commands-unknown: -ERR unknown command 'GET', with args beginning with: 'k' \r\n
A: EXEC
S: *4\r\n*3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n:1\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n$-1\r\n*3\r\n$7\r\nmessage\r\n$3\r\nfoo\r\n$1\r\na\r\n
respcast keyspace-commands-unknown: -EXECABORT Transaction discarded because of previous errors.\r\n
A: PING
S: *2\r\n$4\r\npong\r\n$0\r\n\r\n
respcast keyspace-commands-unknown: +PONG\r\n
A: GET k
S: -ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
respcast keyspace-commands-unknown: -ERR unknown command 'GET', with args beginning with: 'k' \r\n
A: RESET
S: +RESET\r\n
`,
  ),
  parseTranscript(
    'RESP2 subscribes and publishes in MULTI',
    String.raw`
A: MULTI
S: +OK\r\n
A: SUBSCRIBE foo
S: +QUEUED\r\n
A: PUBLISH foo a
S: +QUEUED\r\n
A: PING
S: +QUEUED\r\n
A: ECHO k
S: +QUEUED\r\n
A: EXEC
S: *4\r\n*3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n:1\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n$1\r\nk\r\n*3\r\n$7\r\nmessage\r\n$3\r\nfoo\r\n$1\r\na\r\n
A: PING
S: *2\r\n$4\r\npong\r\n$0\r\n\r\n
A: ECHO k
S: -ERR Can't execute 'echo': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
A: RESET
S: +RESET\r\n
`,
  ),
  parseTranscript(
    'RESP2 subscribes to two channels in MULTI',
    String.raw`
A: MULTI
S: +OK\r\n
A: PING
S: +QUEUED\r\n
A: SUBSCRIBE foo bar
S: +QUEUED\r\n
A: UNSUBSCRIBE
S: +QUEUED\r\n
A: PING
S: +QUEUED\r\n
A: EXEC
S: *4\r\n+PONG\r\n*3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$3\r\nbar\r\n:2\r\n*3\r\n$11\r\nunsubscribe\r\n$3\r\nbar\r\n:1\r\n*3\r\n$11\r\nunsubscribe\r\n$3\r\nfoo\r\n:0\r\n+PONG\r\n
respcast unsubscribe-order: *4\r\n+PONG\r\n*3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$3\r\nbar\r\n:2\r\n*3\r\n$11\r\nunsubscribe\r\n$3\r\nfoo\r\n:1\r\n*3\r\n$11\r\nunsubscribe\r\n$3\r\nbar\r\n:0\r\n+PONG\r\n
A: PING
S: +PONG\r\n
`,
  ),
  parseTranscript(
    'RESP3 subscribes to two channels in MULTI',
    String.raw`
A: HELLO 3
S: (HELLO reply, proto as requested)
A: MULTI
S: +OK\r\n
A: PING
S: +QUEUED\r\n
A: SUBSCRIBE foo bar
S: +QUEUED\r\n
A: PUBLISH foo x
S: +QUEUED\r\n
A: UNSUBSCRIBE
S: +QUEUED\r\n
A: PING
S: +QUEUED\r\n
A: EXEC
S: *5\r\n+PONG\r\n>3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n>3\r\n$9\r\nsubscribe\r\n$3\r\nbar\r\n:2\r\n:1\r\n>3\r\n$11\r\nunsubscribe\r\n$3\r\nbar\r\n:1\r\n>3\r\n$11\r\nunsubscribe\r\n$3\r\nfoo\r\n:0\r\n+PONG\r\n>3\r\n$7\r\nmessage\r\n$3\r\nfoo\r\n$1\r\nx\r\n
respcast unsubscribe-order: *5\r\n+PONG\r\n>3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n>3\r\n$9\r\nsubscribe\r\n$3\r\nbar\r\n:2\r\n:1\r\n>3\r\n$11\r\nunsubscribe\r\n$3\r\nfoo\r\n:1\r\n>3\r\n$11\r\nunsubscribe\r\n$3\r\nbar\r\n:0\r\n+PONG\r\n>3\r\n$7\r\nmessage\r\n$3\r\nfoo\r\n$1\r\nx\r\n
A: PING
S: +PONG\r\n
`,
  ),
  parseTranscript(
    'SSUBSCRIBE is refused in MULTI',
    String.raw`
A: MULTI
S: +OK\r\n
A: SSUBSCRIBE foo
S: +QUEUED\r\n
A: SUNSUBSCRIBE foo
S: +QUEUED\r\n
A: PSUBSCRIBE x
S: +QUEUED\r\n
A: PUNSUBSCRIBE
S: +QUEUED\r\n
A: EXEC
S: *4\r\n-ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client\r\n*3\r\n$12\r\nsunsubscribe\r\n$3\r\nfoo\r\n:0\r\n*3\r\n$10\r\npsubscribe\r\n$1\r\nx\r\n:1\r\n*3\r\n$12\r\npunsubscribe\r\n$1\r\nx\r\n:0\r\n
`,
  ),
  parseTranscript(
    'RESP2 subscriber may not open a transaction',
    String.raw`
A: SUBSCRIBE foo
S: *3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n
A: MULTI
S: -ERR Can't execute 'multi': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
A: EXEC
S: -EXECABORT Transaction discarded because of: Can't execute 'exec': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
A: DISCARD
S: -ERR Can't execute 'discard': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
A: WATCH a
S: -ERR Can't execute 'watch': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
A: AUTH x
S: -ERR Can't execute 'auth': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
A: HELLO 2
S: -ERR Can't execute 'hello': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
A: INFO
S: -ERR Can't execute 'info': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
A: QUIT x
S: +OK\r\n<EOF>
`,
  ),
  parseTranscript(
    'MULTI, EXEC, DISCARD and WATCH refuse',
    String.raw`
A: MULTI
S: +OK\r\n
A: MULTI
S: -ERR MULTI calls can not be nested\r\n
A: FOO
S: -ERR unknown command 'FOO', with args beginning with: \r\n
A: PING a b c
S: +QUEUED\r\n
A: EXEC
S: -EXECABORT Transaction discarded because of previous errors.\r\n
A: EXEC
S: -ERR EXEC without MULTI\r\n
A: DISCARD
S: -ERR DISCARD without MULTI\r\n
A: MULTI
S: +OK\r\n
A: ECHO
S: -ERR wrong number of arguments for 'echo' command\r\n
A: EXEC
S: -EXECABORT Transaction discarded because of previous errors.\r\n
A: MULTI
S: +OK\r\n
A: GET
S: -ERR wrong number of arguments for 'get' command\r\n
respcast keyspace-commands-unknown: -ERR unknown command 'GET', with args beginning with: \r\n
A: EXEC
S: -EXECABORT Transaction discarded because of previous errors.\r\n
A: MULTI
S: +OK\r\n
A: WATCH a
S: -ERR WATCH inside MULTI is not allowed\r\n
A: EXEC
S: *0\r\n
A: MULTI
S: +OK\r\n
A: EXEC
S: *0\r\n
A: MULTI
S: +OK\r\n
A: DISCARD
S: +OK\r\n
A: UNWATCH
S: +OK\r\n
A: MULTI
S: +OK\r\n
A: EXEC a
S: -EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command\r\n
A: EXEC
S: -ERR EXEC without MULTI\r\n
`,
  ),
  parseTranscript(
    'commands that may not be queued',
    String.raw`
A: MULTI
S: +OK\r\n
A: MONITOR
S: +QUEUED\r\n
A: EXEC
S: *1\r\n-ERR MONITOR isn't allowed for DENY BLOCKING client\r\n
A: MULTI
S: +OK\r\n
A: SYNC
S: -ERR Command not allowed inside a transaction\r\n
respcast absent-commands-unknown: -ERR unknown command 'SYNC', with args beginning with: \r\n
A: EXEC
S: -EXECABORT Transaction discarded because of previous errors.\r\n
A: MULTI
S: +OK\r\n
A: SHUTDOWN
S: -ERR Command not allowed inside a transaction\r\n
A: EXEC
S: -EXECABORT Transaction discarded because of previous errors.\r\n
A: MULTI
S: +OK\r\n
A: SAVE
S: -ERR Command not allowed inside a transaction\r\n
respcast absent-commands-unknown: -ERR unknown command 'SAVE', with args beginning with: \r\n
A: EXEC
S: -EXECABORT Transaction discarded because of previous errors.\r\n
`,
  ),
]
