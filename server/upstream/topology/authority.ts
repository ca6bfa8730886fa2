import type { LinkState } from '../backplane.ts'
import type { NodeFacts } from '../link/link.ts'
import { nodeText, type Node } from '../node.ts'

/** Says which node is the right one now. */
export interface Authority {
  /** Is told the node whenever it changes; undefined while there is none. */
  onChange(listener: (node: Node | undefined) => void): void
  /** Monotonic milliseconds: until then the node was the right one for certain. Meant for when it changes. */
  readonly certainMs: number
  /** The connections by which it knows. */
  readonly states: readonly LinkState[]
  /** Sentences, if there is no node. */
  readonly problems: readonly string[]
  /** Why a node is not used: a sentence with directive and remedy. */
  problemOf(facts: NodeFacts): string | undefined
  start(): void
  stop(): void
}

/** The node that the directive names. */
export function fixedNode(node: Node): Authority {
  let told: (node: Node | undefined) => void = () => {}
  return {
    onChange: (listener) => (told = listener),
    certainMs: Number.POSITIVE_INFINITY,
    states: [],
    problems: [],
    problemOf: ({ mode }) => {
      const address = nodeText(node)
      if (mode === 'cluster') {
        return `upstream: ${address} is a node of a cluster: write redis+cluster:// before it`
      }
      if (mode === 'sentinel') {
        return `upstream: ${address} is a sentinel: write redis+sentinel:// before it, and the name of the master behind it`
      }
      return undefined
    },
    start: () => told(node),
    stop: () => {},
  }
}
