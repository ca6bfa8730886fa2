import { checkTlsVersions } from '../checks.ts'
import {
  AT_START,
  INT_MAX,
  LONG_MAX,
  UINT_MAX,
  ULONG_MAX,
  boolean,
  bufferLimits,
  choice,
  integer,
  list,
  memory,
  memoryOrPercent,
  octal,
  seconds,
  string,
  PORT,
} from '../spec.ts'

const AUTH_CLIENTS = ['no', 'yes', 'optional'] as const
const ONE_MEBIBYTE = 1_048_576

/** RESP over TCP and Unix sockets. */
export const LISTENERS = {
  port: integer(6380, PORT, 'TCP port for RESP; 0 turns the listener off.', AT_START),
  bind: list(
    '127.0.0.1 -::1',
    'Addresses for RESP; one behind `-` may be missing, `*` is all.',
    AT_START,
  ),
  unixsocket: string('', 'Path of a Unix socket for RESP; empty is none.', AT_START),
  unixsocketperm: octal(
    '0',
    [0, 0o777],
    'Permissions of the Unix socket, octal; 0 leaves the umask.',
    AT_START,
  ),
  'tcp-backlog': integer(511, [0, INT_MAX], 'Connections that may wait to be accepted.', AT_START),
  'protected-mode': boolean(
    'yes',
    'While the default user has no password, answer loopback connections only.',
  ),
  'proxy-protocol': boolean(
    'no',
    'Each connection to `port` and `tls-port` comes from one of `trusted-proxies`, and begins with a PROXY header (version 1 or 2).',
    AT_START,
  ),
  'tcp-keepalive': seconds(300, 'Idle time before the kernel probes a RESP connection; 0 is off.'),
  timeout: seconds(
    0,
    'Idle time after which a RESP client without subscriptions is closed; 0 is never.',
  ),
  maxclients: integer(
    10_000,
    [1, UINT_MAX],
    'Clients over all listeners; lowered at start to what the limit of open files allows.',
    { unit: 'connections' },
  ),
  'maxclients-reserve': integer(
    100,
    [0, INT_MAX],
    'Places of `maxclients` that public WebSockets may not take, at most a quarter of them: they are for RESP.',
    { unit: 'connections' },
  ),
}

/** TLS for `tls-port` and, with `http-tls`, the HTTP listeners. */
export const TLS = {
  'tls-port': integer(0, PORT, 'TCP port for RESP over TLS; 0 turns the listener off.', AT_START),
  'tls-cert-file': string('', 'Certificate chain (PEM).', { volatile: true }),
  'tls-key-file': string('', 'Private key of the certificate (PEM).', { volatile: true }),
  'tls-key-file-pass': string('', 'Passphrase of the private key.', { sensitive: true }),
  'tls-ca-cert-file': string('', 'Authorities that client certificates must come from (PEM).', {
    volatile: true,
  }),
  'tls-ca-cert-dir': string(
    '',
    'Directory of such authorities: hashed names of OpenSSL if it has any, else all PEM files in it.',
    { volatile: true },
  ),
  'tls-auth-clients': choice(
    'yes',
    AUTH_CLIENTS,
    'Whether a client of `tls-port` must present a certificate of these authorities; `optional`: none, or a valid one.',
  ),
  'http-tls-auth-clients': choice(
    'no',
    AUTH_CLIENTS,
    'The same for the public HTTP listener with `http-tls`.',
  ),
  'admin-tls-auth-clients': choice(
    'no',
    AUTH_CLIENTS,
    "The same for the administrators' listener with `http-tls`.",
  ),
  'tls-client-cert-file': string(
    '',
    'Certificate that `respcast healthcheck` presents; no other connection goes out over TLS by it.',
  ),
  'tls-client-key-file': string('', 'Key of that certificate.'),
  'tls-client-key-file-pass': string('', 'Passphrase of that key.', { sensitive: true }),
  'tls-protocols': list('', 'TLS versions, of `TLSv1.2 TLSv1.3`; empty is both.', {
    check: checkTlsVersions,
  }),
  'tls-ciphers': string('', 'Ciphers for TLS 1.2, in OpenSSL notation; empty is the default list.'),
  'tls-ciphersuites': string('', 'Cipher suites for TLS 1.3; empty is the default list.'),
  'tls-prefer-server-ciphers': boolean('no', "Choose by the server's order of ciphers."),
  'tls-session-caching': boolean('yes', 'Let clients resume a TLS session.'),
  'tls-session-cache-timeout': seconds(300, 'Time for which a session may be resumed.'),
}

/** Limits that Redis has, with its defaults; the stricter ones for TCP are off. */
export const LIMITS = {
  'proto-max-bulk-len': memory('512mb', 'Largest argument of a command.', {
    range: [ONE_MEBIBYTE, LONG_MAX],
  }),
  'client-query-buffer-limit': memory(
    '1gb',
    'Unparsed input and queued commands that one client may hold.',
    {
      range: [ONE_MEBIBYTE, LONG_MAX],
    },
  ),
  'client-output-buffer-limit': bufferLimits(
    'normal 0 0 0 replica 256mb 64mb 60 pubsub 32mb 8mb 60 websocket 1mb 256kb 10',
    'Output a client may leave unread: class, hard limit, soft limit, seconds above soft; 0 is none.',
  ),
  'maxmemory-clients': memoryOrPercent(
    '0',
    'Memory of all clients, above which the largest are closed; 0 is none.',
  ),
  maxmemory: memory('0', 'Base of percentages in `maxmemory-clients`; limits nothing else.', {
    range: [0, ULONG_MAX],
  }),
  'min-string-size-avoid-copy-reply': memory(
    '16kb',
    'Payloads from this size on are shared among subscribers, smaller ones are copied together.',
  ),
  'tcp-max-subscriptions': integer(
    0,
    [0, INT_MAX],
    'Channels and shard channels per TCP client; 0 is no limit.',
  ),
  'tcp-max-patterns': integer(0, [0, INT_MAX], 'Patterns per TCP client; 0 is no limit.'),
  'tcp-max-channel-length': memory('0', 'Longest channel name of a TCP client; 0 is no limit.'),
  'tcp-max-pattern-length': memory('0', 'Longest pattern of a TCP client; 0 is no limit.'),
  'tcp-max-queued-commands': integer(
    65_536,
    [0, INT_MAX],
    'Commands of one transaction per TCP client; 0 is no limit.',
  ),
  'tcp-turn-budget': integer(
    2_000,
    [0, INT_MAX],
    'Work of a TCP client before the other connections get their turn; 0 is no limit.',
    { unit: 'microseconds' },
  ),
  'tcp-max-connections-per-ip': integer(
    0,
    [0, INT_MAX],
    'TCP connections per address; 0 is no limit.',
  ),
  'tcp-connection-rate-per-ip': integer(
    0,
    [0, INT_MAX],
    'New TCP connections per address (IPv6: per /64), twice as many at once; 0 is no limit.',
    { unit: 'per second' },
  ),
  'auth-failure-delay': integer(
    1000,
    [0, 60_000],
    'Longest wait for the answer to a failed login, after ten of one address (IPv6: of a /64) without a pause of a minute; 0 is no wait.',
    { unit: 'ms' },
  ),
  'tcp-max-unauthenticated': integer(
    0,
    [0, INT_MAX],
    'TCP clients that have to log in and have not; the oldest gives way to a newcomer; 0 is no limit.',
  ),
  'tcp-auth-timeout': seconds(0, 'Time a TCP client has to log in, where it must; 0 is no limit.'),
}
