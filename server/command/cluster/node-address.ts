import { randomBytes } from 'node:crypto'
import type { Client } from '../../client/client.ts'
import type { ClusterView, NodeAddress } from './view.ts'
import type { Config } from '../../config/store.ts'

/** Between a node's port and its port on the cluster bus, where nothing else is said. */
const BUS_PORT_OFFSET = 10_000

const ID_BYTES = 20

/** What stands for a host name that is preferred but not set. */
const NO_HOSTNAME = '?'

/** The cluster of one node that `cluster-enabled yes` makes of this server; undefined without it. */
export function clusterView(config: Config): ClusterView | undefined {
  if (!config.boolean('cluster-enabled')) return undefined
  return {
    nodeId: randomBytes(ID_BYTES).toString('hex'),
    shardId: randomBytes(ID_BYTES).toString('hex'),
    addressFor: (client) => addressFor(config, client),
  }
}

/** What is announced, else the address that the client itself has reached. */
function addressFor(config: Config, client: Client): NodeAddress {
  const { transport, localAddress } = client.origin
  const isTls = transport === 'tls'
  const reached = transport === 'tcp' || isTls ? splitAddress(localAddress) : undefined
  const ip = config.text('cluster-announce-ip') || reached?.ip || '127.0.0.1'
  const announcedPort = config.integer(
    isTls ? 'cluster-announce-tls-port' : 'cluster-announce-port',
  )
  const port = announcedPort || reached?.port || config.integer('port')
  const hostname = config.text('cluster-announce-hostname')
  const busPort =
    config.integer('cluster-announce-bus-port') ||
    config.integer('cluster-port') ||
    port + BUS_PORT_OFFSET
  return { ip, port, isTls, busPort, hostname, endpoint: endpointOf(config, ip, hostname) }
}

function endpointOf(config: Config, ip: string, hostname: string): string | null {
  switch (config.choice('cluster-preferred-endpoint-type')) {
    case 'ip':
      return ip
    case 'hostname':
      return hostname || NO_HOSTNAME
    case 'unknown-endpoint':
      return null
  }
}

/** Takes `ip:port` or `[ip]:port` apart. */
function splitAddress(address: string): { ip: string; port: number } {
  const colon = address.lastIndexOf(':')
  const ip = address.slice(0, colon).replace(/^\[|\]$/g, '')
  return { ip: ip.replace(/^::ffff:/i, ''), port: Number(address.slice(colon + 1)) }
}
