import { randomBytes } from 'node:crypto'
import { SLOT_COUNT } from '../../../shared/key-slot.ts'
import { splitAddress } from '../../addresses.ts'
import type { Client } from '../../client/client.ts'
import type { Settings } from '../../config/settings.ts'
import type { ReplyWriter } from '../../resp/reply-writer.ts'
import { writeFields } from '../replies.ts'

/** The address of this node as one client sees it. */
interface NodeAddress {
  readonly ip: string
  readonly port: number
  readonly isTls: boolean
  /** Port of the cluster bus. It is not open, since there is no other node. */
  readonly busPort: number
  /** Empty if there is none. */
  readonly hostname: string
  /** Chosen by `cluster-preferred-endpoint-type`; null means the host that the client has reached. */
  readonly endpoint: string | null
}

/** This server as a cluster of one node, which owns all slots (`cluster-enabled yes`). */
export interface ClusterView {
  /** 40 hexadecimal digits. */
  readonly nodeId: string
  readonly shardId: string
  addressFor(client: Client): NodeAddress
}

/** Default distance from the port of a node to its port on the cluster bus. */
const BUS_PORT_OFFSET = 10_000

const ID_BYTES = 20

/** Answered for a host name that is preferred but not set. */
const NO_HOSTNAME = '?'

/** The cluster of one node that `cluster-enabled yes` makes of this server; undefined without it. */
export function clusterView(settings: Settings): ClusterView | undefined {
  if (!settings.boolean('cluster-enabled')) return undefined
  return {
    nodeId: randomBytes(ID_BYTES).toString('hex'),
    shardId: randomBytes(ID_BYTES).toString('hex'),
    addressFor: (client) => addressFor(settings, client),
  }
}

/** The announced address, or else the one that the client has reached. */
function addressFor(settings: Settings, client: Client): NodeAddress {
  const { transport, localAddress } = client.origin
  const isTls = transport === 'tls'
  const reached = transport === 'tcp' || isTls ? splitAddress(localAddress) : undefined
  const ip = settings.text('cluster-announce-ip') || reached?.ip || '127.0.0.1'
  const announcedPort = settings.integer(
    isTls ? 'cluster-announce-tls-port' : 'cluster-announce-port',
  )
  const port = announcedPort || reached?.port || settings.integer('port')
  const hostname = settings.text('cluster-announce-hostname')
  const busPort =
    settings.integer('cluster-announce-bus-port') ||
    settings.integer('cluster-port') ||
    port + BUS_PORT_OFFSET
  return { ip, port, isTls, busPort, hostname, endpoint: endpointOf(settings, ip, hostname) }
}

function endpointOf(settings: Settings, ip: string, hostname: string): string | null {
  switch (settings.choice('cluster-preferred-endpoint-type')) {
    case 'ip':
      return ip
    case 'hostname':
      return hostname || NO_HOSTNAME
    case 'unknown-endpoint':
      return null
  }
}

const LAST_SLOT = SLOT_COUNT - 1

/** CLUSTER SLOTS. */
export function writeSlots(reply: ReplyWriter, view: ClusterView, client: Client): void {
  const { endpoint, port, ip, hostname } = view.addressFor(client)
  const metadata: [string, string][] = []
  if (endpoint !== ip) metadata.push(['ip', ip])
  if (hostname !== '' && endpoint !== hostname) metadata.push(['hostname', hostname])
  reply.array(1)
  reply.array(3)
  reply.integer(0)
  reply.integer(LAST_SLOT)
  reply.array(4)
  if (endpoint === null) reply.null()
  else reply.bulk(endpoint)
  reply.integer(port)
  reply.bulk(view.nodeId)
  writeFields(reply, metadata)
}

/** CLUSTER SHARDS. */
export function writeShards(reply: ReplyWriter, view: ClusterView, client: Client): void {
  const { endpoint, port, isTls, ip, hostname } = view.addressFor(client)
  const fields: [string, string | number][] = [
    ['id', view.nodeId],
    [isTls ? 'tls-port' : 'port', port],
    ['ip', ip],
    ['endpoint', endpoint ?? ''],
    ...(hostname === '' ? [] : [['hostname', hostname] satisfies [string, string]]),
    ['role', 'master'],
    ['replication-offset', 0],
    ['health', 'online'],
  ]
  reply.array(1)
  reply.map(2)
  reply.bulk('slots')
  reply.array(2)
  reply.integer(0)
  reply.integer(LAST_SLOT)
  reply.bulk('nodes')
  reply.array(1)
  writeFields(reply, fields)
}

/** The one line of CLUSTER NODES. */
export function nodesText(view: ClusterView, client: Client): string {
  const { ip, port, busPort, hostname } = view.addressFor(client)
  const name = hostname === '' ? '' : `,${hostname}`
  return `${view.nodeId} ${ip}:${port}@${busPort}${name} myself,master - 0 0 1 connected 0-${LAST_SLOT}\n`
}

/** CLUSTER INFO. */
export function clusterInfoText(): string {
  const fields: readonly (readonly [string, string | number])[] = [
    ['cluster_state', 'ok'],
    ['cluster_slots_assigned', SLOT_COUNT],
    ['cluster_slots_ok', SLOT_COUNT],
    ['cluster_slots_pfail', 0],
    ['cluster_slots_fail', 0],
    ['cluster_known_nodes', 1],
    ['cluster_size', 1],
    ['cluster_current_epoch', 1],
    ['cluster_my_epoch', 1],
    ['cluster_stats_messages_sent', 0],
    ['cluster_stats_messages_received', 0],
    ['total_cluster_links_buffer_limit_exceeded', 0],
  ]
  return fields.map(([name, value]) => `${name}:${value}\r\n`).join('')
}
