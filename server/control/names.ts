/** The keys and channels of a namespace at the upstream: byte strings with one hash tag, so that a cluster keeps them together. */
export interface ControlNames {
  readonly log: string
  readonly state: string
  readonly nodes: string
  /** The channel of entries. */
  readonly entries: string
  /** The channel of questions to all gateways. */
  readonly questions: string
  /** The channel of confirmations and answers for a gateway. */
  acknowledgementsOf(node: string): string
}

/** The names of a namespace. */
export function controlNames(namespace: string): ControlNames {
  const tag = `{respcast:${namespace}}`
  return {
    log: `${tag}:log`,
    state: `${tag}:state`,
    nodes: `${tag}:nodes`,
    entries: `${tag}:ctl`,
    questions: `${tag}:ask`,
    acknowledgementsOf: (node) => `${tag}:ack:${node}`,
  }
}
