import type { Node } from './node.ts'

/** Servers that gateways can have as their upstream. */
export interface Topology {
  readonly kind: 'standalone' | 'sentinel' | 'cluster'
  /** The value of the directive `upstream`. */
  readonly url: string
  /** Every process, sentinels excepted. */
  readonly nodes: readonly Node[]
  /** Where native clients of a channel publish and subscribe: the master, or the owner of the channel's slot. */
  portFor(channel: string): Promise<number>
  stop(): Promise<void>
}
