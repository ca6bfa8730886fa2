import { Node, type NodeOptions } from './node.ts'
import type { Topology } from './topology.ts'

/** One server. */
export interface Standalone extends Topology {
  readonly node: Node
}

export async function startStandalone(options: NodeOptions = {}): Promise<Standalone> {
  const node = await Node.start(options)
  return {
    kind: 'standalone',
    url: `redis://${options.network?.gatewayHost(0) ?? node.host}:${node.port}`,
    node,
    nodes: [node],
    portFor: () => Promise.resolve(node.port),
    stop: () => node.stop(),
  }
}
