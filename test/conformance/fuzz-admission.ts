import type { OracleIdentity } from '../support/oracle.ts'
import { ruleNamed } from './rules.ts'

/** A connection in the oracle's CLIENT LIST. */
export interface ClientState {
  /** It has a subscription of any kind. */
  readonly subscribed: boolean
  readonly inMulti: boolean
}

/** Bytes sent on a connection that CLIENT LIST does not show. */
export interface ClientHistory {
  /** CLIENT REPLY was used, so answers may be switched off. */
  readonly mayBeSilent: boolean
}

/** Reads one line of CLIENT LIST. */
export function clientState(line: string): ClientState {
  const [, flags = ''] = / flags=(\S+)/.exec(line) ?? []
  const [, multi = '-1'] = / multi=(-?\d+)/.exec(line) ?? []
  return { subscribed: flags.includes('P'), inMulti: multi !== '-1' }
}

const UNSUBSCRIBING = new Set(['unsubscribe', 'punsubscribe', 'sunsubscribe'])
const OPENING = new Set(['multi', 'watch'])

/**
 * The commands of one write without those that bring an oracle to a state Respcast does not have. Whatever is sent is
 * sent to both.
 */
export function admitted(
  commands: readonly (readonly string[])[],
  oracle: OracleIdentity,
  state: ClientState,
  history: ClientHistory,
): (readonly string[])[] {
  const holds = (name: string): boolean => ruleNamed(name).holds(oracle)
  let opened = false
  let isInMulti = state.inMulti
  return commands.filter((command, index) => {
    const [name = '', first = ''] = command.map((word) => word.toLowerCase())
    isInMulti ||= name === 'multi'
    if (name === 'client' && first === 'reply' && isInMulti && holds('reply-in-multi')) return false
    if (UNSUBSCRIBING.has(name) && holds('unsubscribe-nosub'))
      return index === 0 && state.subscribed
    if (OPENING.has(name) && holds('nested-multi')) {
      if (state.inMulti || opened) return false
      opened = name === 'multi'
      return true
    }
    if (isLogin(name, command)) {
      if (holds('widening-harms-nobody') && (index > 0 || state.inMulti || state.subscribed)) {
        return false
      }
      // The default user has no password, so that its login never fails.
      const mayFail = !(name === 'auth' && first === 'default')
      return !mayFail || !holds('silent-failing-auth') || (index === 0 && !state.inMulti)
    }
    if (name === 'quit' && holds('silenced-quit-closes')) return !history.mayBeSilent
    return true
  })
}

function isLogin(name: string, command: readonly string[]): boolean {
  return name === 'auth' || (name === 'hello' && command.length > 3)
}

/** The commands that a WebSocket is answered like a RESP3 connection over TCP: not RESP2, and not the default user. */
export function overWebSocket(commands: readonly (readonly string[])[]): (readonly string[])[] {
  return commands.filter(([name = '', first = '']) => {
    if (name === 'HELLO') return first !== '2'
    return name !== 'RESET' && !(name === 'AUTH' && first === 'default')
  })
}
