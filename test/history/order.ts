import type { Message } from './history.ts'
import { idOf } from './intervals.ts'

/** Messages in the order in which somebody saw them. */
export interface Sequence {
  readonly witness: string
  readonly messages: readonly Message[]
}

/**
 * Looks for an order of the messages that nobody contradicts: the sequences, each publisher for what was published with success, and
 * time itself: what is sent after another was answered comes after it.
 *
 * A message of unknown outcome may have been published at any later time, so that neither publisher nor time puts it before another.
 *
 * @returns A circle of messages, each before the next, or undefined if there is an order.
 */
export function contradiction(
  messages: readonly Message[],
  sequences: readonly Sequence[],
): string | undefined {
  const graph = new Graph()
  const nodes = new Map<Message, number>()
  const nodeOf = (message: Message): number => {
    let node = nodes.get(message)
    if (node === undefined) nodes.set(message, (node = graph.add(idOf(message))))
    return node
  }
  for (const { witness, messages: seen } of sequences) {
    for (let at = 1; at < seen.length; at++) {
      const [before, after] = [seen[at - 1] as Message, seen[at] as Message]
      if (before !== after) graph.link(nodeOf(before), nodeOf(after), witness)
    }
  }
  const bySending = messages
    .filter(({ outcome }) => outcome !== 'not-published')
    .toSorted((a, b) => a.sent.tick - b.sent.tick)
  const last = new Map<string, Message>()
  for (const message of bySending) {
    if (message.outcome !== 'published') continue
    const before = last.get(message.publisher)
    if (before) graph.link(nodeOf(before), nodeOf(message), message.publisher)
    last.set(message.publisher, message)
  }
  // One node for each answer, in a chain: whatever is sent later comes after all of them.
  const answers = bySending
    .filter(({ outcome, answered }) => outcome === 'published' && answered)
    .toSorted((a, b) => (a.answered?.tick ?? 0) - (b.answered?.tick ?? 0))
  let moment: number | undefined
  let sent = 0
  for (const answer of answers) {
    for (; sent < bySending.length; sent++) {
      const message = bySending[sent] as Message
      if (message.sent.tick > (answer.answered?.tick ?? 0)) break
      if (moment !== undefined) graph.link(moment, nodeOf(message), 'time')
    }
    const next = graph.add(undefined)
    if (moment !== undefined) graph.link(moment, next, 'time')
    graph.link(nodeOf(answer), next, 'time')
    moment = next
  }
  if (moment !== undefined) {
    for (; sent < bySending.length; sent++)
      graph.link(moment, nodeOf(bySending[sent] as Message), 'time')
  }
  return graph.circle()
}

/** A directed graph whose edges say who wants them. */
class Graph {
  readonly #labels: (string | undefined)[] = []
  readonly #from: number[] = []
  readonly #to: number[] = []
  readonly #reasons: string[] = []

  add(label: string | undefined): number {
    return this.#labels.push(label) - 1
  }

  link(from: number, to: number, reason: string): void {
    this.#from.push(from)
    this.#to.push(to)
    this.#reasons.push(reason)
  }

  /** Takes away what nothing comes before, as long as there is such a node: circles remain. */
  circle(): string | undefined {
    const waiting = new Uint32Array(this.#labels.length)
    const starts = new Uint32Array(this.#labels.length + 1)
    for (let edge = 0; edge < this.#to.length; edge++) {
      const [from, to] = [this.#from[edge] as number, this.#to[edge] as number]
      waiting[to] = (waiting[to] ?? 0) + 1
      starts[from + 1] = (starts[from + 1] ?? 0) + 1
    }
    for (let node = 0; node < this.#labels.length; node++)
      starts[node + 1] = (starts[node + 1] as number) + (starts[node] as number)
    const fill = starts.slice()
    const ordered = new Uint32Array(this.#to.length)
    for (let edge = 0; edge < this.#to.length; edge++) {
      const from = this.#from[edge] as number
      const place = fill[from] as number
      ordered[place] = edge
      fill[from] = place + 1
    }
    const free: number[] = []
    for (let node = 0; node < this.#labels.length; node++) if (waiting[node] === 0) free.push(node)
    let left = this.#labels.length
    for (let node = free.pop(); node !== undefined; node = free.pop()) {
      left--
      for (let at = starts[node] as number; at < (starts[node + 1] as number); at++) {
        const next = this.#to[ordered[at] as number] as number
        const others = (waiting[next] as number) - 1
        waiting[next] = others
        if (others === 0) free.push(next)
      }
    }
    return left === 0 ? undefined : this.#describeCircle(waiting)
  }

  /** Goes back from a node that is left, always to one that is left too, until it meets itself. */
  #describeCircle(waiting: Uint32Array): string {
    const before = new Map<number, number>()
    for (let edge = 0; edge < this.#to.length; edge++) {
      if ((waiting[this.#from[edge] as number] as number) > 0)
        before.set(this.#to[edge] as number, edge)
    }
    const path: number[] = []
    const met = new Map<number, number>()
    let node = waiting.findIndex((count) => count > 0)
    while (!met.has(node)) {
      met.set(node, path.length)
      const edge = before.get(node) as number
      path.push(edge)
      node = this.#from[edge] as number
    }
    const steps = path.slice(met.get(node)).reverse()
    const text = (edge: number): string => {
      const label = this.#labels[this.#from[edge] as number]
      return label === undefined ? '' : `${label} -[${this.#reasons[edge]}]-> `
    }
    const shownSteps = steps.map(text).filter((step) => step !== '')
    const first = this.#labels[this.#from[steps[0] as number] as number] ?? ''
    return `${shownSteps.slice(0, 12).join('')}${shownSteps.length > 12 ? '... ' : ''}${first}`
  }
}
