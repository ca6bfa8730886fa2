import { commandStep, type TranscriptStep } from '../support/transcript.ts'
import type { Session } from '../support/oracle-session.ts'
import { differences, type Difference, type Pair } from './differential.ts'
import { admitted, clientState, overWebSocket } from './fuzz-admission.ts'
import { BROWSER, FIRST_STATE, type FuzzStep } from './fuzz-sessions.ts'

/** A connection that both have, as the player sees it. */
interface Known {
  /** CLIENT ID at the oracle. */
  readonly oracleId: string
  mayBeSilent: boolean
}

/** Plays random sessions on both servers. */
export class FuzzPlayer {
  readonly #pair: Pair
  readonly #transport: 'tcp' | 'websocket'
  readonly #known = new Map<string, Known>()

  /** @param transport Of Respcast's connections; the oracle's are TCP, in RESP3 where ours are WebSockets. */
  constructor(pair: Pair, transport: 'tcp' | 'websocket' = 'tcp') {
    this.#pair = pair
    this.#transport = transport
  }

  /** @returns The first difference; its index counts the steps given. */
  async play(steps: readonly FuzzStep[]): Promise<Difference | undefined> {
    const { oracle, respcast } = this.#pair.sessions(this.#transport)
    this.#known.clear()
    try {
      for (const words of FIRST_STATE) await this.#pair.ask(...words)
      await this.#pair.ask('CONFIG', 'RESETSTAT')
      for (const [at, step] of steps.entries()) {
        const found =
          step.peer === 'admin'
            ? await this.#administer(step, oracle, respcast)
            : await this.#step(step, oracle, respcast)
        if (found) return { at, ...found }
      }
      const found = await this.#compareCounts()
      return found && { at: steps.length - 1, ...found }
    } finally {
      await Promise.all([oracle.end(), respcast.end()])
      await this.#pair.restore()
    }
  }

  /** Takes steps and commands away for as long as the rest still differs. */
  async shrink(steps: readonly FuzzStep[]): Promise<{ steps: FuzzStep[]; difference: Difference }> {
    let difference = await this.play(steps)
    if (!difference) throw new Error('these steps make no difference')
    let smallest = steps.slice(0, difference.at + 1)
    let size = Math.ceil(smallest.length / 2)
    while (size >= 1) {
      for (let at = 0; at < smallest.length;) {
        const fewer = smallest.toSpliced(at, size)
        const found = await this.play(fewer)
        if (found) {
          difference = found
          smallest = fewer.slice(0, found.at + 1)
        } else {
          at += size
        }
      }
      size = size === 1 ? 0 : Math.ceil(size / 2)
    }
    return { steps: smallest, difference }
  }

  /** Compares how often each command was called, refused and has failed. */
  async #compareCounts(): Promise<Omit<Difference, 'at'> | undefined> {
    const { oracle, respcast } = await this.#pair.ask('INFO', 'commandstats')
    const [theirs, ours] = [countsOf(oracle), countsOf(respcast)]
    for (const name of new Set([...theirs.keys(), ...ours.keys()])) {
      const [their = 'none', our = 'none'] = [theirs.get(name), ours.get(name)]
      if (their === our) continue
      return { source: `INFO commandstats: ${name}`, peer: 'Z', oracle: their, respcast: our }
    }
    return undefined
  }

  async #administer(step: FuzzStep, oracle: Session, respcast: Session) {
    const words = step.commands[0] ?? []
    const answers = await this.#pair.ask(...words)
    await Promise.all([oracle.control.quiet(), respcast.control.quiet()])
    const source = commandStep('Z', [words])
    const theirs = new Map(oracle.collect()).set('Z', answers.oracle)
    const ours = new Map(respcast.collect()).set('Z', answers.respcast)
    return this.#compare(source, theirs, ours)
  }

  async #step({ peer, commands }: FuzzStep, oracle: Session, respcast: Session) {
    const known = await this.#connection(peer, oracle, respcast)
    const { identity } = this.#pair.oracle
    const line = await this.#pair.oracleControl.ask('CLIENT', 'LIST', 'ID', known.oracleId)
    if (commands.some(([name = '']) => name === 'CLIENT')) known.mayBeSilent = true
    const there = this.#transport === 'tcp' ? commands : overWebSocket(commands)
    const rest = admitted(there, identity, clientState(line), known)
    if (rest.length === 0) return undefined
    const step = commandStep(peer, rest)
    const [theirs, ours] = await Promise.all([oracle.run(step), respcast.run(step)])
    return this.#compare(step, theirs, ours)
  }

  async #connection(peer: string, oracle: Session, respcast: Session): Promise<Known> {
    if (oracle.isClosed(peer) && respcast.isClosed(peer)) {
      oracle.forget(peer)
      respcast.forget(peer)
      this.#known.delete(peer)
    }
    const before = this.#known.get(peer)
    if (before) return before
    if (this.#transport === 'websocket') {
      const login = commandStep(peer, [['HELLO', '3', 'AUTH', ...BROWSER]])
      await Promise.all([oracle.run(login), respcast.run(login)])
    }
    const step = commandStep(peer, [['CLIENT', 'ID']])
    const [theirs] = await Promise.all([oracle.run(step), respcast.run(step)])
    const [, oracleId = '0'] = /:(\d+)/.exec(theirs.get(peer) ?? '') ?? []
    const known = { oracleId, mayBeSilent: false }
    this.#known.set(peer, known)
    return known
  }

  #compare(
    step: TranscriptStep,
    theirs: ReadonlyMap<string, string>,
    ours: ReadonlyMap<string, string>,
  ): Omit<Difference, 'at'> | undefined {
    const [found] = differences(this.#pair.oracle.identity, step, theirs, ours)
    return found && { source: step.source, ...found }
  }
}

/** Commands by which the tests themselves ask one server more often than the other. */
const OWN_CALLS = new Set(['ping', 'echo', 'client|list', 'client|id', 'info'])

/** The counts of each command in INFO commandstats. */
function countsOf(info: string): Map<string, string> {
  const counts = new Map<string, string>()
  const lines = /^cmdstat_([^:]+):(calls=\d+),usec.*,(rejected_calls=\d+,failed_calls=\d+)\r?$/gm
  for (const [, name = '', calls, others] of info.matchAll(lines)) {
    if (!OWN_CALLS.has(name)) counts.set(name, `${calls},${others}`)
  }
  return counts
}

/** A session as a transcript to read and to play again. */
export function describeSession(steps: readonly FuzzStep[]): string {
  return steps
    .map(({ peer, commands }) => commandStep(peer === 'admin' ? 'Z' : peer, commands).source)
    .join('\n')
}

/** The whole report of a difference. */
export function describeDifference(
  seed: number,
  steps: readonly FuzzStep[],
  { source, peer, oracle, respcast }: Difference,
): string {
  return [
    `seed ${seed} differs; the shortest script found:`,
    describeSession(steps),
    `at ${source}, connection ${peer}:`,
    `oracle:   ${oracle}`,
    `respcast: ${respcast}`,
  ]
    .join('\n')
    .replace(/(.)\1{50,}/g, (run, char: string) => `<${char} × ${run.length}>`)
}
