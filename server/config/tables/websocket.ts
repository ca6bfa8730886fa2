import {
  AT_START,
  INT_MAX,
  boolean,
  choice,
  integer,
  list,
  memory,
  seconds,
  string,
  PORT,
} from '../spec.ts'
import { checkNetworks, hostProblem, httpPathProblem } from '../checks.ts'
import { originProblem } from '../origins.ts'

/** The public HTTP listener (WebSocket and the page) and the administrators' one. */
export const HTTP = {
  'http-port': integer(8080, PORT, 'Port of the public HTTP listener; 0 turns it off.', AT_START),
  'http-bind': list('127.0.0.1 -::1', 'Addresses of the public HTTP listener.', AT_START),
  'http-tls': boolean(
    'no',
    'Serve both HTTP listeners over TLS, with the certificate of `tls-cert-file`.',
    AT_START,
  ),
  'admin-port': integer(
    8081,
    PORT,
    'Port of the console, `/metrics`, `/livez` and `/readyz`; 0 is off.',
    AT_START,
  ),
  'admin-bind': list('127.0.0.1 -::1', "Addresses of the administrators' listener.", AT_START),
  'admin-hosts': list(
    '',
    "Host values the administrators' listener answers, beside the address that was asked; on loopback also localhost.",
    { check: hostProblem },
  ),
  'http-max-connections': integer(
    1_024,
    [1, INT_MAX],
    'Connections of the public HTTP listener that are no WebSockets; the one that waited longest gives way to a newcomer.',
    AT_START,
  ),
  'admin-max-connections': integer(
    64,
    [1, INT_MAX],
    "The same for the administrators' listener.",
    AT_START,
  ),
  'http-connection-rate-per-ip': integer(
    0,
    [0, INT_MAX],
    'Connections per address (IPv6: per /64) to an HTTP listener, twice as many at once; 0 is no limit.',
    { beyondLoopback: '50', unit: 'per second' },
  ),
  'admin-insecure': boolean(
    'no',
    'Accept `admin-bind` beyond loopback in plain HTTP, and answer `/metrics` there without a token.',
    AT_START,
  ),
  'metrics-token': string(
    '',
    'Token that `/metrics` wants: `Authorization: Bearer`, or the password of Basic; file or environment only.',
    { secret: true, sensitive: true },
  ),
  'metrics-token-file': string('', 'A file that holds the token.', { volatile: true }),
  'trusted-proxies': list(
    '',
    'Addresses (CIDR) whose X-Forwarded-For and X-Forwarded-Host count, and with `proxy-protocol yes` their PROXY headers.',
    { ...AT_START, check: checkNetworks },
  ),
}

/** Publishing by HTTP requests, and streams of events, on the public listener. */
export const HTTP_MESSAGES = {
  'http-events-path': string(
    '/events',
    'Path at which messages come as server-sent events; empty is nowhere.',
    { ...AT_START, check: httpPathProblem },
  ),
  'http-publish-path': string(
    '/publish',
    'Path at which requests publish, as `POST /publish/<channel>`; empty is nowhere.',
    { ...AT_START, check: httpPathProblem },
  ),
  'http-max-payload': memory('64kb', 'Largest body of a request that publishes.', {
    range: [1024, INT_MAX],
  }),
  'http-publish-rate-per-ip': integer(
    0,
    [0, INT_MAX],
    'Messages published by requests, and requests that try, per address (IPv6: per /64); 0 is no limit.',
    { beyondLoopback: '200', unit: 'per second' },
  ),
  'http-publish-rate-per-user': integer(
    0,
    [0, INT_MAX],
    'Messages published by requests per user name; 0 is no limit.',
    { beyondLoopback: '50', unit: 'per second' },
  ),
  'http-idempotency-window': seconds(
    300,
    'Time for which a repeated `Idempotency-Key` is answered without publishing again; 0 ignores the header.',
  ),
}

/** WebSocket: origins, credentials, and limits of one connection. */
export const WEBSOCKET = {
  'ws-path': string('/ws', 'Path of the WebSocket on both HTTP listeners.', {
    ...AT_START,
    check: ([path]) =>
      path?.startsWith('/') ? undefined : 'argument must be a path that starts with /',
  }),
  'ws-allowed-origins': list(
    '',
    'Origins that may connect, such as `https://app.example.com`, `https://*.example.com`, or `*`; empty is the same origin only.',
    { check: originProblem },
  ),
  'ws-password-auth': boolean('no', 'Let ACL users with a password log in on the public listener.'),
  'ws-token-cookie': string(
    '',
    'Cookie that may hold a token; needs `ws-allowed-origins` without `*`.',
  ),
  'ws-token-query': boolean('no', 'Take a token from the query string, where proxies log it.'),
  'auth-timeout': seconds(5, 'Time a WebSocket has to log in before it is closed with 4408.', {
    min: 1,
  }),
  'ws-revocation': choice(
    'close',
    ['close', 'unsubscribe'],
    'What a lost permission does to a WebSocket.',
  ),
  'ws-ping-interval': seconds(
    25,
    'Longest time between two pings, which come up to 20 % earlier; 0 is never.',
  ),
  'ws-pong-timeout': seconds(10, 'Time a peer has to answer a ping.', { min: 1 }),
  'ws-permessage-deflate': boolean(
    'no',
    'Offer compression; it costs about 100 kB a connection.',
    AT_START,
  ),
  'ws-max-payload': memory('64kb', 'Largest message, and largest command, from a WebSocket.', {
    range: [1024, INT_MAX],
  }),
  'ws-max-arguments': integer(128, [8, INT_MAX], 'Arguments of one command from a WebSocket.'),
  'ws-max-message-out': memory(
    '16mb',
    'Larger messages are not delivered to WebSockets; 0 is no limit.',
  ),
  'ws-max-subscriptions': integer(
    256,
    [0, INT_MAX],
    'Channels and shard channels per WebSocket; 0 is no limit.',
  ),
  'ws-max-patterns': integer(16, [0, INT_MAX], 'Patterns per WebSocket; 0 is no limit.'),
  'ws-max-distinct-patterns': integer(
    10_000,
    [0, INT_MAX],
    'Distinct patterns that only WebSockets hold, all of them together; 0 is no limit.',
  ),
  'ws-pattern-steps': integer(
    1_000_000,
    [0, INT_MAX],
    'Steps of about 2 ns that a message may cost at costly patterns of WebSockets; those beyond are dropped. 0 is no limit.',
  ),
  'ws-max-pattern-length': memory('512', 'Longest pattern from a WebSocket; 0 is no limit.'),
  'ws-max-connections-per-ip': integer(
    0,
    [0, INT_MAX],
    'WebSockets per address (IPv6: per /64); 0 is no limit.',
    { beyondLoopback: '256' },
  ),
  'ws-max-unauthenticated': integer(
    1_000,
    [0, INT_MAX],
    'WebSockets of the public listener that have not logged in; the oldest gives way to a newcomer; 0 is no limit.',
  ),
  'ws-max-unauthenticated-per-ip': integer(
    250,
    [0, INT_MAX],
    'The same per address (IPv6: per /64); 0 is no limit.',
  ),
  'ws-max-connections-per-user': integer(
    0,
    [0, INT_MAX],
    'WebSockets per user name; 0 is no limit.',
    { beyondLoopback: '32' },
  ),
  'ws-max-queued-commands': integer(
    128,
    [0, INT_MAX],
    'Commands of one transaction per WebSocket; 0 is no limit.',
  ),
  'ws-turn-budget': integer(
    1_000,
    [0, INT_MAX],
    'Work of a WebSocket before the other connections get their turn; 0 is no limit.',
    { unit: 'microseconds' },
  ),
  'ws-command-rate': integer(0, [0, INT_MAX], 'Commands per WebSocket; 0 is no limit.', {
    beyondLoopback: '100',
    unit: 'per second',
  }),
  'ws-publish-rate': integer(0, [0, INT_MAX], 'Messages published per WebSocket; 0 is no limit.', {
    beyondLoopback: '50',
    unit: 'per second',
  }),
  'ws-subscription-rate': integer(
    0,
    [0, INT_MAX],
    'Names subscribed to per WebSocket; 0 is no limit.',
    { beyondLoopback: '200', unit: 'per second' },
  ),
  'ws-input-rate': memory('0', 'Bytes received per WebSocket; 0 is no limit.', {
    beyondLoopback: '1mb',
    unit: 'bytes per second',
  }),
}
