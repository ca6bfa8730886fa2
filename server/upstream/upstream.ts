import { RespcastError } from '../errors.ts'
import { fixedNode } from './authority.ts'
import { alone, type Backplane } from './backplane.ts'
import type { UpstreamParts } from './shared-upstream.ts'
import { ClusterUpstream } from './cluster.ts'
import { upstreamOf } from './settings.ts'
import { SingleUpstream } from './single.ts'

/**
 * The backplane that the directive `upstream` asks for.
 *
 * @throws RespcastError `ERR_CONFIG`: it cannot be read.
 */
export function createBackplane(parts: UpstreamParts): Backplane {
  const address = upstreamOf(parts.settings)
  if (address === undefined) return alone(parts.registry)
  if (address.kind === 'cluster') return new ClusterUpstream(parts, address.tls, address.nodes)
  const [node] = address.nodes
  if (address.kind !== 'standalone' || node === undefined) {
    throw new RespcastError('ERR_CONFIG', `upstream: ${address.kind} is not known`)
  }
  return new SingleUpstream(parts, address.tls, fixedNode(node))
}
