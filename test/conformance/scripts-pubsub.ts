import { parseTranscript, type Transcript } from '../support/transcript.ts'

/** Subscribing, publishing and looking into Pub/Sub; a text that starts with HELLO 3 is RESP3. */
export const PUBSUB_SCRIPTS: readonly Transcript[] = [
  ...both(
    'one confirmation per name, duplicates included, and counts per kind',
    String.raw`
A: SUBSCRIBE a
A: SUBSCRIBE a b a
A: PSUBSCRIBE p* p*
A: SSUBSCRIBE s s
A: UNSUBSCRIBE nobody
A: UNSUBSCRIBE a a
A: PUNSUBSCRIBE q
A: UNSUBSCRIBE
A: UNSUBSCRIBE
A: PUNSUBSCRIBE
A: SUNSUBSCRIBE
`,
  ),
  ...both(
    'counts of channels and patterns together, of shard channels apart',
    String.raw`
A: SUBSCRIBE a a b
A: PSUBSCRIBE p* p*
A: SSUBSCRIBE s s
A: UNSUBSCRIBE a a
A: UNSUBSCRIBE
A: UNSUBSCRIBE
A: SUNSUBSCRIBE
A: PUNSUBSCRIBE
`,
  ),
  ...both(
    'unsubscribing from nothing is confirmed',
    String.raw`
A: UNSUBSCRIBE
respcast unsubscribe-nosub: *3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n
A: PUNSUBSCRIBE a b
respcast unsubscribe-nosub: *3\r\n$12\r\npunsubscribe\r\n$1\r\na\r\n:0\r\n*3\r\n$12\r\npunsubscribe\r\n$1\r\nb\r\n:0\r\n
A: SUNSUBSCRIBE
respcast unsubscribe-nosub: *3\r\n$12\r\nsunsubscribe\r\n$-1\r\n:0\r\n
`,
  ),
  ...both(
    'the three name spaces are apart',
    String.raw`
A: SUBSCRIBE q
A: PSUBSCRIBE q*
A: SSUBSCRIBE q
B: PUBLISH q m
B: SPUBLISH q m
B: PUBSUB CHANNELS
B: PUBSUB SHARDCHANNELS
B: PUBSUB NUMSUB q
B: PUBSUB SHARDNUMSUB q
B: PUBSUB NUMPAT
A.
B: PUBSUB CHANNELS
B: PUBSUB SHARDCHANNELS
B: PUBSUB NUMPAT
B: PUBLISH q m
B: SPUBLISH q m
`,
  ),
  ...both(
    'every matching pattern brings the message once more',
    String.raw`
A: SUBSCRIBE news
A: PSUBSCRIBE n* ne?s [a-z]ews x*
B: PSUBSCRIBE n*
C: PUBLISH news hello
C: PUBLISH newt hello
C: PUBLISH xyz ""
C: PUBLISH "" empty
`,
  ),
  ...both(
    'names and payloads are any bytes',
    String.raw`
A: SUBSCRIBE "" "a b" "a\r\nb" "\x00" "a\x00b" "\xff\xfe" "\xc3\xa9" 123
B: PUBLISH "" x
B: PUBLISH "a b" "c d"
B: PUBLISH "a\r\nb" "\r\n"
B: PUBLISH "\x00" "\x00\x00"
B: PUBLISH "a\x00b" "+OK\r\n"
B: PUBLISH "\xff\xfe" "\xff"
B: PUBLISH "\xc3\xa9" "\xc3"
B: PUBLISH 123 456
B: PUBLISH "a\x00c" no
B: PUBSUB CHANNELS
B: PUBSUB CHANNELS *
B: PUBSUB CHANNELS ""
B: PUBSUB NUMSUB "" "a\x00b" "A B"
A: UNSUBSCRIBE "a\x00b" "\xff\xfe" ""
A: UNSUBSCRIBE
`,
  ),
  ...both(
    'patterns are any bytes and may be escaped',
    String.raw`
A: PSUBSCRIBE "" "\\*" "a\\" "[\xc3\xa9]" "[^a]" "[b-a]x" "h[a" "*\x00*"
B: PUBLISH "" 1
B: PUBLISH "*" 2
B: PUBLISH "a\\" 3
B: PUBLISH "\xc3" 4
B: PUBLISH "ax" 5
B: PUBLISH "ha" 6
B: PUBLISH "b\x00b" 7
B: PUBSUB NUMPAT
`,
  ),
  ...both(
    'PUBSUB answers and refuses',
    String.raw`
A: SUBSCRIBE a b abc
B: PUBSUB CHANNELS a*
B: PUBSUB channels [ab]
B: PUBSUB CHANNELS z
B: PUBSUB NUMSUB
B: PUBSUB NUMSUB a zz a
B: PUBSUB SHARDNUMSUB
B: PUBSUB SHARDCHANNELS x
B: PUBSUB
B: PUBSUB nothing
B: PUBSUB CHANNELS a b
B: pubsub Channels a b
B: PUBSUB SHARDCHANNELS a b
B: PUBSUB NUMPAT x
B: PUBSUB HELP x
`,
  ),
  ...both(
    'arguments are counted',
    String.raw`
A: SUBSCRIBE
A: PSUBSCRIBE
A: SSUBSCRIBE
A: PUBLISH
A: PUBLISH a
A: PUBLISH a b c
A: SPUBLISH a
A: spublish a b c
`,
  ),
  ...both(
    'a disconnected subscriber receives nothing and is not counted',
    String.raw`
A: SUBSCRIBE a
B: SUBSCRIBE a
C: PUBLISH a 1
A.
C: PUBLISH a 2
C: PUBSUB NUMSUB a
A: SUBSCRIBE a
C: PUBLISH a 3
`,
  ),
  parseTranscript(
    'a RESP3 subscriber that publishes to itself reads the reply first',
    String.raw`
A: HELLO 3
A: SUBSCRIBE foo
A: PSUBSCRIBE f* fo?
A: PUBLISH foo bar
A: SSUBSCRIBE foo
A: SPUBLISH foo x
A: PUBLISH foo 1 && PUBLISH foo 2 && PING
A: PUBLISH other y
B: HELLO 3
B: SUBSCRIBE foo
A: PUBLISH foo both
B: PUBLISH foo both
`,
  ),
  parseTranscript(
    'a message to oneself is whole at every size, alone and in a transaction',
    [
      'A: HELLO 3',
      'A: SUBSCRIBE own',
      'B: SUBSCRIBE own',
      ...[0, 1, 16_383, 16_384, 16_385, 65_535, 65_536, 1_048_576].flatMap((size) => [
        `A: PUBLISH own "${'x'.repeat(size)}"`,
        `A: PUBLISH own "${'x'.repeat(size)}" && PUBLISH own "${'y'.repeat(size)}" && PING`,
        'A: MULTI',
        `A: PUBLISH own "${'x'.repeat(size)}"`,
        'A: EXEC',
      ]),
    ].join('\n'),
  ),
  parseTranscript(
    'a refused SUBSCRIBE is one error and subscribes to nothing',
    String.raw`
Z: ACL SETUSER u on nopass resetchannels &ok* &room:* +@all
A: AUTH u x
A: SUBSCRIBE ok1 no ok2 && PING
Z: PUBSUB NUMSUB ok1
A: PUBLISH room:1 zzz
A: PUBLISH zzz room:1
A: SUBSCRIBE room:1 zzz
A: PSUBSCRIBE room:1*
A: PSUBSCRIBE room:*
A: PUNSUBSCRIBE zzz
`,
  ),
  parseTranscript(
    'a RESP2 subscriber may only subscribe, unsubscribe, PING, QUIT and RESET',
    String.raw`
A: SUBSCRIBE a
A: PING
A: PING hi
A: PING ""
A: PING a b
A: ECHO x
A: PUBLISH a b
A: CLIENT ID
A: CLIENT nothing
A: ACL WHOAMI
A: HELLO 3
A: HELLO
A: AUTH x
A: MULTI
A: EXEC
A: DISCARD
A: UNWATCH
A: CLIENT REPLY OFF
A: foo
A: publish a
A: SSUBSCRIBE s
A: UNSUBSCRIBE
A: ECHO x
A: SUNSUBSCRIBE
A: ECHO x
A: PSUBSCRIBE p
A: ECHO x
A: RESET
A: ECHO x
A: SUBSCRIBE a
A: QUIT now
`,
  ),
  parseTranscript(
    'a subscriber that goes back to RESP2 is restricted at once',
    String.raw`
A: HELLO 3
A: SUBSCRIBE a
B: PUBLISH a 1
A: HELLO 2
B: PUBLISH a 2
A: ECHO x
A: HELLO 3
A: PING
A: UNSUBSCRIBE
A: HELLO 3
A: SUBSCRIBE a
A: RESET
B: PUBLISH a 3
A: PING
`,
  ),
  parseTranscript(
    'PING in one write with subscribing has the form of its moment',
    String.raw`
A: SUBSCRIBE a && PING && PING hi && UNSUBSCRIBE a && PING && PING hi
A: PSUBSCRIBE a && PING && PUNSUBSCRIBE && PING
A: SSUBSCRIBE a && PING && SUNSUBSCRIBE && PING
`,
  ),
  parseTranscript(
    'messages come in the order of publishing, between the answers of the subscriber',
    String.raw`
A: HELLO 3
A: SUBSCRIBE a
B: PUBLISH a 1 && PUBLISH a 2 && PUBLISH a 3
A: PING && SUBSCRIBE b && PING
B: PUBLISH b 1 && PUBLISH a 4 && PUBLISH b 2
A: UNSUBSCRIBE a && PING
B: PUBLISH a 5 && PUBLISH b 3
`,
  ),
]

/** The same script in RESP2 and in RESP3. Bytes of a rule are given in RESP2. */
function both(title: string, text: string): Transcript[] {
  const peers = [...new Set([...text.matchAll(/^([A-Z])[:!]/gm)].map(([, peer = '']) => peer))]
  const hello = peers.map((peer) => `${peer}: HELLO 3\n`).join('')
  const resp3 = text.replace(
    /^(respcast [a-z-]+: )(.*)$/gm,
    (_all, head: string, bytes: string) => {
      return head + bytes.replaceAll('*3', '>3').replaceAll('$-1', '_')
    },
  )
  return [
    parseTranscript(`RESP2: ${title}`, text),
    parseTranscript(`RESP3: ${title}`, hello + resp3),
  ]
}
