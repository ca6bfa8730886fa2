import { parseTranscript, type Transcript } from '../support/transcript.ts'

/** PING, HELLO, AUTH, RESET, SELECT, QUIT and CLIENT. */
export const CONNECTION_SCRIPTS: readonly Transcript[] = [
  parseTranscript(
    'PING and ECHO',
    String.raw`
A: PING
A: ping ""
A: PING "a\x00b"
A: PING a b
A: ECHO x
A: ECHO
A: ECHO a b
A: HELLO 3
A: PING
A: PING x
A: PING a b
`,
  ),
  parseTranscript(
    'HELLO reports, switches and refuses',
    String.raw`
A: HELLO
A: HELLO 3
A: HELLO
A: HELLO 2
A: HELLO 4
A: HELLO 1
A: HELLO -3
A: HELLO 03
A: HELLO three
A: HELLO 99999999999999999999
A: HELLO 3 BOGUS
A: HELLO 3 AUTH
A: HELLO 3 AUTH default
A: HELLO 3 SETNAME
A: HELLO 3 setname "a b"
A: CLIENT GETNAME
A: HELLO 3 setname one AUTH default anything setname two
A: CLIENT GETNAME
A: HELLO 2 AUTH default x bogus
A: ECHO in-resp3
A: HELLO 2 AUTH nobody x
A: HELLO 3 SETNAME ""
A: CLIENT GETNAME
`,
  ),
  parseTranscript(
    'AUTH logs in, refuses, and keeps the user that was there',
    String.raw`
B: ACL SETUSER bob on >pw >second +@all ~* &*
B: ACL SETUSER gone off >pw +@all
A: AUTH
A: AUTH pw
A: AUTH a b c
A: AUTH bob bad
A: AUTH nobody pw
A: AUTH gone pw
A: ACL WHOAMI
A: AUTH bob pw
A: ACL WHOAMI
A: AUTH bob bad
A: ACL WHOAMI
A: AUTH bob second
A: AUTH default anything
A: ACL WHOAMI
A: auth BOB pw
A: HELLO 3 AUTH bob pw SETNAME me
A: ACL WHOAMI
A: RESET
A: ACL WHOAMI
A: CLIENT GETNAME
`,
  ),
  parseTranscript(
    'a failing AUTH behind another answer is answered too',
    String.raw`
A: PING && AUTH nobody bad && PING
respcast silent-failing-auth: +PONG\r\n-WRONGPASS invalid username-password pair or user is disabled.\r\n+PONG\r\n
A: PING && HELLO 3 AUTH nobody bad && PING
respcast silent-failing-auth: +PONG\r\n-WRONGPASS invalid username-password pair or user is disabled.\r\n+PONG\r\n
`,
  ),
  parseTranscript(
    'requirepass asks new connections for a password',
    String.raw`
A: PING
B: CONFIG SET requirepass secret
A: PING
C: PING
C: SUBSCRIBE a
C: HELLO 3
C: HELLO
C: AUTH bad
C: AUTH default bad
C: RESET
C: PING
C: AUTH secret
C: PING
C: RESET
C: PING
C: HELLO 3 AUTH default secret
C: PING
D: QUIT
E: HELLO 2 AUTH default bad SETNAME x
E: AUTH default secret
E: CLIENT GETNAME
`,
  ),
  parseTranscript(
    'authentication comes before looking a command up',
    String.raw`
B: CONFIG SET requirepass secret
C: FOO
respcast authentication-first: -NOAUTH Authentication required.\r\n
C: PUBLISH a
respcast authentication-first: -NOAUTH Authentication required.\r\n
C: AUTH
C: MULTI
C: EXEC
`,
  ),
  parseTranscript(
    'SELECT remembers a database',
    String.raw`
A: SELECT 0
A: SELECT 15
A: SELECT 16
A: SELECT -1
A: SELECT x
A: SELECT 1.5
A: SELECT 00
A: SELECT
A: SUBSCRIBE a
B: SELECT 3
B: PUBLISH a m
`,
  ),
  parseTranscript(
    'QUIT answers and closes',
    String.raw`
A: PING && QUIT && PING
B: HELLO 3
B: quit now please
`,
  ),
  parseTranscript(
    'RESET makes the connection new',
    String.raw`
A: HELLO 3 SETNAME me
A: SELECT 2
A: SUBSCRIBE a
A: PSUBSCRIBE b*
A: SSUBSCRIBE c
A: RESET
B: PUBLISH a x
B: PUBSUB NUMPAT
B: PUBSUB SHARDCHANNELS
A: CLIENT GETNAME
A: PING
A: CLIENT REPLY OFF
A: PING
A: RESET
A: PING
A: RESET x
A: CLIENT REPLY SKIP && RESET && PING
`,
  ),
  parseTranscript(
    'CLIENT names connections and libraries',
    String.raw`
A: CLIENT GETNAME
A: CLIENT SETNAME me
A: CLIENT GETNAME
A: CLIENT SETNAME "a b"
A: CLIENT SETNAME "a\nb"
A: CLIENT SETNAME "\xe9"
A: CLIENT GETNAME
A: CLIENT SETNAME ""
A: CLIENT GETNAME
A: CLIENT SETNAME
A: CLIENT SETINFO lib-name node
A: CLIENT SETINFO LIB-VER 1.2.3
A: CLIENT SETINFO LIB-VER ""
A: CLIENT SETINFO foo bar
A: CLIENT SETINFO Lib-Name "a b"
A: CLIENT SETINFO lib-name
A: CLIENT
A: CLIENT nothing
A: client MAINT_NOTIFICATIONS ON
A: CLIENT ID x
A: CLIENT NO-EVICT on
A: CLIENT NO-EVICT maybe
A: CLIENT NO-TOUCH OFF
A: CLIENT NO-TOUCH x
A: HELLO 3
A: CLIENT GETNAME
A: CLIENT INFO
`,
  ),
  parseTranscript(
    'CLIENT REPLY silences answers but no pushes',
    String.raw`
A: CLIENT REPLY bogus
A: CLIENT REPLY
A: CLIENT REPLY off
A: PING
A: FOO
A: SUBSCRIBE a
B: PUBLISH a 1
A: CLIENT REPLY ON
A: UNSUBSCRIBE
A: CLIENT REPLY ON
A: CLIENT REPLY SKIP
A: SUBSCRIBE b
A: PING
A: RESET
A: CLIENT REPLY SKIP && PING && PING x
A: CLIENT REPLY SKIP && CLIENT REPLY SKIP && PING && PING x
A: CLIENT REPLY OFF && CLIENT REPLY SKIP && PING && CLIENT REPLY ON && PING
C: HELLO 3
C: CLIENT REPLY OFF
C: SUBSCRIBE a
C: PUBLISH a me
C: HELLO 3
C: MULTI
C: PING
C: EXEC
C: UNSUBSCRIBE
C: CLIENT REPLY ON
`,
  ),
  parseTranscript(
    'a silenced transaction',
    String.raw`
A: HELLO 3
A: CLIENT REPLY OFF
A: MULTI
A: PING
A: SUBSCRIBE a
A: PUBLISH a 1
A: EXEC
A: CLIENT REPLY ON
A: CLIENT REPLY SKIP && MULTI && PING
A: EXEC
A: PING 1
A: MULTI
A: CLIENT REPLY SKIP
respcast reply-in-multi: -ERR Command not allowed inside a transaction\r\n
A: DISCARD
A: PING 1
`,
  ),
  parseTranscript(
    'QUIT closes when its answer is silenced too',
    String.raw`
A: CLIENT REPLY OFF
A: QUIT
respcast silenced-quit-closes: <EOF>
B: CLIENT REPLY OFF
B! *x\r\n
respcast silenced-quit-closes: <EOF>
`,
  ),
  parseTranscript(
    'CLIENT KILL closes whom its filters name',
    String.raw`
Z: ACL SETUSER bob on nopass +@all &*
A: AUTH bob x
B: SUBSCRIBE a
C: PING
Z: CLIENT KILL USER bob
Z: CLIENT KILL TYPE pubsub
Z: CLIENT KILL USER nobody
Z: CLIENT KILL ID 0
Z: CLIENT KILL ID -1
Z: CLIENT KILL ID x
Z: CLIENT KILL ID 999999999
Z: CLIENT KILL TYPE bogus
Z: CLIENT KILL TYPE master
Z: CLIENT KILL ADDR 1.2.3.4:5
Z: CLIENT KILL LADDR 1.2.3.4:5
Z: CLIENT KILL 1.2.3.4:5
Z: CLIENT KILL SKIPME maybe
Z: CLIENT KILL MAXAGE 0
Z: CLIENT KILL MAXAGE x
Z: CLIENT KILL MAXAGE 100000
Z: CLIENT KILL bogus x
Z: CLIENT KILL ID
Z: CLIENT KILL
Z: CLIENT KILL ID 1 TYPE
Z: CLIENT LIST TYPE bogus
Z: CLIENT LIST ID x
Z: CLIENT LIST bogus
Z: CLIENT LIST TYPE
Z: CLIENT LIST ID 999999999
C: PING
A: AUTH bob x
A: PING && CLIENT KILL USER bob SKIPME no && PING
`,
  ),
  parseTranscript(
    'COMMAND describes commands',
    String.raw`
A: COMMAND INFO publish subscribe spublish nothing pubsub|numsub
A: HELLO 3
A: COMMAND INFO publish subscribe spublish nothing pubsub|numsub
A: COMMAND INFO ssubscribe echo select
A: COMMAND INFO ping
A: COMMAND INFO client|list config|set slowlog|len
A: COMMAND LIST FILTERBY PATTERN *PUBLISH*
A: COMMAND DOCS nothing
`,
  ),
  parseTranscript(
    'unknown commands and subcommands, and arguments that do not fit',
    String.raw`
A: foo
A: foo "a b" "c\"d"
A: "" x
A: FOO "a\r\nb" "\x01"
A: fOo ${'x'.repeat(200)}
A: ${'y'.repeat(200)} a
A: foo ${'x'.repeat(100)} ${'y'.repeat(100)} z
A: foo ${'x'.repeat(126)} y
A: CONFIG
A: CONFIG bogus
A: config ${'z'.repeat(200)}
A: COMMAND bogus
A: CONFIG GET
A: CONFIG SET a
A: CONFIG SET a b c
A: CONFIG SET nothing b
A: CONFIG GET nothing
A: CONFIG RESETSTAT x
A: TIME x
A: ROLE x
A: RESET x
A: MULTI x
A: INFO nothing
A: COMMAND COUNT x
A: COMMAND INFO nothing
A: COMMAND LIST FILTERBY bogus x
A: COMMAND LIST bogus
A: COMMAND LIST FILTERBY MODULE x
A: COMMAND LIST FILTERBY ACLCAT bogus
A: COMMAND LIST FILTERBY ACLCAT transaction
A: COMMAND LIST FILTERBY PATTERN *subscribe
A: COMMAND GETKEYS bogus a
A: COMMAND GETKEYS PUBLISH a b
A: COMMAND GETKEYS WATCH a b
A: COMMAND GETKEYS PUBLISH a
A: COMMAND GETKEYS
A: COMMAND DOCS nothing
A: SHUTDOWN bogus
A: SHUTDOWN ABORT
A: SHUTDOWN SAVE NOSAVE
`,
  ),
]
