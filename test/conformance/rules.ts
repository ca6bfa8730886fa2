import { compareVersions, type OracleIdentity } from '../support/oracle.ts'
import { bulk } from '../support/transcript-frames.ts'

/** A known difference between the oracle and Respcast. */
export interface Rule {
  /** Transcripts name it where they give Respcast's own bytes; docs/compatibility.md explains it under this name. */
  readonly name: string
  readonly reason: string
  /** Reports whether this oracle differs. If not, the answers must be equal. */
  readonly holds: (oracle: OracleIdentity) => boolean
  /** Makes of the oracle's answer the one of Respcast, wherever it occurs. */
  readonly rewrite?: (answer: string) => string
}

const always = (): boolean => true
const isValkey = ({ server }: OracleIdentity): boolean => server === 'valkey'
const isBefore =
  (valkey: string, redis: string) =>
  ({ server, version }: OracleIdentity): boolean =>
    compareVersions(version, server === 'valkey' ? valkey : redis) < 0

/** Respcast's name and version in HELLO. */
const IDENTITY = `${bulk('server')}${bulk('redis')}${bulk('version')}${bulk('8.0.6')}`

/** `sanitize-payload` out of rules and flags; the lengths around it are put right. */
function withoutSanitizePayload(answer: string): string {
  return answer
    .replace(/\$\d+\r\n(user [^\r]*?) sanitize-payload([^\r]*)\r\n/g, (_all, head: string, tail) =>
      bulk(`${head}${String(tail)}`),
    )
    .replace(
      /(flags\r\n[*~])(\d+)(\r\n(?:\$\d+\r\n[^\r]*\r\n)*?)\$16\r\nsanitize-payload\r\n/g,
      (_all, head: string, count: string, flags: string) => `${head}${Number(count) - 1}${flags}`,
    )
}

/** Every difference that a comparison may rest on. */
export const RULES: readonly Rule[] = [
  {
    name: 'identity',
    reason: 'HELLO names the version of Redis that is followed.',
    holds: always,
    rewrite: (answer) =>
      answer.replace(
        /\$6\r\nserver\r\n\$\d\r\n[a-z]+\r\n\$7\r\nversion\r\n\$\d+\r\n[\d.]+\r\n/g,
        IDENTITY,
      ),
  },
  {
    name: 'sanitize-payload',
    reason: 'There are no payloads to sanitize, so the flag is never shown.',
    holds: isBefore('9.1.0', '99'),
    rewrite: withoutSanitizePayload,
  },
  {
    name: 'websocket-output-class',
    reason: 'Output limits have one more class: websocket.',
    holds: always,
    rewrite: (answer) =>
      answer.replace(
        /\$\d+\r\n(normal [\d ]+ slave [\d ]+ pubsub [\d ]+)\r\n/g,
        (_all, classes: string) => bulk(`${classes} websocket 1048576 262144 10`),
      ),
  },
  {
    name: 'listeners-at-start',
    reason: 'Ports are opened at start; CONFIG SET does not move a listener.',
    holds: always,
  },
  {
    name: 'unsubscribe-nosub',
    reason:
      'Valkey 8.0.0 and 8.0.1 refuse to unsubscribe without a subscription; it was taken back.',
    holds: ({ server, version }) =>
      server === 'valkey' &&
      compareVersions(version, '8.0.0') >= 0 &&
      compareVersions(version, '8.0.2') < 0,
  },
  {
    name: 'nested-multi',
    reason:
      'Valkey 8 refuses MULTI and WATCH inside MULTI with another text and spoils the transaction.',
    holds: isValkey,
  },
  {
    name: 'silent-failing-auth',
    reason:
      'A failing AUTH after another reply is not answered by Redis 7.2 to 8.0 and Valkey before 9.1.',
    holds: isBefore('9.1.0', '99'),
  },
  {
    name: 'authentication-first',
    reason: 'Whoever has to log in learns nothing about which commands there are.',
    holds: isBefore('9.1.0', '99'),
  },
  {
    name: 'crlf-validated',
    reason: 'Line ends that are none are refused instead of skipped, as Valkey 9.1 does.',
    holds: isBefore('9.1.0', '99'),
  },
  {
    name: 'nul-in-header',
    reason: 'A zero byte in a header is an error at once instead of a wait for more.',
    holds: always,
  },
  {
    name: 'keyspace-commands-unknown',
    reason: 'There is no keyspace, and no command pretends that there is.',
    holds: always,
  },
  {
    name: 'absent-commands-unknown',
    reason: 'There is nothing to copy to a replica or to store on a disk.',
    holds: always,
  },
  {
    name: 'unsubscribe-order',
    reason: 'Confirmations of unsubscribing from all come in the order of subscribing.',
    holds: always,
  },
  {
    name: 'psubscribe-whole-pattern',
    reason:
      'A requested pattern is compared with the rules by all of its bytes, not up to the first zero byte.',
    holds: always,
  },
  {
    name: 'cross-protocol-inline',
    reason:
      'POST and Host: close the connection as lines only: an array of bulk strings is no HTTP request.',
    holds: always,
  },
  {
    name: 'selector-quotes',
    reason: 'A quote that does not end in a selector is a syntax error, not an empty selector.',
    holds: always,
  },
  {
    name: 'whole-key-pattern',
    reason:
      'The key pattern `*` beside others is shown as %RW~*, since ~* before others is refused when it is read.',
    holds: always,
  },
  {
    name: 'widening-harms-nobody',
    reason:
      'A change of rules that takes no channel away closes nobody, not even a connection with subscriptions from before it logged in as that user: these are judged by the user who made them.',
    holds: always,
  },
  {
    name: 'reply-in-multi',
    reason:
      'CLIENT REPLY is refused in a transaction, else EXEC announces more replies than it sends.',
    holds: isBefore('9.1.0', '99'),
  },
  {
    name: 'silenced-quit-closes',
    reason:
      'QUIT and protocol errors close the connection when CLIENT REPLY silences their answer too.',
    holds: always,
  },
]

/** The rule of a name. @throws Error There is none. */
export function ruleNamed(name: string): Rule {
  const rule = RULES.find((each) => each.name === name)
  if (!rule) throw new Error(`no rule is called ${name}`)
  return rule
}

/** Rewrites the answer of an oracle to that of Respcast, by all rules that hold for it. */
export function applyRules(oracle: OracleIdentity, answer: string): string {
  let text = answer
  for (const rule of RULES) {
    if (rule.rewrite && rule.holds(oracle)) text = rule.rewrite(text)
  }
  return text
}
