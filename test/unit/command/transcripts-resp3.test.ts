import { describe } from 'vitest'
import { testTranscript } from '../../support/test-transcript.ts'

describe('In RESP3', () => {
  testTranscript(
    'A RESP3 client with subscriptions',
    String.raw`
      C: HELLO 3
      S: (HELLO 3)
      C: SUBSCRIBE foo
      S: >3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n
      C: SUBSCRIBE foo bar foo
      S: >3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n>3\r\n$9\r\nsubscribe\r\n$3\r\nbar\r\n:2\r\n>3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:2\r\n
      C: PSUBSCRIBE p* p*
      S: >3\r\n$10\r\npsubscribe\r\n$2\r\np*\r\n:3\r\n>3\r\n$10\r\npsubscribe\r\n$2\r\np*\r\n:3\r\n
      C: SSUBSCRIBE s1 s1
      S: >3\r\n$10\r\nssubscribe\r\n$2\r\ns1\r\n:1\r\n>3\r\n$10\r\nssubscribe\r\n$2\r\ns1\r\n:1\r\n
      C: PING
      S: +PONG\r\n
      C: PING hi
      S: $2\r\nhi\r\n
      C: ECHO x
      S: $1\r\nx\r\n
      C: UNSUBSCRIBE nope
      S: >3\r\n$11\r\nunsubscribe\r\n$4\r\nnope\r\n:3\r\n
      C: UNSUBSCRIBE foo
      S: >3\r\n$11\r\nunsubscribe\r\n$3\r\nfoo\r\n:2\r\n
      C: PUNSUBSCRIBE
      S: >3\r\n$12\r\npunsubscribe\r\n$2\r\np*\r\n:1\r\n
      C: PUNSUBSCRIBE
      S: >3\r\n$12\r\npunsubscribe\r\n_\r\n:1\r\n
      C: UNSUBSCRIBE
      S: >3\r\n$11\r\nunsubscribe\r\n$3\r\nbar\r\n:0\r\n
      C: PING
      S: +PONG\r\n
      C: SUNSUBSCRIBE
      S: >3\r\n$12\r\nsunsubscribe\r\n$2\r\ns1\r\n:0\r\n
      C: SUNSUBSCRIBE
      S: >3\r\n$12\r\nsunsubscribe\r\n_\r\n:0\r\n
      C: UNSUBSCRIBE
      S: >3\r\n$11\r\nunsubscribe\r\n_\r\n:0\r\n
      C: PING
      S: +PONG\r\n
    `,
  )

  testTranscript(
    'A client that publishes to itself',
    String.raw`
      C: HELLO 3
      S: (HELLO 3)
      C: SUBSCRIBE foo
      S: >3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n
      C: PSUBSCRIBE f* fo?
      S: >3\r\n$10\r\npsubscribe\r\n$2\r\nf*\r\n:2\r\n>3\r\n$10\r\npsubscribe\r\n$3\r\nfo?\r\n:3\r\n
      C: PUBLISH foo bar
      S: :3\r\n>3\r\n$7\r\nmessage\r\n$3\r\nfoo\r\n$3\r\nbar\r\n>4\r\n$8\r\npmessage\r\n$2\r\nf*\r\n$3\r\nfoo\r\n$3\r\nbar\r\n>4\r\n$8\r\npmessage\r\n$3\r\nfo?\r\n$3\r\nfoo\r\n$3\r\nbar\r\n
      C: SSUBSCRIBE foo
      S: >3\r\n$10\r\nssubscribe\r\n$3\r\nfoo\r\n:1\r\n
      C: SPUBLISH foo x
      S: :1\r\n>3\r\n$8\r\nsmessage\r\n$3\r\nfoo\r\n$1\r\nx\r\n
      C: PUBLISH other y
      S: :0\r\n
    `,
  )

  testTranscript(
    'A transaction that publishes to its own client',
    String.raw`
      C: HELLO 3
      S: (HELLO 3)
      C: SUBSCRIBE foo
      S: >3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n
      C: MULTI
      S: +OK\r\n
      C: PUBLISH foo a
      S: +QUEUED\r\n
      C: PUBLISH foo b
      S: +QUEUED\r\n
      C: PING
      S: +QUEUED\r\n
      C: EXEC
      S: *3\r\n:1\r\n:1\r\n+PONG\r\n>3\r\n$7\r\nmessage\r\n$3\r\nfoo\r\n$1\r\na\r\n>3\r\n$7\r\nmessage\r\n$3\r\nfoo\r\n$1\r\nb\r\n
    `,
  )

  testTranscript(
    'A transaction that subscribes to two channels and publishes',
    String.raw`
      C: HELLO 3
      S: (HELLO 3)
      C: MULTI
      S: +OK\r\n
      C: PING
      S: +QUEUED\r\n
      C: SUBSCRIBE foo bar
      S: +QUEUED\r\n
      C: PUBLISH foo x
      S: +QUEUED\r\n
      C: UNSUBSCRIBE
      S: +QUEUED\r\n
      C: PING
      S: +QUEUED\r\n
      C: EXEC
      S: *5\r\n+PONG\r\n>3\r\n$9\r\nsubscribe\r\n$3\r\nfoo\r\n:1\r\n>3\r\n$9\r\nsubscribe\r\n$3\r\nbar\r\n:2\r\n:1\r\n>3\r\n$11\r\nunsubscribe\r\n$3\r\nfoo\r\n:1\r\n>3\r\n$11\r\nunsubscribe\r\n$3\r\nbar\r\n:0\r\n+PONG\r\n>3\r\n$7\r\nmessage\r\n$3\r\nfoo\r\n$1\r\nx\r\n
      C: PING
      S: +PONG\r\n
    `,
  )

  testTranscript(
    'Looking into Pub/Sub',
    String.raw`
      C: HELLO 3
      S: (HELLO 3)
      C: SUBSCRIBE a b
      S: >3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n>3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n
      C: PSUBSCRIBE x* y*
      S: >3\r\n$10\r\npsubscribe\r\n$2\r\nx*\r\n:3\r\n>3\r\n$10\r\npsubscribe\r\n$2\r\ny*\r\n:4\r\n
      C: SSUBSCRIBE sa
      S: >3\r\n$10\r\nssubscribe\r\n$2\r\nsa\r\n:1\r\n
      C: PUBSUB CHANNELS
      S: *2\r\n$1\r\na\r\n$1\r\nb\r\n
      C: PUBSUB CHANNELS b*
      S: *1\r\n$1\r\nb\r\n
      C: PUBSUB NUMSUB a zz a
      S: *6\r\n$1\r\na\r\n:1\r\n$2\r\nzz\r\n:0\r\n$1\r\na\r\n:1\r\n
      C: PUBSUB NUMSUB
      S: *0\r\n
      C: PUBSUB NUMPAT
      S: :2\r\n
      C: PUBSUB SHARDCHANNELS
      S: *1\r\n$2\r\nsa\r\n
      C: PUBSUB SHARDNUMSUB sa zz
      S: *4\r\n$2\r\nsa\r\n:1\r\n$2\r\nzz\r\n:0\r\n
      C: PUBSUB SHARDNUMSUB
      S: *0\r\n
    `,
  )
})
