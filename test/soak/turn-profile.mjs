/** Profiler of the longest turns of an event loop, inside the server under attack. */
import { Session } from 'node:inspector/promises'

/** Turns that took longer are told of, in ms of processor time; and so many of them, the longest first. */
const LONG_TURN_MS = 20
const TURNS_TOLD = 15

/** Calls that took less of a turn are left out. */
const SMALLEST_SHARE = 0.08

/** Time between two samples in µs. */
const SAMPLING_US = 250

/** Samples what the thread executes, and tells of the long turns among it. */
export class TurnProfile {
  #session = new Session()
  #turns = []
  #lastUs = nowUs()

  async start() {
    this.#session.connect()
    await this.#session.post('Profiler.enable')
    await this.#session.post('Profiler.setSamplingInterval', { interval: SAMPLING_US })
    await this.#session.post('Profiler.start')
  }

  /** A turn has ended, which took so many ms of processor time. */
  endTurn(ms) {
    const us = nowUs()
    if (ms > LONG_TURN_MS) this.#turns.push({ ms, fromUs: this.#lastUs, toUs: us })
    this.#lastUs = us
  }

  /** Forgets the turns until now. */
  reset() {
    this.#turns = []
    this.#lastUs = nowUs()
  }

  /** Ends it. @returns Lines of text: what the long turns executed together, and then each of the longest, as trees of calls. */
  async finish() {
    const { profile } = await this.#session.post('Profiler.stop')
    const samples = new Samples(profile)
    const longest = this.#turns.sort((a, b) => b.ms - a.ms)
    return [
      `${longest.length} turns of more than ${LONG_TURN_MS} ms`,
      ...samples.tree(longest),
      ...longest
        .slice(0, TURNS_TOLD)
        .flatMap((turn) => [
          `${turn.ms.toFixed(1)} ms (${((turn.toUs - turn.fromUs) / 1000).toFixed(1)} ms by the clock)`,
          ...samples.tree([turn]),
        ]),
    ]
  }
}

const nowUs = () => Number(process.hrtime.bigint() / 1000n)

/** Samples of a profile, in the order of time. */
class Samples {
  #nodes = new Map()
  #parents = new Map()
  #profile
  #times = []

  constructor(profile) {
    this.#profile = profile
    let us = profile.startTime
    for (const delta of profile.timeDeltas) this.#times.push((us += delta))
    for (const node of profile.nodes) {
      this.#nodes.set(node.id, node)
      for (const child of node.children ?? []) this.#parents.set(child, node.id)
    }
  }

  /** What some turns executed together, in lines of text. */
  tree(turns) {
    const total = new Map()
    let all = 0
    for (const [at, us] of this.#times.entries()) {
      if (!turns.some(({ fromUs, toUs }) => us > fromUs && us <= toUs)) continue
      all += this.#profile.timeDeltas[at]
      for (let id = this.#profile.samples[at]; id !== undefined; id = this.#parents.get(id))
        total.set(id, (total.get(id) ?? 0) + this.#profile.timeDeltas[at])
    }
    const lines = []
    const visit = (id, depth) => {
      const us = total.get(id) ?? 0
      if (us < all * SMALLEST_SHARE) return
      const { functionName, url, lineNumber } = this.#nodes.get(id).callFrame
      const file = url.replace(/^.*\/(?=dist|node_modules)/, '')
      const name = `${functionName || '(anonymous)'} ${file}:${lineNumber + 1}`
      lines.push(`${(us / 1000).toFixed(1).padStart(8)} ms ${'  '.repeat(depth)}${name}`)
      const children = [...(this.#nodes.get(id).children ?? [])]
      children.sort((a, b) => (total.get(b) ?? 0) - (total.get(a) ?? 0))
      for (const child of children) visit(child, depth + 1)
    }
    visit(this.#profile.nodes[0].id, 0)
    return lines
  }
}
