import { parseTranscript, type Transcript } from '../support/transcript.ts'

const RULE_ERRORS = String.raw`
foo
+nocmd
+@nocat
-nocmd
-@nocat
+client|nosub
-client|nosub
+client|
+select|1
-select|1
+client|id|x
+client|setname|foo
"~* ~foo"
~* ~foo
allkeys ~foo
&* &foo
allchannels &foo
"&a b"
"~a b"
&
~
%R
%RW~x
%~x
%X~x
%RR~x
%r~x
>
#abc
#AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
#aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
<nope
!bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
!abc
(
(+get
"(+get ~a" )
(+nocmd)
"(&* &b)"
"( )"
()
(nopass)
(+get) clearselectors
ON
NOPASS
AllChannels
+@ALL
+GET
+Client|ID
+@pubsub
""
RESET
+
-
+@
resetpass x
>a>b
+get +nocmd ~x
skip-sanitize-payload
sanitize-payload
allcommands
nocommands
+config|get|x
"~a\x00b"
"&a\x00b"
+subscribe|foo
+publish|x
"bad\r\nrule"
${'x'.repeat(200)}
`

const ROUND_TRIPS = String.raw`
on >p1 >p2 >p1 &a &b &a ~k* %R~r* %W~k* %W~r* +@pubsub -publish +client|id +client -client|kill (~x +get) "(%R~z &zz +@read)"
+@all -@dangerous +acl|whoami
+@pubsub -@pubsub +@pubsub
+subscribe -subscribe +subscribe
-@all +@all
+client|id -client +client|id
+subscribe|foo +publish|x
on nopass ~* &* +@all
off resetpass
&a (&b) (&c)
clearselectors
-@all +SUBSCRIBE +Client|List
allkeys resetkeys ~a %W~b
resetchannels allchannels
reset
`

/** ACL commands, and what users may do. */
export const ACL_SCRIPTS: readonly Transcript[] = [
  parseTranscript('rules that are taken and rules that are refused', setUsers('e', RULE_ERRORS)),
  parseTranscript(
    'quotes in a selector are those of inline commands',
    String.raw`
A: ACL SETUSER f resetchannels "(&\"q\" &'w'" "&\"\\x65\\n\")" "(&a))" "(& &b)"
A: ACL SETUSER f "(&\"q\" &'w' &\"\\x65r\")" "(&a))" "(& &b)" "( )" "()"
A: ACL GETUSER f
A: ACL SETUSER f "(&\"a b\")"
A: ACL SETUSER f "(\"\")"
A: ACL SETUSER f "(&a \"\" &b)"
A: ACL SETUSER e "(+get 'a)"
respcast selector-quotes: -ERR Error in ACL SETUSER modifier '(+get 'a)': Syntax error\r\n
A: ACL SETUSER e "(~a \"b)"
respcast selector-quotes: -ERR Error in ACL SETUSER modifier '(~a "b)': Syntax error\r\n
`,
  ),
  parseTranscript(
    'the key pattern * in front of others is described so that it can be read again',
    String.raw`
A: ACL SETUSER e reset %RW~* ~a
A: ACL GETUSER e
respcast whole-key-pattern: *12\r\n$5\r\nflags\r\n*1\r\n$3\r\noff\r\n$9\r\npasswords\r\n*0\r\n$8\r\ncommands\r\n$5\r\n-@all\r\n$4\r\nkeys\r\n$8\r\n%RW~* ~a\r\n$8\r\nchannels\r\n$0\r\n\r\n$9\r\nselectors\r\n*0\r\n
`,
  ),
  parseTranscript(
    'a rule leaves the same description',
    setUsers(
      'u',
      ROUND_TRIPS,
      String.raw`A: ACL LIST
A: ACL GETUSER u`,
    ),
  ),
  parseTranscript(
    'a description in RESP3 is a map',
    `A: HELLO 3\n${setUsers('u', ROUND_TRIPS, 'A: ACL GETUSER u')}`,
  ),
  parseTranscript(
    'users are made, listed, described and deleted',
    String.raw`
A: ACL WHOAMI
A: ACL USERS
A: ACL SETUSER zoe
A: ACL SETUSER amy on >x
A: ACL SETUSER "" on
A: ACL SETUSER "a b" on
A: ACL SETUSER "a\x00b" on
A: ACL SETUSER "a\nb" on
A: ACL USERS
A: ACL LIST
A: ACL GETUSER nobody
A: ACL GETUSER zoe
A: ACL DELUSER default
A: ACL DELUSER amy default
A: ACL USERS
A: ACL DELUSER nobody
A: ACL DELUSER amy zoe zoe nobody ""
A: ACL USERS
A: HELLO 3
A: ACL GETUSER nobody
A: ACL GETUSER default
A: ACL LIST
`,
  ),
  parseTranscript(
    'ACL refuses',
    String.raw`
A: ACL
A: ACL bogus
A: acl bogus
A: ACL WHOAMI x
A: ACL SETUSER
A: ACL GETUSER
A: ACL GETUSER a b
A: ACL DELUSER
A: ACL LIST x
A: ACL USERS x
A: ACL CAT a b
A: ACL CAT bogus
A: ACL CAT ${'x'.repeat(200)}
A: ACL GENPASS 0
A: ACL GENPASS -1
A: ACL GENPASS 4097
A: ACL GENPASS x
A: ACL GENPASS 1 2
A: ACL LOG x
A: ACL LOG 1 2
A: ACL LOG -1
A: ACL DRYRUN
A: ACL DRYRUN u
A: ACL DRYRUN nobody ping
A: ACL DRYRUN default bogus
A: ACL DRYRUN default client bogus
A: ACL DRYRUN default publish
A: ACL HELP x
`,
  ),
  parseTranscript(
    'categories',
    String.raw`
A: ACL CAT
A: ACL CAT pubsub
A: ACL CAT PubSub
A: ACL CAT transaction
`,
  ),
  parseTranscript(
    'a dry run tells what is missing',
    String.raw`
A: ACL SETUSER lu on >p &a* +@all -echo
A: ACL DRYRUN lu PUBLISH b x
A: ACL DRYRUN lu PUBLISH a1 x
A: ACL DRYRUN lu ECHO x
A: ACL DRYRUN lu SUBSCRIBE a1 b c
A: ACL DRYRUN lu PSUBSCRIBE a* b
A: ACL DRYRUN lu PSUBSCRIBE a1
A: ACL DRYRUN lu SSUBSCRIBE q
A: ACL DRYRUN lu UNSUBSCRIBE q
A: ACL DRYRUN lu PUBSUB CHANNELS
A: ACL DRYRUN lu CONFIG GET x
A: ACL DRYRUN lu WATCH k
A: ACL DRYRUN lu publish "b\r\nc" x
A: ACL DRYRUN lu subscribe
`,
  ),
  parseTranscript(
    'channels are checked by glob, patterns by equality',
    String.raw`
Z: ACL SETUSER u on nopass resetchannels &a* &b &[cd] +@all
A: AUTH u x
A: PUBLISH a1 m
A: PUBLISH b m
A: PUBLISH bb m
A: PUBLISH c m
A: PUBLISH B m
A: SPUBLISH d m
A: SPUBLISH e m
A: SUBSCRIBE a1 b
A: UNSUBSCRIBE
A: SUBSCRIBE a1 e
A: PUBSUB NUMSUB a1
A: SSUBSCRIBE e
A: PSUBSCRIBE a*
A: PUNSUBSCRIBE
A: PSUBSCRIBE a1
A: PSUBSCRIBE a?
A: PSUBSCRIBE b
A: PUNSUBSCRIBE
A: PSUBSCRIBE a* e
A: PSUBSCRIBE [cd]
A: UNSUBSCRIBE e
A: PUNSUBSCRIBE e
A: RESET
A: AUTH u x
A: PUBLISH "" m
`,
  ),
  parseTranscript(
    'a pattern is compared to its last byte',
    String.raw`
Z: ACL SETUSER u on nopass resetchannels &a +@all
A: AUTH u x
A: PSUBSCRIBE "a\x00*"
respcast psubscribe-whole-pattern: -NOPERM No permissions to access a channel\r\n
A: PSUBSCRIBE a
respcast psubscribe-whole-pattern: *3\r\n$10\r\npsubscribe\r\n$1\r\na\r\n:1\r\n
`,
  ),
  parseTranscript(
    'one selector has to allow everything',
    String.raw`
Z: ACL SETUSER u on nopass -@all +subscribe &a "(+publish &b)" "(+psubscribe &p*)"
A: AUTH u x
A: SUBSCRIBE b
A: PUBLISH a x
A: PUBLISH b x
A: SUBSCRIBE a b
A: PSUBSCRIBE pp
A: PING
A: ACL WHOAMI
A: ECHO x
A: CLIENT KILL
A: CLIENT KILL x
A: CLIENT bogus
A: bogus
A: PSUBSCRIBE p*
A: RESET
A: HELLO 2 AUTH u x
A: QUIT
`,
  ),
  parseTranscript(
    'rules on first arguments',
    String.raw`
Z: ACL SETUSER u on nopass &* -@all +subscribe|foo +select|1 +client|id
A: AUTH u x
A: SUBSCRIBE bar
A: SELECT 1
A: SELECT 2
A: CLIENT GETNAME
A: SUBSCRIBE foo bar
A: RESET
A: AUTH u x
A: SUBSCRIBE FOO
`,
  ),
  parseTranscript(
    'ACL LOG tells who was refused what',
    String.raw`
Z: ACL LOG
Z: ACL SETUSER u on >pw resetchannels &a +@all -echo
A: AUTH u bad
A: AUTH nobody bad
A: hello 3 AUTH u bad
A: AUTH u pw
A: ECHO x
A: ECHO y
A: PUBLISH b x
A: SUBSCRIBE a b c
A: MULTI
A: PUBLISH b x
A: DISCARD
Z: ACL LOG
Z: ACL LOG 1
Z: ACL LOG 0
Z: ACL LOG -5
Z: HELLO 3
Z: ACL LOG 2
Z: ACL LOG RESET
Z: ACL LOG
`,
  ),
  parseTranscript(
    'deleting a user closes its connections',
    String.raw`
Z: ACL SETUSER u on nopass &* +@all
A: AUTH u x
B: AUTH u x
B: SUBSCRIBE a
C: PING
Z: ACL DELUSER u
C: PING
D: AUTH u x
`,
  ),
  parseTranscript(
    'a user that is switched off keeps its connections',
    String.raw`
Z: ACL SETUSER u on nopass &* +@all
A: AUTH u x
Z: ACL SETUSER u off
A: PING
B: AUTH u x
A: RESET
A: AUTH u x
Z: ACL SETUSER u on resetpass >new
A: AUTH u x
A: AUTH u new
`,
  ),
  parseTranscript(
    'the default user switched off keeps new connections out',
    String.raw`
A: PING
Z: ACL SETUSER bob on nopass +@all
Z: ACL SETUSER default off
A: PING
B: PING
B: SUBSCRIBE a
B: HELLO 3
B: AUTH default x
B: AUTH bob x
B: PING
B: RESET
B: PING
C: HELLO 3 AUTH bob x
C: QUIT
Z: ACL SETUSER default on
B: PING
`,
  ),
  parseTranscript(
    'acl-pubsub-default holds for new users and selectors',
    String.raw`
A: CONFIG GET acl-pubsub-default
A: ACL SETUSER u1
A: CONFIG SET acl-pubsub-default allchannels
A: ACL SETUSER u2
A: ACL SETUSER u2 &foo
A: ACL SETUSER u2 resetchannels &foo
A: ACL SETUSER u2 "(+get ~x)"
A: ACL LIST
A: ACL SETUSER u1 reset
A: ACL LIST
A: CONFIG SET acl-pubsub-default resetchannels
A: ACL SETUSER u1 reset
A: ACL LIST
A: CONFIG SET acl-pubsub-default foo
`,
  ),
]

/** ACL SETUSER for each line of rules, with other lines after each. */
function setUsers(name: string, lines: string, after = ''): string {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((rules) => `A: ACL SETUSER ${name} ${rules}\n${after}`)
    .join('\n')
}
