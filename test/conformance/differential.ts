import type { Oracle, OracleIdentity } from '../support/oracle.ts'
import { connectControl, connectPeer, Session, type Control } from '../support/oracle-session.ts'
import { connectWebSocketPeer } from '../support/oracle-websocket.ts'
import { startServer, type TestGateway } from '../support/server.ts'
import { escapeBytes, type Transcript, type TranscriptStep } from '../support/transcript.ts'
import { parseReply, stringsOf } from '../support/transcript-values.ts'
import { normalise } from './normalise.ts'
import { applyRules, ruleNamed } from './rules.ts'

/** Where one connection got different bytes. */
export interface Difference {
  /** Index of the step. */
  readonly at: number
  readonly source: string
  readonly peer: string
  /** The oracle's answer after rules and normalisations, on one line. */
  readonly oracle: string
  readonly respcast: string
}

/** The oracle and a Respcast, driven side by side. */
export class Pair {
  readonly oracle: Oracle
  readonly server: TestGateway
  readonly oracleControl: Control
  readonly control: Control

  private constructor(
    oracle: Oracle,
    server: TestGateway,
    oracleControl: Control,
    control: Control,
  ) {
    this.oracle = oracle
    this.server = server
    this.oracleControl = oracleControl
    this.control = control
  }

  /** Starts a Respcast beside an oracle. */
  static async open(oracle: Oracle): Promise<Pair> {
    // Redis answers every failed login at once.
    const server = await startServer({
      issuer: false,
      directives: { 'auth-failure-delay': '0' },
    })
    return new Pair(
      oracle,
      server,
      await connectControl(oracle.port, oracle.host),
      await connectControl(server.port),
    )
  }

  /** New connections, none of them open yet: the oracle's over TCP, and Respcast's. */
  sessions(transport: 'tcp' | 'websocket' = 'tcp'): { oracle: Session; respcast: Session } {
    const { host, port } = this.oracle
    const { server } = this
    const url = `ws://127.0.0.1:${server.adminPort}/ws`
    return {
      oracle: new Session(this.oracleControl, () => connectPeer(port, host)),
      respcast: new Session(this.control, () =>
        transport === 'tcp' ? connectPeer(server.port, '127.0.0.1') : connectWebSocketPeer(url),
      ),
    }
  }

  /** Asks both the same. */
  async ask(...words: readonly string[]): Promise<{ oracle: string; respcast: string }> {
    return {
      oracle: await this.oracleControl.ask(...words),
      respcast: await this.control.ask(...words),
    }
  }

  /** Makes both forget the users and settings that a script left. */
  async restore(): Promise<void> {
    for (const control of [this.oracleControl, this.control]) {
      await deleteUsers(control)
      await control.ask('CONFIG', 'SET', 'requirepass', '')
      await control.ask('ACL', 'SETUSER', 'default', 'reset', 'on', 'nopass', '~*', '&*', '+@all')
      await control.ask('ACL', 'LOG', 'RESET')
    }
  }

  async close(): Promise<void> {
    this.oracleControl.close()
    this.control.close()
    await this.oracle.stop()
    await this.server.stop()
  }
}

async function deleteUsers(control: Control): Promise<void> {
  const names = stringsOf(parseReply(await control.ask('ACL', 'USERS')))
  const others = names.filter((name) => name !== 'default')
  if (others.length > 0) await control.ask('ACL', 'DELUSER', ...others)
}

/** Plays a transcript on both. @returns The first difference, or undefined. */
export async function play(pair: Pair, { steps }: Transcript): Promise<Difference | undefined> {
  const { oracle, respcast } = pair.sessions()
  try {
    for (const [at, step] of steps.entries()) {
      const [theirs, ours] = await Promise.all([oracle.run(step), respcast.run(step)])
      const found = differences(pair.oracle.identity, step, theirs, ours)[0]
      if (found) return { at, source: step.source, ...found }
    }
    return undefined
  } finally {
    await Promise.all([oracle.end(), respcast.end()])
    await pair.restore()
  }
}

/** Returns the answer that Respcast should send, given that of the oracle: by the step's own deviation or by the rules. */
export function withDeviation(
  identity: OracleIdentity,
  { peer, deviation }: TranscriptStep,
  receiver: string,
  theirs: string,
): string {
  if (deviation && receiver === peer && ruleNamed(deviation.rule).holds(identity)) {
    return deviation.bytes
  }
  return applyRules(identity, theirs)
}

/** Differences of a step, after rules and normalisations. */
export function differences(
  identity: OracleIdentity,
  step: TranscriptStep,
  theirs: ReadonlyMap<string, string>,
  ours: ReadonlyMap<string, string>,
): Omit<Difference, 'at' | 'source'>[] {
  const found: Omit<Difference, 'at' | 'source'>[] = []
  for (const peer of new Set([...theirs.keys(), ...ours.keys()])) {
    const expected = normalise(withDeviation(identity, step, peer, theirs.get(peer) ?? ''))
    const answer = normalise(ours.get(peer) ?? '')
    if (expected === answer) continue
    found.push({ peer, oracle: escapeBytes(expected), respcast: escapeBytes(answer) })
  }
  return found
}
