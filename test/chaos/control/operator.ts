import { isPush, type RespValue } from '../../../shared/resp/types.ts'
import { RespReader } from '../../../shared/resp/reader.ts'
import type { OrderOutcome } from '../../history/control-history.ts'
import { connectTcp, type Wire } from '../../history/wire.ts'
import { plain, shownPlain, type Plain, type PlainMap } from '../../support/ask.ts'
import { encodeCommand } from '../../support/resp-client.ts'

/** Longest wait for an answer: a commit that waits for gateways takes a second, one without an upstream five. */
const PATIENCE_MS = 20_000

/** An administrator's connection to a gateway. */
export class Operator {
  readonly #wire: Wire
  readonly #due: {
    readonly resolve: (reply: Plain) => void
    readonly reject: (error: Error) => void
  }[] = []
  isOpen = true

  private constructor(wire: Wire) {
    this.#wire = wire
    const reader = new RespReader()
    wire.listen({
      bytes: (chunk) => {
        reader.push(chunk)
        for (let value = reader.next(); value !== undefined; value = reader.next())
          this.#take(value)
      },
      closed: () => {
        this.isOpen = false
        for (const { reject } of this.#due.splice(0)) reject(new Error('the connection ended'))
      },
    })
  }

  /** @throws Error The gateway cannot be reached. */
  static async connect(port: number): Promise<Operator> {
    const operator = new Operator(await connectTcp(port))
    await operator.ask('HELLO', '3')
    return operator
  }

  /** @returns The reply; errors begin with `-`. @throws Error The connection ends, or there is no reply. */
  ask(...words: readonly string[]): Promise<Plain> {
    return new Promise((resolve, reject) => {
      if (!this.isOpen) {
        reject(new Error('the connection ended'))
        return
      }
      const timer = setTimeout(() => {
        reject(new Error(`no answer to ${words.slice(0, 2).join(' ')}`))
        this.close()
      }, PATIENCE_MS)
      this.#due.push({
        resolve: (reply) => {
          clearTimeout(timer)
          resolve(reply)
        },
        reject: (error) => {
          clearTimeout(timer)
          reject(error)
        },
      })
      this.#wire.send(encodeCommand(...words))
    })
  }

  /** The revocations in force: ids by reason. */
  async revocations(): Promise<Map<string, number>> {
    const reply = await this.ask('TOKEN', 'REVOCATIONS')
    if (!Array.isArray(reply)) throw new Error(`TOKEN REVOCATIONS: ${shownPlain(reply)}`)
    const records = reply as readonly PlainMap[]
    return new Map(records.map(({ reason, id }) => [shownPlain(reason ?? null), Number(id)]))
  }

  close(): void {
    this.#wire.close()
  }

  #take(value: RespValue): void {
    if (!isPush(value)) this.#due.shift()?.resolve(plain(value))
  }
}

/** Answers after which nothing has changed. */
const NOTHING = [
  '-ERR No ',
  '-ERR not committed: ',
  '-TRYAGAIN not committed: ',
  '-TRYAGAIN another edit of this user came first',
] as const

/** What an answer says. */
export function outcomeOf(reply: Plain): OrderOutcome {
  if (typeof reply === 'number' || reply === 'OK') return { state: 'everywhere' }
  if (typeof reply === 'object' && reply !== null && 'confirmed' in reply) {
    const { missing, durable } = reply
    const names = (missing as readonly Plain[]).map(String)
    const fencedInMs = Number(reply['fenced-by'])
    if (durable !== 1) return { state: 'open' }
    return names.length === 0
      ? { state: 'everywhere' }
      : { state: 'partly', missing: names, fencedInMs }
  }
  const text = shownPlain(reply)
  const [, names, ms] = /not confirmed by (.*), fenced within (\d+) ms/.exec(text) ?? []
  if (names !== undefined)
    return { state: 'partly', missing: names.split(', '), fencedInMs: Number(ms) }
  if (text.startsWith('-NOREPLICAS in force and on disk here')) return { state: 'here' }
  return NOTHING.some((start) => text.startsWith(start)) ? { state: 'none' } : { state: 'open' }
}
