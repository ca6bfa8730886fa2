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
