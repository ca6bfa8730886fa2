import type { Timer } from '../../clock.ts'
import type { Authority } from './authority.ts'
import type { LinkState } from '../backplane.ts'
import type { LinkHost, NodeFacts } from '../link/link.ts'
import { isSameNode, nodeText, type Node } from '../node.ts'
import { SentinelLink, type Vote } from '../link/sentinel-link.ts'
import { openSocket } from '../link/socket.ts'
import { sentinelCredentials, upstreamTls } from '../settings.ts'
import type { UpstreamParts } from './shared-upstream.ts'

/**
 * Longest time, in ms, for which a sentinel that came to name another node makes the old one doubtful: until then the others
 * have followed it, or will not.
 */
const MOST_DOUBT_MS = 10_000

/** Problems are logged that last so long, in ms: sentinels answer one after another. */
const LOG_MS = 1_000

/**
 * The master that a majority of the sentinels names: of those that the directive lists, whether they answer or not, so that no two
 * majorities can differ.
 *
 * Source: the specification of Sentinel clients, https://redis.io/docs/latest/develop/reference/sentinel-clients/. A client there
 * asks one sentinel; a gateway serves many, and must not follow one that is cut off from the others.
 */
class Sentinels implements Authority {
  readonly #links: readonly SentinelLink[]
  readonly #host: LinkHost
  readonly #nodes: readonly Node[]
  readonly #masterName: string
  #told: (node: Node | undefined) => void = () => {}
  #master: Node | undefined
  #certainMs = 0
  #logged: string | undefined
  #timer: Timer | undefined

  constructor(links: LinkHost, nodes: readonly Node[], masterName: string) {
    this.#host = links
    this.#nodes = nodes
    this.#masterName = masterName
    this.#links = nodes.map(() => new SentinelLink(links, masterName, () => this.#judge()))
  }

  onChange(listener: (node: Node | undefined) => void): void {
    this.#told = listener
  }

  /** The last time that all answers named the master: clients who ask one sentinel may use another master since. */
  get certainMs(): number {
    return Math.max(this.#certainMs, this.#host.clock.monotonicMs() - MOST_DOUBT_MS)
  }

  get states(): readonly LinkState[] {
    return this.#links.map(({ state }) => state)
  }

  get problems(): readonly string[] {
    if (this.#master !== undefined) return []
    const votes = this.#votes()
    if (votes.filter(({ node }) => node === undefined).length >= majorityOf(this.#nodes.length)) {
      return [
        `upstream: the sentinels know no master '${this.#masterName}': correct the name behind the last /, or have them monitor it`,
      ]
    }
    const problems = this.#links.flatMap(({ problem }) => problem ?? [])
    return [...new Set([countVotes(votes, this.#nodes.length), ...problems])]
  }

  problemOf({ node, mode, role }: NodeFacts): string | undefined {
    if (mode === 'sentinel') {
      return `upstream: ${nodeText(node)}, which the sentinels name as master, is a sentinel itself: have them monitor a Redis`
    }
    if (mode === 'cluster') {
      return `upstream: ${nodeText(node)}, which the sentinels name as master, is a node of a cluster: write redis+cluster:// before nodes`
    }
    return role === 'master'
      ? undefined
      : `upstream: the sentinels name ${nodeText(node)} as master, and it is a replica until now`
  }

  start(): void {
    this.#timer = this.#host.clock.every(LOG_MS, () => this.#log())
    for (const [at, node] of this.#nodes.entries()) this.#links[at]?.connectTo(node)
  }

  stop(): void {
    this.#timer?.cancel()
    for (const link of this.#links) link.stop()
  }

  #votes(): Vote[] {
    return this.#links.flatMap(({ vote }) => vote ?? [])
  }

  #judge(): void {
    const votes = this.#votes()
    const master = chosen(votes, this.#nodes.length)
    if (!isSameNode(master, this.#master)) {
      this.#master = master
      this.#told(master)
      if (master !== undefined) {
        this.#host.log.info({ node: nodeText(master) }, 'the sentinels name a master')
      }
    }
    if (master !== undefined && votes.every(({ node }) => isSameNode(node, master))) {
      this.#certainMs = Math.min(...votes.map(({ askedMs }) => askedMs))
    }
  }

  #log(): void {
    const [problem] = this.problems
    if (problem !== undefined && problem !== this.#logged) {
      this.#host.log.warn({ role: 'sentinel' }, problem)
    }
    this.#logged = problem
  }
}

/** The smallest number of sentinels that is more than half of so many. */
function majorityOf(count: number): number {
  return Math.floor(count / 2) + 1
}

/** The node that a majority of so many sentinels names. */
function chosen(votes: readonly Vote[], count: number): Node | undefined {
  for (const { node } of votes) {
    const agreeing = votes.filter((vote) => isSameNode(vote.node, node)).length
    if (node !== undefined && agreeing >= majorityOf(count)) return node
  }
  return undefined
}

/** `upstream: no majority of the 3 sentinels agrees: 2 answer, 1 names 10.0.0.1:6379, 1 knows no such master`. */
function countVotes(votes: readonly Vote[], count: number): string {
  const named = new Map<string, number>()
  for (const { node } of votes) {
    const text = node === undefined ? '' : nodeText(node)
    named.set(text, (named.get(text) ?? 0) + 1)
  }
  const parts = [...named].map(([text, times]) =>
    text === ''
      ? `${times} ${times === 1 ? 'knows' : 'know'} no such master`
      : `${times} ${times === 1 ? 'names' : 'name'} ${text}`,
  )
  const answers = `${votes.length} of ${count} ${votes.length === 1 ? 'answers' : 'answer'}`
  return `upstream: no majority of the sentinels agrees on a master: ${[answers, ...parts].join(', ')}`
}

/** Everything that sentinels depend on. */
type SentinelParts = Omit<UpstreamParts, 'registry' | 'subscribers' | 'peerLog'>

/** The authority of `redis+sentinel://`. */
export function sentinelsOf(
  { settings, clock, log, random, atEndOfTurn, open = openSocket }: SentinelParts,
  isTls: boolean,
  nodes: readonly Node[],
  masterName: string,
): Authority {
  const links: LinkHost = {
    clock,
    log,
    random,
    atEndOfTurn,
    open,
    clientName: 'respcast',
    login: { user: 'upstream-sentinel-user', password: 'upstream-sentinel-password-file' },
    credentials: () => sentinelCredentials(settings),
    tls: isTls ? () => upstreamTls(settings) : undefined,
    problemOf: ({ node, mode }) =>
      mode === 'sentinel'
        ? undefined
        : `upstream: ${nodeText(node)} is no sentinel: name the sentinels, or write redis:// before a Redis alone`,
    ended: () => {},
  }
  return new Sentinels(links, nodes, masterName)
}
