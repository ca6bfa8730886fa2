import { RespcastError } from '../errors.ts'
import { fixedNode } from './topology/authority.ts'
import { alone, type Backplane } from './backplane.ts'
import type { UpstreamParts } from './topology/shared-upstream.ts'
import { ClusterUpstream } from './topology/cluster.ts'
import { upstreamOf } from './settings.ts'
import { sentinelsOf } from './topology/sentinel.ts'
import { SingleUpstream } from './topology/single.ts'

/**
 * The backplane that the directive `upstream` asks for.
 *
 * @throws RespcastError `ERR_CONFIG`: it cannot be read.
 */
export function createBackplane(parts: UpstreamParts): Backplane {
  const address = upstreamOf(parts.settings)
  if (address === undefined) return alone(parts.registry)
  const { kind, tls, nodes, masterName = '' } = address
  const [node] = nodes
  switch (kind) {
    case 'standalone':
      if (node === undefined) throw new RespcastError('ERR_CONFIG', 'upstream: a host is missing')
      return new SingleUpstream(parts, tls, fixedNode(node))
    case 'sentinel':
      return new SingleUpstream(parts, tls, sentinelsOf(parts, tls, nodes, masterName))
    case 'cluster':
      return new ClusterUpstream(parts, tls, nodes)
  }
}
