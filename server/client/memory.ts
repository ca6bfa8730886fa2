import type { Client } from './client.ts'

/** Cost of an idle connection: client, parser, queues and the socket's object. A round estimate. */
const CONNECTION_BYTES = 4_096

/** Cost of a subscription beyond its name: its places in the indexes of both sides. A round estimate. */
const SUBSCRIPTION_BYTES = 128

/**
 * Estimate of the memory that one client holds, in bytes: CLIENT LIST's `tot-mem`, and what `maxmemory-clients` adds
 * up. Its output, its unfinished input, its transaction and its subscriptions. Constant time: names of channels are
 * not measured.
 */
export function clientMemory(client: Client): number {
  const { subscriptions, transaction } = client
  return (
    CONNECTION_BYTES +
    client.output.heldBytes +
    client.queryBytes +
    (transaction?.bytes ?? 0) +
    (subscriptions.count + subscriptions.shardCount) * SUBSCRIPTION_BYTES
  )
}
