import { compareVersions, type OracleIdentity } from '../support/oracle.ts'

/** Commands, or containers of commands, that Redis does not have. */
export const OWN_COMMANDS: readonly string[] = ['token', 'respcast']

/** A flag that the oracle reports of commands and Respcast does not. */
export interface FlagDifference {
  readonly flag: string
  readonly commands: readonly string[]
  readonly holds: (oracle: OracleIdentity) => boolean
}

/** Where COMMAND INFO differs from the oracle's: Respcast follows Redis 8.0. */
export const FLAG_DIFFERENCES: readonly FlagDifference[] = [
  {
    flag: 'no_multi',
    commands: ['multi', 'watch', 'client|reply'],
    holds: ({ server }) => server === 'valkey',
  },
  {
    flag: 'loading',
    commands: ['cluster|info', 'cluster|myid', 'cluster|myshardid', 'cluster|nodes'],
    holds: ({ server }) => server === 'valkey',
  },
  {
    flag: 'allow_busy',
    commands: [
      'select',
      'client|getname',
      'client|id',
      'client|no-evict',
      'client|reply',
      'client|setname',
    ],
    holds: ({ server, version }) => server === 'valkey' && compareVersions(version, '9.0.0') >= 0,
  },
]

/** Directives that have another default here, and why. */
export const DEFAULT_DIFFERENCES: ReadonlyMap<string, string> = new Map([
  ['client-output-buffer-limit', 'one more class: websocket'],
  ['dir', 'each server has its own'],
  ['port', 'each server has its own'],
  ['save', 'the oracle is started without'],
  ['hide-user-data-from-log', 'Valkey 8 changed the default; Redis 8.0 has no'],
  ['io-threads-do-reads', 'Valkey 8 changed the default; Redis 8.0 has no'],
  ['lazyfree-lazy-eviction', 'Valkey 8 changed the default; Redis 8.0 has no'],
  ['lazyfree-lazy-expire', 'Valkey 8 changed the default; Redis 8.0 has no'],
  ['lazyfree-lazy-server-del', 'Valkey 8 changed the default; Redis 8.0 has no'],
  ['lazyfree-lazy-user-del', 'Valkey 8 changed the default; Redis 8.0 has no'],
  ['lazyfree-lazy-user-flush', 'Valkey 8 changed the default; Redis 8.0 has no'],
  ['replica-lazy-flush', 'Valkey 8 changed the default; Redis 8.0 has no'],
  ['slave-lazy-flush', 'Valkey 8 changed the default; Redis 8.0 has no'],
  ['repl-backlog-size', 'Valkey 8 changed the default; Redis 8.0 has 1 MB'],
  ['syslog-ident', 'the name of the server'],
])

/** Directives that refuse other values, or with other words, and why. */
export const SET_DIFFERENCES: ReadonlyMap<string, string> = new Map([
  ['requirepass', 'any text is a password'],
  ['bind', 'would close the listener that is used'],
  ['port', 'listeners are opened at start'],
  ['tls-port', 'listeners are opened at start'],
  ['cluster-announce-client-ipv4', 'stored without effect, so any text will do'],
  ['cluster-announce-client-ipv6', 'stored without effect, so any text will do'],
  ['locale-collate', 'stored without effect, so any text will do'],
  ['tls-protocols', 'checked while TLS is off too'],
  ['repl-diskless-load', 'Valkey 8.1 and Redis 8 know one value more'],
])

/** Values for CONFIG SET, to compare the answer and the resulting value. */
export const SET_TEXTS: readonly (readonly string[])[] = [
  ['timeout', '0'],
  ['timeout', '-1'],
  ['timeout', '2147483648'],
  ['timeout', '1.5'],
  ['timeout', '007'],
  ['timeout', ''],
  ['maxclients', '0'],
  ['maxmemory', '1gb'],
  ['maxmemory', '1GB'],
  ['maxmemory', '100k'],
  ['maxmemory', '1.5gb'],
  ['maxmemory', '1 gb'],
  ['maxmemory', '1tb'],
  ['maxmemory', '-1'],
  ['maxmemory', '9007199254740993'],
  ['maxmemory', '9223372036854775808'],
  ['maxmemory', '18446744073709551616'],
  ['maxmemory', '0'],
  ['maxmemory-clients', '5%'],
  ['maxmemory-clients', '101%'],
  ['maxmemory-clients', '-5%'],
  ['maxmemory-clients', '0'],
  ['proto-max-bulk-len', '1'],
  ['client-query-buffer-limit', '1'],
  ['client-output-buffer-limit', 'normal 0 0 0'],
  ['client-output-buffer-limit', 'pubsub 32mb 8mb 60'],
  ['client-output-buffer-limit', 'pubsub 1 2'],
  ['client-output-buffer-limit', 'bogus 1 2 3'],
  ['client-output-buffer-limit', 'master 1 2 3'],
  ['client-output-buffer-limit', 'pubsub x y z'],
  ['client-output-buffer-limit', 'slave 1mb 1mb 1 pubsub 2mb 2mb 2'],
  ['client-output-buffer-limit', 'replica 256mb 64mb 60 pubsub 32mb 8mb 60'],
  ['client-output-buffer-limit', ''],
  ['client-output-buffer-limit', 'normal  0 0 0'],
  ['client-output-buffer-limit', 'normal 0 0 0 '],
  ['client-output-buffer-limit', 'normal 0 0 010'],
  ['client-output-buffer-limit', 'normal 0 0 2147483648'],
  ['client-output-buffer-limit', 'normal 9007199254740993 9223372036854775807 0'],
  ['client-output-buffer-limit', 'normal 9223372036854775808 18446744073709551615 0'],
  ['client-output-buffer-limit', 'normal 18446744073709551616 0 0'],
  ['client-output-buffer-limit', 'normal 0 0 -1'],
  ['client-output-buffer-limit', 'normal 0 0 0'],
  ['save', '900 1'],
  ['save', '900  1'],
  ['save', ' '],
  ['save', '1 1 2'],
  ['save', ''],
  ['oom-score-adj-values', '0  200 800'],
  ['shutdown-on-sigterm', 'now  force'],
  ['shutdown-on-sigterm', 'nosave now'],
  ['shutdown-on-sigterm', 'default'],
  ['hz', '0'],
  ['hz', '501'],
  ['hz', '-1'],
  ['hz', '010'],
  ['HZ', '10'],
  ['latency-tracking-info-percentiles', '50.0 99.90 1e1 0x10 +5 .5 5. 33.33333333 1e-9 -0'],
  ['latency-tracking-info-percentiles', '50 50'],
  ['latency-tracking-info-percentiles', 'nan'],
  ['latency-tracking-info-percentiles', 'inf'],
  ['latency-tracking-info-percentiles', '101 x'],
  ['latency-tracking-info-percentiles', 'x 101'],
  ['latency-tracking-info-percentiles', '50  99'],
  ['latency-tracking-info-percentiles', ''],
  ['latency-tracking-info-percentiles', '50 99 99.9'],
  ['proc-title-template', ''],
  ['proc-title-template', ' '],
  ['proc-title-template', '{'],
  ['proc-title-template', '{}'],
  ['proc-title-template', '{{'],
  ['proc-title-template', '{title'],
  ['proc-title-template', 'title}'],
  ['proc-title-template', '{title}'],
  ['proc-title-template', '{x}'],
  ['proc-title-template', '{unixsocket}x'],
  ['proc-title-template', '{port}'],
  ['proc-title-template', '{title} {listen-addr} {server-mode}'],
  ['MAXMEMORY', 'x'],
  ['LUA-time-limit', 'x'],
  ['DAEMONIZE', 'yes'],
  ['MAXMEMORY', '0', 'APPENDFSYNC', 'x'],
  ['acl-pubsub-default', 'ALLCHANNELS'],
  ['acl-pubsub-default', 'resetchannels'],
  ['acl-pubsub-default', 'x'],
  ['maxmemory-policy', 'bogus'],
  ['appendonly', 'maybe'],
  ['protected-mode', 'YES'],
  ['tcp-keepalive', 'x'],
  ['tcp-keepalive', '-1'],
  ['databases', '3'],
  ['unixsocket', '/x'],
  ['aclfile', '/x'],
  ['nosuch', 'x'],
  ['nosuch', 'x', 'timeout', '3'],
  ['timeout', '3', 'nosuch', 'x'],
  ['timeout', '3', 'timeout', '4'],
  ['timeout', '3', 'TIMEOUT', '4'],
  ['timeout', '3', 'tcp-keepalive', 'x'],
  ['TIMEOUT', '0'],
  ['acllog-max-len', '-1'],
  ['loglevel', 'loud'],
  ['slave-read-only', 'x'],
  ['slave-read-only', 'yes', 'replica-read-only', 'yes'],
  ['notify-keyspace-events', 'KEA'],
  ['notify-keyspace-events', 'xyz!'],
  ['notify-keyspace-events', ''],
]

/** Fields of COMMAND DOCS in which Respcast differs from `valkey-server`. */
export const DOCS_DIFFERENCES: ReadonlyMap<
  string,
  { readonly fields: readonly string[]; readonly reason: string }
> = new Map([
  ['client|list', { fields: ['history'], reason: 'Valkey renamed master to primary in 8.0' }],
  [
    'client|kill',
    { fields: ['history', 'arguments'], reason: 'the same, and options for token sessions' },
  ],
  ['cluster|setslot', { fields: ['history', 'arguments'], reason: 'Valkey 8.0 added TIMEOUT' }],
  [
    'cluster|slots',
    {
      fields: ['doc_flags', 'deprecated_since', 'replaced_by'],
      reason: 'deprecated in Redis, not in Valkey',
    },
  ],
])
