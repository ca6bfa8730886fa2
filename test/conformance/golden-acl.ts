import { parseTranscript, type Transcript } from '../support/transcript.ts'

/** The permission block, byte for byte as Redis 8.0 answers. */
export const GOLDEN_ACL: readonly Transcript[] = [
  parseTranscript(
    'permissions of commands, keys and channels',
    String.raw`
A: ACL SETUSER lu on >p &a* +@all -get ~k
S: +OK\r\n
A: AUTH lu bad
S: -WRONGPASS invalid username-password pair or user is disabled.\r\n
A: AUTH lu p
S: +OK\r\n
A: GET x
S: -NOPERM User lu has no permissions to run the 'get' command\r\n
respcast keyspace-commands-unknown: -ERR unknown command 'GET', with args beginning with: 'x' \r\n
A: SET zz 1
S: -NOPERM No permissions to access a key\r\n
respcast keyspace-commands-unknown: -ERR unknown command 'SET', with args beginning with: 'zz' '1' \r\n
A: PUBLISH b x
S: -NOPERM No permissions to access a channel\r\n
A: SUBSCRIBE b
S: -NOPERM No permissions to access a channel\r\n
A: SUBSCRIBE a1 b
S: -NOPERM No permissions to access a channel\r\n
A: PSUBSCRIBE a*
S: *3\r\n$10\r\npsubscribe\r\n$2\r\na*\r\n:1\r\n
A: RESET
S: +RESET\r\n
A: AUTH lu p
S: +OK\r\n
A: PSUBSCRIBE a1
S: -NOPERM No permissions to access a channel\r\n
A: SSUBSCRIBE q
S: -NOPERM No permissions to access a channel\r\n
A: SPUBLISH q x
S: -NOPERM No permissions to access a channel\r\n
A: UNSUBSCRIBE q
S: *3\r\n$11\r\nunsubscribe\r\n$1\r\nq\r\n:0\r\n
A: PUNSUBSCRIBE q
S: *3\r\n$12\r\npunsubscribe\r\n$1\r\nq\r\n:0\r\n
A: SUNSUBSCRIBE q
S: *3\r\n$12\r\nsunsubscribe\r\n$1\r\nq\r\n:0\r\n
A: MULTI
S: +OK\r\n
A: PUBLISH b x
S: -NOPERM No permissions to access a channel\r\n
A: EXEC
S: -EXECABORT Transaction discarded because of previous errors.\r\n
A: PUBSUB CHANNELS
S: *0\r\n
B: HELLO 3
S: (HELLO reply, proto as requested)
B: ACL DRYRUN lu PUBLISH b x
S: $52\r\nUser lu has no permissions to access the 'b' channel\r\n
B: ACL DRYRUN lu PUBLISH a1 x
S: +OK\r\n
B: ACL DRYRUN lu GET x
S: $51\r\nUser lu has no permissions to run the 'get' command\r\n
respcast keyspace-commands-unknown: -ERR Command 'GET' not found\r\n
B: ACL DRYRUN lu SET x y
S: $48\r\nUser lu has no permissions to access the 'x' key\r\n
respcast keyspace-commands-unknown: -ERR Command 'SET' not found\r\n
B: ACL DRYRUN nou GET x
S: -ERR User 'nou' not found\r\n
B: ACL DRYRUN lu NOCMD x
S: -ERR Command 'NOCMD' not found\r\n
B: ACL DRYRUN lu GET
S: -ERR wrong number of arguments for 'get' command\r\n
respcast keyspace-commands-unknown: -ERR Command 'GET' not found\r\n
B: ACL DRYRUN lu
S: -ERR wrong number of arguments for 'acl|dryrun' command\r\n
B: ACL DRYRUN lu SUBSCRIBE a1 b c
S: $52\r\nUser lu has no permissions to access the 'b' channel\r\n
B: ACL DRYRUN lu PSUBSCRIBE a* b
S: $52\r\nUser lu has no permissions to access the 'b' channel\r\n
B: ACL DRYRUN lu CLIENT NOSUB
S: -ERR Command 'CLIENT' not found\r\n
B: ACL DRYRUN lu CONFIG GET x
S: +OK\r\n
B: ACL DELUSER lu
S: :1\r\n
C: ACL SETUSER su on nopass -@all +subscribe &a '(+publish &b)' '(+psubscribe &p*)'
S: +OK\r\n
C: AUTH su any
S: +OK\r\n
C: SUBSCRIBE b
S: -NOPERM No permissions to access a channel\r\n
C: PUBLISH a x
S: -NOPERM No permissions to access a channel\r\n
C: PUBLISH b x
S: :0\r\n
C: PSUBSCRIBE p*
S: *3\r\n$10\r\npsubscribe\r\n$2\r\np*\r\n:1\r\n
C: RESET
S: +RESET\r\n
C: AUTH su x
S: +OK\r\n
C: PSUBSCRIBE pp
S: -NOPERM No permissions to access a channel\r\n
C: SUBSCRIBE a b
S: -NOPERM No permissions to access a channel\r\n
C: PING
S: -NOPERM User su has no permissions to run the 'ping' command\r\n
C: ACL WHOAMI
S: -NOPERM User su has no permissions to run the 'acl|whoami' command\r\n
C: ECHO x
S: -NOPERM User su has no permissions to run the 'echo' command\r\n
C: RESET
S: +RESET\r\n
C: ACL DELUSER su
S: :1\r\n
`,
  ),
]
