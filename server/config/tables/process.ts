import {
  AT_START,
  IMMUTABLE,
  INT_MAX,
  LONG_MAX,
  UINT_MAX,
  boolean,
  choice,
  flags,
  integer,
  lines,
  list,
  memory,
  seconds,
  string,
  withoutEffect,
} from '../spec.ts'
import { checkOomScores, checkShutdown, checkTitle } from '../checks.ts'

const FACILITIES = [
  'user',
  'local0',
  'local1',
  'local2',
  'local3',
  'local4',
  'local5',
  'local6',
  'local7',
] as const
/** Modules that Redis comes with since 8.0: types of data, which there are none of here. */
const MODULES_OF_DATA = ['redisbloom.so', 'redisearch.so', 'redistimeseries.so', 'rejson.so']

const SHUTDOWN = ['default', 'save', 'nosave', 'now', 'force']

/** The process: its folder, its log and its end. */
export const PROCESS = {
  dir: string('./', 'Directory of all files that are named without a path from the root.', {
    ...AT_START,
    protected: true,
    check: ([path]) => (path === '' ? 'No such file or directory' : undefined),
  }),
  include: lines(
    'Reads a further file here; relative to where the server was started; globs are allowed.',
    {
      ...AT_START,
      fileOnly: true,
      check: (words) => (words.length === 1 ? undefined : 'wrong number of arguments'),
    },
  ),
  pidfile: string(
    '',
    'File that holds the process id while the server runs; empty is none.',
    AT_START,
  ),
  logfile: string('', 'File of the log; empty is standard output.', AT_START),
  loglevel: choice(
    'notice',
    ['debug', 'verbose', 'notice', 'warning', 'nothing'],
    'What the log holds.',
  ),
  'hide-user-data-from-log': boolean(
    'no',
    'Keep channel names, user names and arguments out of the log.',
  ),
  databases: integer(
    16,
    [1, INT_MAX],
    'Numbers that SELECT accepts; there are no keys in any.',
    AT_START,
  ),
  'warm-up': boolean(
    'yes',
    'Rehearse before the listeners open, for half a second, so that the first clients do not wait for code to be compiled.',
    AT_START,
  ),
  'drain-grace-seconds': seconds(
    5,
    'Time that a server which drains still takes new connections, so that a load balancer notices that `/readyz` is 503.',
  ),
  'drain-seconds': seconds(
    30,
    'Time after it over which clients are closed evenly, so that other servers take them over; 0 closes all at once.',
  ),
}

/** Parts of a Redis process that this server does not have. */
export const PROCESS_WITHOUT_EFFECT = withoutEffect({
  daemonize: boolean('no', 'Run in the background. Use a supervisor.', IMMUTABLE),
  supervised: choice('no', ['upstart', 'systemd', 'auto', 'no'], 'Kind of supervisor.', IMMUTABLE),
  'syslog-enabled': boolean('no', 'Log to syslog.', IMMUTABLE),
  'syslog-ident': string('redis', 'Name in syslog.', IMMUTABLE),
  'syslog-facility': choice('local0', FACILITIES, 'Facility in syslog.', IMMUTABLE),
  'log-format': choice('legacy', ['legacy', 'logfmt', 'json'], 'Form of log lines (Valkey).'),
  'log-timestamp-format': choice(
    'legacy',
    ['legacy', 'iso8601', 'milliseconds'],
    'Time in log lines (Valkey).',
  ),
  'always-show-logo': boolean('no', 'Print a logo.', IMMUTABLE),
  'set-proc-title': boolean('yes', 'Change the process title.', IMMUTABLE),
  'proc-title-template': string('{title} {listen-addr} {server-mode}', 'Process title.', {
    check: checkTitle,
  }),
  'locale-collate': string('', 'Locale for comparing strings.'),
  'availability-zone': string('', 'Zone, told to clients (Valkey).'),
  'extended-redis-compatibility': boolean(
    'no',
    'Call oneself Redis (Valkey); this server always does.',
  ),
  'crash-log-enabled': boolean('yes', 'Write a crash report.'),
  'crash-memcheck-enabled': boolean('yes', 'Test memory after a crash.'),
  'use-exit-on-panic': boolean('no', 'Exit instead of abort.', { hidden: true }),
  'enable-debug-assert': boolean('no', 'Assertions for debugging (Valkey).', {
    ...IMMUTABLE,
    hidden: true,
  }),
  'debug-context': string('', 'Text for crash reports (Valkey).', { hidden: true }),
  'watchdog-period': integer(0, [0, INT_MAX], 'Software watchdog.', {
    hidden: true,
    unit: 'milliseconds',
  }),
  'req-res-logfile': string('', 'Log of requests and replies.', { ...IMMUTABLE, hidden: true }),
  'client-default-resp': integer(2, [2, 3], 'Protocol of a new connection.', {
    ...IMMUTABLE,
    hidden: true,
  }),
  'disable-thp': boolean('yes', 'Turn off transparent huge pages.', IMMUTABLE),
  'ignore-warnings': string('', 'Warnings at start to pass over.'),
  'server-cpulist': string('', 'CPUs of the main thread.', {
    ...IMMUTABLE,
    aliases: ['server_cpulist'],
  }),
  'bio-cpulist': string('', 'CPUs of background threads.', {
    ...IMMUTABLE,
    aliases: ['bio_cpulist'],
  }),
  'oom-score-adj': choice(
    'no',
    ['no', 'yes', 'relative', 'absolute'],
    "Adjust the kernel's choice when out of memory.",
  ),
  'oom-score-adj-values': list('0 200 800', 'Adjustments: server, replica, child.', {
    check: checkOomScores,
    singleSpaces: true,
  }),
  'shutdown-timeout': seconds(10, 'Wait for replicas at shutdown.'),
  'shutdown-on-sigint': flags('default', SHUTDOWN, 'How SIGINT shuts down.', {
    check: checkShutdown,
  }),
  'shutdown-on-sigterm': flags('default', SHUTDOWN, 'How SIGTERM shuts down.', {
    check: checkShutdown,
  }),
  'jemalloc-bg-thread': boolean('yes', 'Background thread of the allocator.'),
  hz: integer(10, [0, INT_MAX], 'Rate of background tasks.', {
    unit: 'per second',
    clamp: [1, 500],
  }),
  'dynamic-hz': boolean('yes', 'Adapt `hz` to the number of clients.'),
  'busy-reply-threshold': integer(5000, [0, LONG_MAX], 'Run time of a script before BUSY.', {
    aliases: ['lua-time-limit'],
    unit: 'milliseconds',
  }),
  'lua-enable-insecure-api': boolean('no', 'Old script functions (Valkey).', {
    aliases: ['lua-enable-deprecated-api'],
  }),
  'io-threads': integer(1, [1, 256], 'Threads for input and output.', IMMUTABLE),
  'io-threads-do-reads': boolean('no', 'Threads for input too.', IMMUTABLE),
  'io-threads-always-active': boolean('no', 'Keep threads awake (Valkey).', { hidden: true }),
  'events-per-io-thread': integer(2, [0, INT_MAX], 'Events per thread (Valkey).', { hidden: true }),
  'prefetch-batch-max-size': integer(16, [0, 128], 'Keys fetched ahead (Valkey).'),
  'min-io-threads-avoid-copy-reply': integer(
    7,
    [0, INT_MAX],
    'Threads for sharing payloads (Valkey).',
    {
      hidden: true,
    },
  ),
  'min-string-size-avoid-copy-reply-threaded': memory(
    '64kb',
    'Payloads shared with threads (Valkey).',
    {
      hidden: true,
    },
  ),
  unixsocketgroup: string('', 'Group of the Unix socket (Valkey).', {
    ...IMMUTABLE,
    closes: {
      harmless: [''],
      why: 'the Unix socket would keep the group of the process, whose members could connect',
      remedy:
        'Start the server with the group, or put the socket in a folder that only the group enters.',
    },
  }),
  'bind-source-addr': string('', 'Address of outgoing connections.'),
  'socket-mark-id': integer(0, [0, UINT_MAX], 'Mark of listening sockets.', {
    ...IMMUTABLE,
    closes: {
      harmless: ['0'],
      why: 'sockets would have no mark, so a firewall that looks for it would not find them',
      remedy: 'Match ports in the firewall, and remove the directive.',
    },
  }),
  mptcp: boolean('no', 'Multipath TCP (Valkey).', IMMUTABLE),
  'rdma-bind': string('', 'Addresses for RDMA (Valkey).'),
  'rdma-port': integer(0, [0, 65_535], 'Port for RDMA (Valkey).'),
  'rdma-rx-size': memory('1mb', 'Receive buffer for RDMA (Valkey).', IMMUTABLE),
  'rdma-completion-vector': integer(
    -1,
    [-1, INT_MAX],
    'Completion vector for RDMA (Valkey).',
    IMMUTABLE,
  ),
  'max-new-connections-per-cycle': integer(10, [1, 1000], 'Connections accepted in one turn.'),
  'max-new-tls-connections-per-cycle': integer(
    1,
    [1, 1000],
    'TLS connections accepted in one turn.',
  ),
  'commandlog-request-larger-than': integer(
    1_048_576,
    [-1, LONG_MAX],
    'Size of a logged request (Valkey).',
  ),
  'commandlog-large-request-max-len': integer(
    128,
    [0, LONG_MAX],
    'Entries of large requests (Valkey).',
  ),
  'commandlog-reply-larger-than': integer(
    1_048_576,
    [-1, LONG_MAX],
    'Size of a logged reply (Valkey).',
  ),
  'commandlog-large-reply-max-len': integer(
    128,
    [0, LONG_MAX],
    'Entries of large replies (Valkey).',
  ),
  'tracking-table-max-keys': integer(1_000_000, [0, LONG_MAX], 'Keys tracked for client caches.'),
  'enable-debug-command': choice('no', ['no', 'yes', 'local'], 'Who may DEBUG.', IMMUTABLE),
  'enable-module-command': choice('no', ['no', 'yes', 'local'], 'Who may MODULE.', IMMUTABLE),
  loadmodule: lines('Loads a module.', {
    mutable: false,
    fileOnly: true,
    closes: {
      harmless: MODULES_OF_DATA,
      why: 'no module is loaded, and one that restricts commands or logins would be missing',
      remedy: 'Restrict users with ACL rules, and remove the line.',
    },
  }),
  'tls-dh-params-file': string('', 'Diffie-Hellman parameters.'),
  'tls-session-cache-size': integer(20_480, [0, INT_MAX], 'Sessions cached.'),
  'tls-auth-clients-user': choice('off', ['off', 'CN', 'URI'], 'Log in by certificate (Valkey).', {
    closes: {
      harmless: ['off'],
      why: 'a certificate would log nobody in, and its client would have the rights of the default user',
      remedy: 'Turn the default user off, let clients AUTH, and remove the directive.',
    },
  }),
  'tls-auto-reload-interval': seconds(0, 'Look for new certificates (Valkey).', {
    closes: {
      harmless: ['0'],
      why: 'files would not be read again, so an authority that was withdrawn would go on counting',
      remedy: 'Send SIGHUP after a change of the files, and remove the directive.',
    },
  }),
})
