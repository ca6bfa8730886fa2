import type { Node } from './node.ts'

/** Says which node is the right one now. */
export interface Authority {
  /** Is told the node whenever it changes; undefined while there is none. */
  onChange(listener: (node: Node | undefined) => void): void
  /** One sentence if there is none. */
  readonly problem: string | undefined
  /** Why a node that runs in this mode of HELLO is not used: a sentence with directive and remedy. */
  problemOf(mode: string): string | undefined
  start(): void
  stop(): void
}

/** The node that the directive names. */
export function fixedNode(node: Node): Authority {
  let told: (node: Node | undefined) => void = () => {}
  return {
    onChange: (listener) => (told = listener),
    problem: undefined,
    problemOf: (mode) =>
      mode === 'standalone'
        ? undefined
        : mode === 'cluster'
          ? 'upstream: this is a node of a cluster: write redis+cluster:// before it'
          : 'upstream: this is a sentinel: write redis+sentinel:// before it, and the name of the master behind it',
    start: () => told(node),
    stop: () => {},
  }
}
