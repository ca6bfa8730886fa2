import { startCluster, type Cluster } from '../support/topologies/cluster.ts'
import { GatewayProcess } from '../support/topologies/gateway.ts'
import { Network } from '../support/topologies/network.ts'
import type { Program } from '../support/topologies/node.ts'
import { startSentinelTrio, type SentinelTrio } from '../support/topologies/sentinel.ts'
import { startStandalone, type Standalone } from '../support/topologies/standalone.ts'
import { TcpProxy } from '../support/topologies/tcp-proxy.ts'

/** What is put on a stage. */
export interface StageOptions {
  readonly topology: 'standalone' | 'sentinel' | 'cluster'
  readonly program: Program
  readonly gateways: number
  /** The upstream has a network namespace, and no proxies; for one server, and root. */
  readonly hasNetwork?: boolean
  /** What a subscriber may leave unread at the upstream, in kB; 256 by default, so that a gateway that stops is cut. */
  readonly outputLimitKb?: number
  /** The folder of the built program. */
  readonly dist?: string
  /** More of the command line of each gateway. */
  readonly directives?: readonly string[]
}

/** An upstream of one kind. */
export type Upstream =
  | { readonly kind: 'standalone'; readonly servers: Standalone }
  | { readonly kind: 'sentinel'; readonly servers: SentinelTrio }
  | { readonly kind: 'cluster'; readonly servers: Cluster }

/** A running upstream with its gateways. */
export interface Stage {
  readonly upstream: Upstream
  readonly gateways: readonly GatewayProcess[]
  /** Before a server that has no network of its own, one for each gateway. */
  readonly proxies: readonly TcpProxy[]
  readonly network: Network | undefined
  stop(): Promise<void>
}

/** Starts an upstream, proxies and gateways. */
export async function startStage(options: StageOptions): Promise<Stage> {
  const network = options.hasNetwork ? Network.open(options.gateways) : undefined
  const upstream = await startUpstream(options, network)
  const { servers } = upstream
  const proxies: TcpProxy[] = []
  const gateways: GatewayProcess[] = []
  const stop = async (): Promise<void> => {
    await Promise.all(gateways.map((gateway) => gateway.stop()))
    await Promise.all(proxies.map((proxy) => proxy.stop()))
    await servers.stop()
    network?.close()
  }
  try {
    const urls: string[] = []
    for (let at = 0; at < options.gateways; at++) {
      if (network) {
        urls.push(`redis://${network.gatewayHost(at)}:${servers.nodes[0]?.port}`)
        continue
      }
      if (upstream.kind !== 'standalone') {
        urls.push(servers.url)
        continue
      }
      const proxy = await TcpProxy.start(upstream.servers.node.port)
      proxies.push(proxy)
      urls.push(`redis://127.0.0.1:${proxy.port}`)
    }
    const dist = options.dist === undefined ? {} : { dist: options.dist }
    const starts = await Promise.allSettled(
      urls.map((url, at) => {
        const directives = ['--node-name', `g${at}`, ...(options.directives ?? [])]
        return GatewayProcess.start({ upstream: url, directives, ...dist })
      }),
    )
    for (const start of starts) if (start.status === 'fulfilled') gateways.push(start.value)
    const failed = starts.find((start) => start.status === 'rejected')
    if (failed) throw failed.reason
  } catch (error) {
    await stop()
    throw error
  }
  return { upstream, gateways, proxies, network, stop }
}

async function startUpstream(
  { topology, program, outputLimitKb = 256 }: StageOptions,
  network: Network | undefined,
): Promise<Upstream> {
  const limit = ['--client-output-buffer-limit', `pubsub ${outputLimitKb}kb 0 0`]
  const options = { program, directives: limit }
  switch (topology) {
    case 'standalone':
      return {
        kind: topology,
        servers: await startStandalone({ ...options, ...(network ? { network } : {}) }),
      }
    case 'sentinel':
      return { kind: topology, servers: await startSentinelTrio(options) }
    case 'cluster':
      return { kind: topology, servers: await startCluster(options) }
  }
}
