import { AT_START, INT_MAX, LONG_MAX, choice, integer, memory, seconds, string } from '../spec.ts'

/** The Redis or Valkey that several gateways share. */
export const UPSTREAM = {
  // A URL with a password is refused, and not shown.
  upstream: string(
    '',
    'The Redis or Valkey behind the gateways: `redis://host:port`, `redis+sentinel://host,host,host/name` or `redis+cluster://host,host`; `rediss` in place of `redis` is TLS. Empty: this server alone.',
    { ...AT_START, sensitive: 'refused' },
  ),
  'upstream-user': string(
    '',
    'ACL user to log in as; empty is `default`. Needs a password.',
    AT_START,
  ),
  'upstream-password': string('', 'Its password; file or environment only.', {
    ...AT_START,
    secret: true,
    sensitive: true,
  }),
  'upstream-password-file': string(
    '',
    'A file that holds the password; read again at each connect.',
    AT_START,
  ),
  'upstream-sentinel-user': string('', 'The same for the sentinels.', AT_START),
  'upstream-sentinel-password-file': string(
    '',
    'The same for the sentinels; empty: they want no password.',
    AT_START,
  ),
  'upstream-tls-ca-cert-file': string(
    '',
    'Authorities that certificates of the upstream must come from (PEM); empty: those that Node.js trusts.',
    AT_START,
  ),
  'upstream-tls-cert-file': string('', 'Certificate to present to the upstream (PEM).', AT_START),
  'upstream-tls-key-file': string('', 'Private key of that certificate (PEM).', AT_START),
  'upstream-tls-server-name': string(
    '',
    'Name that certificates of the upstream must be for, and SNI; empty is the host of each connection.',
    AT_START,
  ),
  'upstream-gap-ws': choice(
    'push',
    ['push', 'close'],
    'What a WebSocket gets that may have missed messages: a push `gap`, or its end, so that it reconnects.',
  ),
  'upstream-gap-tcp': choice(
    'close',
    ['close', 'ignore'],
    'The same for TCP clients, whose libraries know reconnects and no push.',
  ),
  'upstream-max-channels': integer(
    1_000_000,
    [1, INT_MAX],
    'Names that this gateway subscribes to upstream; further ones are refused.',
  ),
  'upstream-max-covers': integer(
    32,
    [1, 1024],
    'Patterns that this gateway subscribes to upstream, for any number of patterns here; beyond, they are widened.',
  ),
  'upstream-linger': seconds(
    10,
    'Time for which a name stays subscribed upstream after its last subscriber here, varied by 50 % either way.',
  ),
  'upstream-max-lingering': integer(
    10_000,
    [0, INT_MAX],
    'Names that stay so at a time; beyond, they are left at once.',
  ),
  'upstream-max-in-flight': memory(
    '16mb',
    'Messages that are on their way to the upstream; beyond, publishers are not read.',
    { range: [65_536, LONG_MAX] },
  ),
}
