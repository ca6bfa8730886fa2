import {
  IMMUTABLE,
  INT_MAX,
  LONG_MAX,
  ULONG_MAX,
  boolean,
  choice,
  integer,
  list,
  memory,
  seconds,
  string,
  withoutEffect,
} from '../spec.ts'
import { checkEvents, checkSavePoints, sortEvents } from '../checks.ts'

const POLICIES = [
  ...(['volatile-lru', 'volatile-lfu', 'volatile-random', 'volatile-ttl'] as const),
  ...(['allkeys-lru', 'allkeys-lfu', 'allkeys-random', 'noeviction'] as const),
] as const

const INT_MIN = -2_147_483_648
const INT = [0, INT_MAX] as const
const LONG = [0, LONG_MAX] as const
const SIZE = { range: LONG } as const

/** Keys and their memory. There are none here. */
export const KEYSPACE_WITHOUT_EFFECT = withoutEffect({
  'maxmemory-policy': choice('noeviction', POLICIES, 'What is evicted.'),
  'maxmemory-samples': integer(5, [1, INT_MAX], 'Keys looked at for eviction.'),
  'maxmemory-eviction-tenacity': integer(10, [0, 100], 'Effort of eviction.'),
  'notify-keyspace-events': string('', 'Events published about keys.', {
    check: checkEvents,
    canonical: sortEvents,
  }),
  'lazyfree-lazy-eviction': boolean('no', 'Free evicted keys in the background.'),
  'lazyfree-lazy-expire': boolean('no', 'Free expired keys in the background.'),
  'lazyfree-lazy-server-del': boolean('no', 'Free replaced keys in the background.'),
  'lazyfree-lazy-user-del': boolean('no', 'DEL works as UNLINK.'),
  'lazyfree-lazy-user-flush': boolean('no', 'FLUSHALL works in the background.'),
  'lfu-log-factor': integer(10, INT, 'Growth of the access counter.'),
  'lfu-decay-time': integer(1, INT, 'Decay of the access counter.', { unit: 'minutes' }),
  'active-expire-effort': integer(1, [1, 10], 'Effort of expiry.'),
  activerehashing: boolean('yes', 'Rehash in idle time.'),
  activedefrag: boolean('no', 'Defragment memory.'),
  'active-defrag-cycle-min': integer(1, [1, 99], 'Least effort of defragmentation.', {
    unit: '% CPU',
  }),
  'active-defrag-cycle-max': integer(25, [1, 99], 'Greatest effort of defragmentation.', {
    unit: '% CPU',
  }),
  'active-defrag-cycle-us': integer(500, [0, 100_000], 'Length of one step (Valkey).', {
    unit: 'microseconds',
  }),
  'active-defrag-threshold-lower': integer(10, [0, 1000], 'Fragmentation to begin at.', {
    unit: '%',
  }),
  'active-defrag-threshold-upper': integer(100, [0, 1000], 'Fragmentation of greatest effort.', {
    unit: '%',
  }),
  'active-defrag-ignore-bytes': memory('100mb', 'Fragmentation that is let be.', {
    range: [1, LONG_MAX],
  }),
  'active-defrag-max-scan-fields': integer(1000, [1, LONG_MAX], 'Fields treated apart.'),
  'sanitize-dump-payload': choice('no', ['no', 'yes', 'clients'], 'Check payloads of RESTORE.'),
  'hash-max-listpack-entries': integer(512, LONG, 'Compact hashes.', {
    aliases: ['hash-max-ziplist-entries'],
  }),
  'hash-max-listpack-value': memory('64', 'Compact hashes.', {
    ...SIZE,
    aliases: ['hash-max-ziplist-value'],
  }),
  'list-max-listpack-size': integer(-2, [INT_MIN, INT_MAX], 'Compact lists.', {
    aliases: ['list-max-ziplist-size'],
  }),
  'list-compress-depth': integer(0, INT, 'Compressed lists.'),
  'set-max-intset-entries': integer(512, LONG, 'Compact sets of integers.'),
  'set-max-listpack-entries': integer(128, LONG, 'Compact sets.'),
  'set-max-listpack-value': integer(64, LONG, 'Compact sets.'),
  'zset-max-listpack-entries': integer(128, LONG, 'Compact sorted sets.', {
    aliases: ['zset-max-ziplist-entries'],
  }),
  'zset-max-listpack-value': memory('64', 'Compact sorted sets.', {
    ...SIZE,
    aliases: ['zset-max-ziplist-value'],
  }),
  'hll-sparse-max-bytes': memory('3000', 'Sparse HyperLogLogs.', SIZE),
  'stream-node-max-bytes': memory('4096', 'Nodes of streams.', SIZE),
  'stream-node-max-entries': integer(100, LONG, 'Nodes of streams.'),
  'import-mode': boolean('no', 'Keep expired keys during an import (Valkey).', { hidden: true }),
  'hash-seed': string('', 'Seed of hash tables (Valkey).', { ...IMMUTABLE, sensitive: true }),
  'key-load-delay': integer(0, [INT_MIN, INT_MAX], 'Delay for tests.', { hidden: true }),
})

/** Snapshots and the append-only file. Nothing is stored here. */
export const PERSISTENCE_WITHOUT_EFFECT = withoutEffect({
  save: list('3600 1 300 100 60 10000', 'When to write a snapshot: seconds and changes.', {
    multi: true,
    check: checkSavePoints,
    singleSpaces: true,
  }),
  dbfilename: string('dump.rdb', 'Name of the snapshot.', { protected: true }),
  rdbcompression: boolean('yes', 'Compress the snapshot.'),
  rdbchecksum: boolean('yes', 'Check the snapshot.', IMMUTABLE),
  'rdb-version-check': choice('strict', ['strict', 'relaxed'], 'Foreign snapshots (Valkey).'),
  'rdb-save-incremental-fsync': boolean('yes', 'Sync the snapshot piecemeal.'),
  'rdb-del-sync-files': boolean('no', 'Delete snapshots made for replicas.'),
  'rdb-key-save-delay': integer(0, [INT_MIN, INT_MAX], 'Delay for tests.', { hidden: true }),
  'loading-process-events-interval-bytes': integer(
    2_097_152,
    [1024, INT_MAX],
    'Pauses while loading.',
    {
      hidden: true,
    },
  ),
  'stop-writes-on-bgsave-error': boolean('yes', 'Refuse writes after a failed snapshot.'),
  'bgsave-cpulist': string('', 'CPUs of the snapshot process.', {
    ...IMMUTABLE,
    aliases: ['bgsave_cpulist'],
  }),
  appendonly: boolean('no', 'Keep an append-only file.'),
  appendfilename: string('appendonly.aof', 'Name of the append-only file.', IMMUTABLE),
  appenddirname: string('appendonlydir', 'Directory of the append-only file.', IMMUTABLE),
  appendfsync: choice(
    'everysec',
    ['everysec', 'always', 'no'],
    'When to sync the append-only file.',
  ),
  'no-appendfsync-on-rewrite': boolean('no', 'No sync during a rewrite.'),
  'auto-aof-rewrite-percentage': integer(100, INT, 'Growth that brings a rewrite.', { unit: '%' }),
  'auto-aof-rewrite-min-size': memory('64mb', 'Least size for a rewrite.'),
  'aof-load-truncated': boolean('yes', 'Accept a cut end.'),
  'aof-load-corrupt-tail-max-size': integer(0, LONG, 'Accept a broken end of this size.', {
    unit: 'bytes',
  }),
  'aof-use-rdb-preamble': boolean('yes', 'Begin with a snapshot.'),
  'aof-timestamp-enabled': boolean('no', 'Record times.'),
  'aof-rewrite-incremental-fsync': boolean('yes', 'Sync a rewrite piecemeal.'),
  'aof-rewrite-cpulist': string('', 'CPUs of the rewrite.', {
    ...IMMUTABLE,
    aliases: ['aof_rewrite_cpulist'],
  }),
  'aof-disable-auto-gc': boolean('no', 'Keep old files.', { hidden: true }),
})

/** Primaries and replicas. This server has no keys to replicate. */
export const REPLICATION_WITHOUT_EFFECT = withoutEffect({
  replicaof: list('', 'Primary to follow.', {
    ...IMMUTABLE,
    aliases: ['slaveof'],
    check: ({ length }) => (length === 0 || length === 2 ? undefined : 'wrong number of arguments'),
  }),
  masterauth: string('', 'Password for the primary.', {
    sensitive: true,
    aliases: ['primaryauth'],
  }),
  masteruser: string('', 'User for the primary.', { sensitive: true, aliases: ['primaryuser'] }),
  'replica-serve-stale-data': boolean('yes', 'Answer without a primary.', {
    aliases: ['slave-serve-stale-data'],
  }),
  'replica-read-only': boolean('yes', 'Refuse writes on a replica.', {
    aliases: ['slave-read-only'],
  }),
  'replica-lazy-flush': boolean('no', 'Flush in the background.', {
    aliases: ['slave-lazy-flush'],
  }),
  'replica-ignore-maxmemory': boolean('yes', 'No eviction on a replica.', {
    aliases: ['slave-ignore-maxmemory'],
  }),
  'replica-ignore-disk-write-errors': boolean('no', 'Go on after failed writes.'),
  'replica-priority': integer(100, INT, 'Rank for promotion.', { aliases: ['slave-priority'] }),
  'replica-announced': boolean('yes', 'Be shown by Sentinel.'),
  'replica-announce-ip': string('', 'Address to announce.', { aliases: ['slave-announce-ip'] }),
  'replica-announce-port': integer(0, [0, 65_535], 'Port to announce.', {
    aliases: ['slave-announce-port'],
  }),
  'replica-full-sync-buffer-limit': memory('0', 'Buffer of a replica during a full sync.'),
  'repl-ping-replica-period': seconds(10, 'Time between pings.', {
    min: 1,
    aliases: ['repl-ping-slave-period'],
  }),
  'repl-timeout': seconds(60, 'Time until a link counts as lost.', { min: 1 }),
  'repl-backlog-size': memory('1mb', 'Backlog for partial syncs.', { range: [1, LONG_MAX] }),
  'repl-backlog-ttl': integer(3600, LONG, 'Life of the backlog without replicas.', {
    unit: 'seconds',
  }),
  'repl-disable-tcp-nodelay': boolean('no', 'Collect small packets.'),
  'repl-diskless-sync': boolean('yes', 'Sync without a file.'),
  'repl-diskless-sync-delay': seconds(5, 'Wait for more replicas.'),
  'repl-diskless-sync-max-replicas': integer(0, INT, 'Replicas that end the wait.'),
  'repl-diskless-load': choice(
    'disabled',
    ['disabled', 'on-empty-db', 'swapdb', 'flush-before-load'],
    'Load without a file.',
  ),
  'repl-rdb-channel': boolean('no', 'A second connection for full syncs.', { hidden: true }),
  'repl-mptcp': boolean('no', 'Multipath TCP for replication (Valkey).', IMMUTABLE),
  'dual-channel-replication-enabled': boolean('no', 'A second connection for full syncs (Valkey).'),
  'min-replicas-to-write': integer(0, INT, 'Replicas that a write needs.', {
    aliases: ['min-slaves-to-write'],
  }),
  'min-replicas-max-lag': seconds(10, 'Lag of a replica that counts.', {
    aliases: ['min-slaves-max-lag'],
  }),
  'propagation-error-behavior': choice(
    'ignore',
    ['ignore', 'panic', 'panic-on-replicas'],
    'What a failing replicated command does.',
  ),
  'tls-replication': boolean('no', 'TLS for replication.'),
})

/** Directives for nodes of a cluster among each other. Here there is never more than one. */
export const CLUSTER_WITHOUT_EFFECT = withoutEffect({
  'cluster-config-file': string('nodes.conf', 'File of the cluster state.', IMMUTABLE),
  'cluster-config-save-behavior': choice(
    'sync',
    ['sync', 'best-effort'],
    'How the state is written (Valkey).',
  ),
  'cluster-databases': integer(1, [1, INT_MAX], 'Databases in cluster mode (Valkey).', IMMUTABLE),
  'cluster-node-timeout': integer(15_000, LONG, 'Silence of a failing node.', {
    unit: 'milliseconds',
  }),
  'cluster-ping-interval': integer(0, LONG, 'Time between pings.', {
    hidden: true,
    unit: 'milliseconds',
  }),
  'cluster-message-gossip-perc': integer(10, [0, 100], 'Nodes told of in a ping (Valkey).', {
    unit: '%',
  }),
  'cluster-manual-failover-timeout': integer(5000, [1, INT_MAX], 'Time for a failover (Valkey).', {
    unit: 'milliseconds',
  }),
  'cluster-announce-human-nodename': string('', 'Name for people.'),
  'cluster-announce-client-ipv4': string('', 'IPv4 address told to clients (Valkey).'),
  'cluster-announce-client-ipv6': string('', 'IPv6 address told to clients (Valkey).'),
  'cluster-announce-client-port': integer(0, [0, 65_535], 'Port told to clients (Valkey).'),
  'cluster-announce-client-tls-port': integer(0, [0, 65_535], 'TLS port told to clients (Valkey).'),
  'cluster-require-full-coverage': boolean('yes', 'Stop where slots are missing.'),
  'cluster-allow-reads-when-down': boolean('no', 'Read from a failed cluster.'),
  'cluster-allow-pubsubshard-when-down': boolean('yes', 'Sharded Pub/Sub in a failed cluster.'),
  'cluster-allow-replica-migration': boolean('yes', 'Replicas may change their primary.'),
  'cluster-migration-barrier': integer(1, INT, 'Replicas that stay with a primary.'),
  'cluster-replica-validity-factor': integer(10, INT, 'Age of data that bars a failover.', {
    aliases: ['cluster-slave-validity-factor'],
  }),
  'cluster-replica-no-failover': boolean('no', 'Never fail over.', {
    aliases: ['cluster-slave-no-failover'],
  }),
  'cluster-link-sendbuf-limit': memory('0', 'Buffer of a bus link.', { range: [0, ULONG_MAX] }),
  'cluster-blacklist-ttl': integer(60, LONG, 'How long a forgotten node stays so (Valkey).', {
    unit: 'seconds',
  }),
  'cluster-slot-stats-enabled': boolean('no', 'Count by slot.'),
  'cluster-slot-migration-log-max-len': integer(1000, LONG, 'Slot migrations remembered (Valkey).'),
  'cluster-compatibility-sample-ratio': integer(
    0,
    [0, 100],
    'Commands looked at for cluster use.',
    { unit: '%' },
  ),
  'slot-migration-max-failover-repl-bytes': integer(
    0,
    [-1, LONG_MAX],
    'Backlog at a hand-over (Valkey).',
    {
      unit: 'bytes',
    },
  ),
  'tls-cluster': boolean('no', 'TLS on the cluster bus.'),
})
