import { parseTranscript, type Transcript } from '../support/transcript.ts'

/** MULTI, EXEC, DISCARD and WATCH, with Pub/Sub inside. */
export const TRANSACTION_SCRIPTS: readonly Transcript[] = [
  parseTranscript(
    'a transaction answers all at once',
    String.raw`
A: MULTI
A: PING
A: PING a b c
A: ECHO x
A: EXEC
A: MULTI && PING && EXEC && PING
A: MULTI
A: EXEC
A: MULTI
A: DISCARD
A: EXEC
A: DISCARD
A: UNWATCH
A: WATCH a b
A: MULTI
A: UNWATCH
A: EXEC
A: EXEC a
A: MULTI a
A: DISCARD a
A: WATCH
`,
  ),
  parseTranscript(
    'an error while queueing spoils the transaction',
    String.raw`
A: MULTI
A: FOO
A: PING
A: EXEC
A: MULTI
A: ECHO
A: EXEC
A: MULTI
A: CLIENT nothing
A: EXEC
A: MULTI
A: EXEC a
A: EXEC
A: MULTI
A: FOO
A: DISCARD
A: EXEC
`,
  ),
  parseTranscript(
    'MULTI and WATCH inside MULTI are refused',
    String.raw`
A: MULTI
A: MULTI
respcast nested-multi: -ERR MULTI calls can not be nested\r\n
A: EXEC
respcast nested-multi: *0\r\n
A: MULTI
A: WATCH a
respcast nested-multi: -ERR WATCH inside MULTI is not allowed\r\n
A: PING
A: EXEC
respcast nested-multi: *1\r\n+PONG\r\n
`,
  ),
  parseTranscript(
    'RESP2 subscribes and publishes to itself in a transaction',
    String.raw`
A: MULTI
A: SUBSCRIBE foo
A: PUBLISH foo a
A: PING
A: ECHO k
A: EXEC
A: PING
A: ECHO k
A: RESET
A: MULTI
A: PING
A: SUBSCRIBE foo
A: UNSUBSCRIBE foo
respcast unsubscribe-nosub: +QUEUED\r\n
A: DISCARD
`,
  ),
  parseTranscript(
    'a command of a transaction is confirmed once per channel',
    String.raw`
A: SUBSCRIBE x
A: RESET
A: MULTI
A: PING
A: SUBSCRIBE foo bar
A: PSUBSCRIBE p*
A: PUBLISH foo m
A: PUBLISH pp m
A: PING
A: EXEC
A: PING
B: PUBLISH bar m
`,
  ),
  parseTranscript(
    'RESP3 messages of the transaction follow it',
    String.raw`
A: HELLO 3
A: SUBSCRIBE foo
A: MULTI
A: PUBLISH foo a
A: PUBLISH foo b
A: UNSUBSCRIBE foo
A: PUBLISH foo c
A: PING
A: EXEC
B: HELLO 3
B: SUBSCRIBE bar
B: MULTI
A: SUBSCRIBE bar
B: PUBLISH bar a
B: UNSUBSCRIBE
B: SUBSCRIBE bar
B: EXEC
`,
  ),
  parseTranscript(
    'SSUBSCRIBE is refused when its transaction runs',
    String.raw`
A: MULTI
A: SSUBSCRIBE foo
A: PSUBSCRIBE x
A: SPUBLISH foo x
A: EXEC
A: PING
`,
  ),
  parseTranscript(
    'HELLO in a transaction switches the answers behind it',
    String.raw`
A: MULTI
A: CLIENT GETNAME
A: HELLO 3
A: CLIENT GETNAME
A: HELLO 2
A: CLIENT GETNAME
A: HELLO 4
A: EXEC
A: CLIENT GETNAME
A: MULTI
A: HELLO 3 SETNAME me
A: EXEC
A: CLIENT GETNAME
`,
  ),
  parseTranscript(
    'RESET and QUIT do not wait for EXEC',
    String.raw`
A: MULTI
A: PING
A: RESET
A: EXEC
A: MULTI
A: QUIT
`,
  ),
  parseTranscript(
    'AUTH waits for EXEC',
    String.raw`
C: ACL SETUSER bob on >pw +@all &*
A: MULTI
A: AUTH bob pw
A: ACL WHOAMI
A: EXEC
A: ACL WHOAMI
A: MULTI && RESET && ACL WHOAMI
`,
  ),
  parseTranscript(
    'permissions are checked when queued and once more by EXEC',
    String.raw`
C: ACL SETUSER bob on nopass resetchannels &a +@all -acl -client
A: AUTH bob x
A: MULTI
A: PUBLISH b m
A: EXEC
A: MULTI
A: ACL WHOAMI
A: EXEC
A: MULTI
A: PUBLISH a m
A: ECHO x
C: ACL SETUSER bob resetchannels -echo
A: EXEC
A: EXEC
C: ACL SETUSER bob -exec
A: MULTI
A: PING
A: EXEC
A: PING
A: MULTI
A: PING
A: DISCARD
A: EXEC
`,
  ),
  parseTranscript(
    'the restriction of RESP2 looks at the moment of sending',
    String.raw`
A: MULTI && SUBSCRIBE foo && ECHO a && EXEC && ECHO b && PING
A: RESET && MULTI && SUBSCRIBE foo && EXEC && UNSUBSCRIBE && ECHO c
`,
  ),
]
