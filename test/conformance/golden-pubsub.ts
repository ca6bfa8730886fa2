import { parseTranscript, type Transcript } from '../support/transcript.ts'

/** Subscribing, publishing to oneself and PUBSUB, byte for byte as Redis 8.0 answers. */
export const GOLDEN_PUBSUB: readonly Transcript[] = [
  parseTranscript(
    'RESP2 subscribes, unsubscribes and is restricted',
    String.raw`
A: SUBSCRIBE foo
S: *3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n
A: SUBSCRIBE foo bar foo
S: *3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$3\r\nbar\r\n:2\r\n*3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:2\r\n
A: PSUBSCRIBE p* p*
S: *3\r\n$10\r\npsubscribe\r\n$2\r\np*\r\n:3\r\n*3\r\n$10\r\npsubscribe\r\n$2\r\np*\r\n:3\r\n
A: SSUBSCRIBE s1 s1
S: *3\r\n$10\r\nssubscribe\r\n$2\r\ns1\r\n:1\r\n*3\r\n$10\r\nssubscribe\r\n$2\r\ns1\r\n:1\r\n
A: PING
S: *2\r\n$4\r\npong\r\n$0\r\n\r\n
A: PING hi
S: *2\r\n$4\r\npong\r\n$2\r\nhi\r\n
A: PING a b
S: -ERR wrong number of arguments for 'ping' command\r\n
A: ECHO x
S: -ERR Can't execute 'echo': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
A: echo x y
S: -ERR wrong number of arguments for 'echo' command\r\n
A: GET x
S: -ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
respcast keyspace-commands-unknown: -ERR unknown command 'GET', with args beginning with: 'x' \r\n
A: get x y
S: -ERR wrong number of arguments for 'get' command\r\n
respcast keyspace-commands-unknown: -ERR unknown command 'get', with args beginning with: 'x' 'y' \r\n
A: foo
S: -ERR unknown command 'foo', with args beginning with: \r\n
A: CLIENT ID
S: -ERR Can't execute 'client|id': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
A: HELLO 3
S: -ERR Can't execute 'hello': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\r\n
A: RESET x
S: -ERR wrong number of arguments for 'reset' command\r\n
A: UNSUBSCRIBE nope
S: *3\r\n$11\r\nunsubscribe\r\n$4\r\nnope\r\n:3\r\n
A: UNSUBSCRIBE foo
S: *3\r\n$11\r\nunsubscribe\r\n$3\r\nfoo\r\n:2\r\n
A: PUNSUBSCRIBE
S: *3\r\n$12\r\npunsubscribe\r\n$2\r\np*\r\n:1\r\n
A: PUNSUBSCRIBE
S: *3\r\n$12\r\npunsubscribe\r\n$-1\r\n:1\r\n
A: UNSUBSCRIBE
S: *3\r\n$11\r\nunsubscribe\r\n$3\r\nbar\r\n:0\r\n
A: PING
S: *2\r\n$4\r\npong\r\n$0\r\n\r\n
A: SUNSUBSCRIBE
S: *3\r\n$12\r\nsunsubscribe\r\n$2\r\ns1\r\n:0\r\n
A: SUNSUBSCRIBE
S: *3\r\n$12\r\nsunsubscribe\r\n$-1\r\n:0\r\n
A: UNSUBSCRIBE
S: *3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n
A: PING
S: +PONG\r\n
`,
  ),
  parseTranscript(
    'RESP3 subscribes and unsubscribes',
    String.raw`
A: HELLO 3
S: (HELLO reply, proto as requested)
A: SUBSCRIBE foo
S: >3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n
A: SUBSCRIBE foo bar foo
S: >3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n>3\r\n$9\r\nsubscribe\r\n$3\r\nbar\r\n:2\r\n>3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:2\r\n
A: PSUBSCRIBE p* p*
S: >3\r\n$10\r\npsubscribe\r\n$2\r\np*\r\n:3\r\n>3\r\n$10\r\npsubscribe\r\n$2\r\np*\r\n:3\r\n
A: SSUBSCRIBE s1 s1
S: >3\r\n$10\r\nssubscribe\r\n$2\r\ns1\r\n:1\r\n>3\r\n$10\r\nssubscribe\r\n$2\r\ns1\r\n:1\r\n
A: PING
S: +PONG\r\n
A: PING hi
S: $2\r\nhi\r\n
A: ECHO x
S: $1\r\nx\r\n
A: GET x
S: _\r\n
respcast keyspace-commands-unknown: -ERR unknown command 'GET', with args beginning with: 'x' \r\n
A: UNSUBSCRIBE nope
S: >3\r\n$11\r\nunsubscribe\r\n$4\r\nnope\r\n:3\r\n
A: UNSUBSCRIBE foo
S: >3\r\n$11\r\nunsubscribe\r\n$3\r\nfoo\r\n:2\r\n
A: PUNSUBSCRIBE
S: >3\r\n$12\r\npunsubscribe\r\n$2\r\np*\r\n:1\r\n
A: PUNSUBSCRIBE
S: >3\r\n$12\r\npunsubscribe\r\n_\r\n:1\r\n
A: UNSUBSCRIBE
S: >3\r\n$11\r\nunsubscribe\r\n$3\r\nbar\r\n:0\r\n
A: PING
S: +PONG\r\n
A: SUNSUBSCRIBE
S: >3\r\n$12\r\nsunsubscribe\r\n$2\r\ns1\r\n:0\r\n
A: SUNSUBSCRIBE
S: >3\r\n$12\r\nsunsubscribe\r\n_\r\n:0\r\n
A: UNSUBSCRIBE
S: >3\r\n$11\r\nunsubscribe\r\n_\r\n:0\r\n
A: PING
S: +PONG\r\n
`,
  ),
  parseTranscript(
    'RESP2 unsubscribes without a subscription',
    String.raw`
A: UNSUBSCRIBE
S: *3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n
A: PUNSUBSCRIBE
S: *3\r\n$12\r\npunsubscribe\r\n$-1\r\n:0\r\n
A: SUNSUBSCRIBE
S: *3\r\n$12\r\nsunsubscribe\r\n$-1\r\n:0\r\n
A: UNSUBSCRIBE a b
S: *3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:0\r\n
A: PUNSUBSCRIBE a
S: *3\r\n$12\r\npunsubscribe\r\n$1\r\na\r\n:0\r\n
A: SUNSUBSCRIBE a
S: *3\r\n$12\r\nsunsubscribe\r\n$1\r\na\r\n:0\r\n
`,
  ),
  parseTranscript(
    'RESP3 publishes to itself behind the reply',
    String.raw`
A: HELLO 3
S: (HELLO reply, proto as requested)
A: SUBSCRIBE foo
S: >3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n
A: PSUBSCRIBE f* fo?
S: >3\r\n$10\r\npsubscribe\r\n$2\r\nf*\r\n:2\r\n>3\r\n$10\r\npsubscribe\r\n$3\r\nfo?\r\n:3\r\n
A: PUBLISH foo bar
S: :3\r\n>3\r\n$7\r\nmessage\r\n$3\r\nfoo\r\n$3\r\nbar\r\n>4\r\n$8\r\npmessage\r\n$2\r\nf*\r\n$3\r\nfoo\r\n$3\r\nbar\r\n>4\r\n$8\r\npmessage\r\n$3\r\nfo?\r\n$3\r\nfoo\r\n$3\r\nbar\r\n
A: SSUBSCRIBE foo
S: >3\r\n$10\r\nssubscribe\r\n$3\r\nfoo\r\n:1\r\n
A: SPUBLISH foo x
S: :1\r\n>3\r\n$8\r\nsmessage\r\n$3\r\nfoo\r\n$1\r\nx\r\n
A: PUBLISH other y
S: :0\r\n
`,
  ),
  parseTranscript(
    'PUBSUB looks into Pub/Sub',
    String.raw`
A: HELLO 3
S: (HELLO reply, proto as requested)
A: SUBSCRIBE a b
S: >3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n>3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n
A: PSUBSCRIBE x* y*
S: >3\r\n$10\r\npsubscribe\r\n$2\r\nx*\r\n:3\r\n>3\r\n$10\r\npsubscribe\r\n$2\r\ny*\r\n:4\r\n
A: SSUBSCRIBE sa
S: >3\r\n$10\r\nssubscribe\r\n$2\r\nsa\r\n:1\r\n
A: PUBSUB CHANNELS
S: *2\r\n$1\r\na\r\n$1\r\nb\r\n
A: PUBSUB CHANNELS b*
S: *1\r\n$1\r\nb\r\n
A: PUBSUB NUMSUB a zz a
S: *6\r\n$1\r\na\r\n:1\r\n$2\r\nzz\r\n:0\r\n$1\r\na\r\n:1\r\n
A: PUBSUB NUMSUB
S: *0\r\n
A: PUBSUB NUMPAT
S: :2\r\n
A: PUBSUB SHARDCHANNELS
S: *1\r\n$2\r\nsa\r\n
A: PUBSUB SHARDNUMSUB sa zz
S: *4\r\n$2\r\nsa\r\n:1\r\n$2\r\nzz\r\n:0\r\n
A: PUBSUB SHARDNUMSUB
S: *0\r\n
`,
  ),
]
