import type { CommandArgument } from '../../shared/resp/command.ts'
import { isError, type RespValue } from '../../shared/resp/types.ts'
import { shown, type Logger } from '../log.ts'
import type { PublishSpace } from '../pubsub/registry.ts'
import type { Asked, UpstreamSubscriptions } from './control-line.ts'
import type { Interest } from './interest.ts'
import { textOf } from './link/link.ts'
import { Cover, type Source } from './link/source.ts'
import { RESERVED_PREFIX, type NodeLinks } from './node-links.ts'
import { nodeText } from './node.ts'

/** Names in one command. */
const NAMES_AT_ONCE = 10_000

/** A node with more channels is not asked for their names: it would do nothing else meanwhile. */
const MOST_CHANNELS = 50_000

const COMMANDS = {
  channel: { count: 'NUMSUB', list: 'CHANNELS', figure: 'pubsub_channels' },
  shard: { count: 'SHARDNUMSUB', list: 'SHARDCHANNELS', figure: 'pubsubshard_channels' },
} as const

/** Asks all masters of an upstream by PUBSUB, on the links for publishes. */
export class NativeSubscriptions implements UpstreamSubscriptions {
  readonly #nodes: () => Iterable<NodeLinks>
  readonly #interest: Interest
  readonly #log: Logger
  /** The log says that the user may not ask. */
  #isRefused = false

  constructor(parts: {
    readonly nodes: () => Iterable<NodeLinks>
    readonly interest: Interest
    readonly log: Logger
  }) {
    this.#nodes = parts.nodes
    this.#interest = parts.interest
    this.#log = parts.log
  }

  holds(space: PublishSpace, name: string): boolean {
    const source = this.#interest.find(space, name)
    return source !== undefined && isCounted(source)
  }

  covers(): string[] {
    const covers: string[] = []
    for (const source of this.#interest.sources()) {
      const node = source.link?.link.node
      if (!(source instanceof Cover) || node === undefined || !isCounted(source)) continue
      covers.push(`${nodeText(node)} ${source.name}`)
    }
    return covers
  }

  async counts(space: PublishSpace, names: readonly string[]): Promise<Asked<readonly number[]>> {
    const totals = names.map(() => 0)
    const nodes = [...this.#nodes()]
    const indexes = [...names.keys()].filter((at) => !isReserved(names[at] as string))
    const replies: Promise<boolean>[] = []
    for (let from = 0; from < indexes.length; from += NAMES_AT_ONCE) {
      const own = indexes.slice(from, from + NAMES_AT_ONCE)
      const asked = own.map((at) => bytesOf(names[at] as string))
      for (const node of nodes) {
        const add = (value: RespValue): boolean => {
          if (!Array.isArray(value)) return false
          for (const [at, index] of own.entries()) {
            const count = (value as readonly RespValue[])[at * 2 + 1]
            if (typeof count === 'number') totals[index] = (totals[index] as number) + count
          }
          return true
        }
        replies.push(this.#ask(node, 'PUBSUB', COMMANDS[space].count, ...asked).then(add))
      }
    }
    return { value: totals, isWhole: isEach(await Promise.all(replies)) && nodes.length > 0 }
  }

  async names(space: PublishSpace, pattern: string | undefined): Promise<Asked<readonly string[]>> {
    const { list, figure } = COMMANDS[space]
    const found: string[] = []
    const askOne = async (node: NodeLinks): Promise<boolean> => {
      const info = textOf(await this.#ask(node, 'INFO', 'stats'))
      const known = new RegExp(`^${figure}:(\\d+)`, 'm').exec(info)?.[1]
      if (known === undefined || Number(known) > MOST_CHANNELS) return false
      const asked = pattern === undefined ? [] : [bytesOf(pattern)]
      const value = await this.#ask(node, 'PUBSUB', list, ...asked)
      if (!Array.isArray(value)) return false
      for (const item of value as readonly RespValue[]) {
        const name = textOf(item)
        if (!isReserved(name)) found.push(name)
      }
      return true
    }
    const nodes = [...this.#nodes()]
    const answered = await Promise.all(nodes.map(askOne))
    return { value: found, isWhole: isEach(answered) && nodes.length > 0 }
  }

  async patterns(): Promise<Asked<number>> {
    const nodes = [...this.#nodes()]
    const counts = await Promise.all(nodes.map((node) => this.#ask(node, 'PUBSUB', 'NUMPAT')))
    let value = 0
    for (const count of counts) if (typeof count === 'number') value += count
    const answered = counts.map((count) => typeof count === 'number')
    return { value, isWhole: isEach(answered) && nodes.length > 0 }
  }

  /** The reply of one node; null if there is none. */
  #ask({ command }: NodeLinks, ...args: readonly CommandArgument[]): Promise<RespValue> {
    if (!command.link.isUp) return Promise.resolve(null)
    return new Promise((resolve) => {
      const answered = (value: RespValue): void => {
        this.#judge(value)
        resolve(value)
      }
      command.ask({ answered, lost: () => resolve(null) }, ...args)
    })
  }

  #judge(value: RespValue): void {
    if (!isError(value)) return
    if (this.#isRefused || !value.message.startsWith('NOPERM')) return
    this.#isRefused = true
    this.#log.warn(
      { reply: shown(value.message) },
      'upstream-user: PUBSUB counts the clients of gateways alone, and no others: give this user +pubsub, as docs/scaling.md lists',
    )
  }
}

function isEach(answered: readonly boolean[]): boolean {
  return answered.every(Boolean)
}

/** The upstream counts it: the command that leaves it may not have been executed. */
function isCounted({ state }: Source): boolean {
  return state === 'in' || state === 'leaving'
}

function isReserved(name: string): boolean {
  return name.startsWith(RESERVED_PREFIX)
}

function bytesOf(name: string): Buffer {
  return Buffer.from(name, 'latin1')
}
