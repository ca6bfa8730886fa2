import { AT_START, boolean, choice, integer, string, PORT } from '../spec.ts'

/** The view of clients of Redis Cluster: one node, which owns all slots. */
export const CLUSTER = {
  'cluster-enabled': boolean(
    'no',
    'Be a cluster of one node, for clients that speak to clusters; sharded Pub/Sub is then bound to slots.',
    AT_START,
  ),
  'cluster-announce-ip': string(
    '',
    'Address that clients are told; empty is the one by which they reached this server.',
  ),
  'cluster-announce-port': integer(0, PORT, 'Port that clients are told; 0 is the one reached.'),
  'cluster-announce-tls-port': integer(
    0,
    PORT,
    'Port that clients over TLS are told; 0 is the one reached.',
  ),
  'cluster-announce-hostname': string('', 'Host name that clients are told; empty is none.'),
  'cluster-preferred-endpoint-type': choice(
    'ip',
    ['ip', 'hostname', 'unknown-endpoint'],
    'Which of the two clients connect to; `unknown-endpoint`: the host they know.',
  ),
  'cluster-port': integer(
    0,
    PORT,
    'Bus port in CLUSTER NODES; nothing listens there. 0 is the port and 10000.',
    AT_START,
  ),
  'cluster-announce-bus-port': integer(0, PORT, 'Bus port in CLUSTER NODES instead; 0 is none.'),
}
