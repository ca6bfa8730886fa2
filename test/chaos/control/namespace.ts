import type { Entry } from '../../../server/control/entry.ts'
import { splitKey, type Register } from '../../../server/control/register.ts'
import { RedisStore } from '../../../server/control/redis-store.ts'
import { NO_SIGNATURE, signatureBy, type Signature } from '../../../server/control/signature.ts'
import { IDS_PER_NODE } from '../../../server/control/node.ts'
import { newId } from '../../../server/control/shared-control.ts'
import type { CommandArgument } from '../../../shared/resp/command.ts'
import type { FinalState } from '../../history/control-history.ts'
import { NATIVE } from '../../history/history.ts'
import { DirectLine } from '../../support/direct-line.ts'
import { wholeState } from '../../support/whole-state.ts'
import { KEYS, NAMESPACE } from './keys.ts'

/** The key of the gateways. */
export const KEY = 'a key of gateways that has more than 32 bytes'

/** The signature that gateways with that key have, or those without. */
export function signatureOf(hasKey: boolean): Signature {
  return hasKey ? signatureBy([Buffer.from(KEY)]) : NO_SIGNATURE
}

/** Where the node is that has the keys. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** Numbers of revocations that no gateway gives. */
let serial = IDS_PER_NODE * 4_000

/** Commits the revocation of a subject as a gateway does, but for the message to the others, which is lost. */
export async function revokeUnheard(
  { host, port }: Address,
  isCluster: boolean,
  hasKey: boolean,
  { sub, label }: { readonly sub: string; readonly label: string },
): Promise<boolean> {
  const line = new DirectLine(port, isCluster ? 'SPUBLISH' : 'PUBLISH', host)
  const deaf: Pick<DirectLine, 'ask' | 'publishCommand'> = {
    publishCommand: line.publishCommand,
    ask: (reply, ...args) => line.ask(reply, ...args.map(elsewhere)),
  }
  const signature = signatureOf(hasKey)
  const store = new RedisStore({ line: deaf, namespace: NAMESPACE, signature, user: 'default' })
  const [id, uuid] = [++serial, newId()]
  const value = JSON.stringify({
    ...{ kind: 'sub', target: sub, hard: true, reason: label, message: '', id },
    ...{ by: 'default', atMs: Date.now(), hit: 0 },
  })
  const entry: Entry = {
    uuid,
    origin: { node: newId(), user: 'default', address: '127.0.0.1:1' },
    atMs: Date.now(),
    registers: [{ key: `r:${id}`, version: 1, uuid, value }],
    order: undefined,
  }
  const { state } = await store.commit({ entry, mode: 'merge' })
  line.close()
  return state === 'committed'
}

/** Another channel instead of that of entries. */
function elsewhere(arg: CommandArgument): CommandArgument {
  return Buffer.from(arg as Buffer).toString('latin1') === KEYS.entries
    ? `${KEYS.entries}-lost`
    : arg
}

/** What a gateway would know that starts now, and has nothing of its own. */
export async function upstreamState(
  { host, port }: Address,
  hasKey: boolean,
  nodes: readonly string[],
): Promise<FinalState> {
  const line = new DirectLine(port, 'PUBLISH', host)
  const signature = signatureOf(hasKey)
  const store = new RedisStore({ line, namespace: NAMESPACE, signature, user: 'default' })
  const state = await wholeState(store)
  line.close()
  if (state.state === 'failed') throw new Error(`the state cannot be read: ${state.problem}`)
  const live = state.registers.filter(
    (register): register is Register & { readonly value: string } => register.value !== undefined,
  )
  const users: string[] = []
  const revocations: string[] = []
  const refused: string[] = []
  for (const { key, value } of live) {
    const [part, name] = splitKey(key)
    if (part === 'u') users.push(`user ${name} ${value}`)
    if (part !== 'r') continue
    const { kind, target, reason } = JSON.parse(value) as Record<
      'kind' | 'target' | 'reason',
      string
    >
    revocations.push(reason)
    if (kind === 'sub') refused.push(target)
  }
  return { place: NATIVE, users, revocations, nodes, refused }
}
