import type { CommandArgument } from '../../../shared/resp/command.ts'
import { isError, type RespError, type RespValue } from '../../../shared/resp/types.ts'
import type { Timer } from '../../clock.ts'
import type { LinkState } from '../backplane.ts'
import { isSameNode, nodeText, type Node } from '../node.ts'
import { CommandLink, onAnswer, type Reply } from './command-link.ts'
import type { LinkHost } from './link.ts'
import { readRedirection } from './redirection.ts'

/** Takes the ends of a control link. */
export interface ControlLinkUser {
  /** @param isOther It was up before, at another node. */
  up(isOther: boolean): void
  down(): void
  /** The node says in this line that a slot belongs elsewhere, or that the cluster is down; undefined where there is no cluster. */
  readonly misplaced: ((line: string, from: Node) => void) | undefined
}

/** Longest time that a reply may be missing, or that a command looks for its node, in ms. */
const REPLY_MS = 5_000
const TICK_MS = 1_000
/** The wait before a command is sent again that the cluster does not take now, in ms. */
const AGAIN_MS = 50

/** Answers of a cluster after which nothing was executed: the command belongs elsewhere, or is to be sent again. */
const ELSEWHERE = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN)\b/

/** One command, until it is answered. */
interface Order {
  readonly reply: Reply
  readonly args: readonly CommandArgument[]
  /** Monotonic milliseconds. */
  readonly askedMs: number
  /** Why it waits to be sent again. */
  refusal: RespError | undefined
}

/** A connection to the node that takes a slot over. */
interface Aside {
  readonly link: CommandLink
  /** Commands that wait until it is up. */
  readonly queue: Order[]
  /** Commands that are not answered. */
  left: number
}

/**
 * The connection for the commands of the control plane, to one node after another. In a cluster it looks for the node of a command as
 * the specification of clients says: MOVED, ASK with ASKING; what the cluster does not take now is sent again.
 */
export class ControlLink {
  readonly #host: LinkHost
  readonly #user: ControlLinkUser
  readonly #link: CommandLink
  /** For the commands that ASK has sent to a node which takes the slot over; ended when it has none. */
  #aside: Aside | undefined
  /** Commands that are to be sent again. */
  #again: Order[] = []
  #timer: Timer | undefined
  readonly #tick: Timer
  /** When the oldest command was sent whose reply is missing; in their order. */
  readonly #missingMs: number[] = []
  #lastNode: Node | undefined

  constructor(host: LinkHost, user: ControlLinkUser) {
    this.#host = host
    this.#user = user
    this.#link = new CommandLink(
      host,
      {
        up: () => this.#up(),
        down: () => {
          this.#missingMs.length = 0
          user.down()
        },
      },
      'control',
    )
    this.#tick = host.clock.every(TICK_MS, () => this.#checkReplies())
  }

  get isUp(): boolean {
    return this.#link.link.isUp
  }

  get node(): Node | undefined {
    return this.#link.link.node
  }

  get problem(): string | undefined {
    return this.#link.link.problem
  }

  get states(): LinkState[] {
    const { node, state } = this.#link.link
    const aside = this.#aside?.link.link.state
    return [...(node === undefined ? [] : [state]), ...(aside === undefined ? [] : [aside])]
  }

  /** See `Link`. */
  connectTo(node: Node | undefined): void {
    this.#link.link.connectTo(node)
  }

  /** See `Link`. */
  hurry(): void {
    if (this.node !== undefined) this.#link.link.hurry()
  }

  /** The node is not the right one any more. */
  leave(problem: string): void {
    this.#link.link.cut('authority', problem)
  }

  stop(): void {
    this.#tick.cancel()
    this.#timer?.cancel()
    for (const { reply } of this.#again.splice(0)) reply.lost(false)
    this.#endAside()
    this.#link.link.stop()
  }

  /** See `ControlLine.ask`. */
  ask(reply: Reply, ...args: readonly CommandArgument[]): void {
    if (!this.isUp) {
      reply.lost(false)
      return
    }
    const askedMs = this.#host.clock.monotonicMs()
    this.#send({ reply, args, askedMs, refusal: undefined })
  }

  #send(order: Order): void {
    const { node } = this
    this.#missingMs.push(this.#host.clock.monotonicMs())
    this.#link.ask(
      {
        answered: (value) => {
          this.#missingMs.shift()
          this.#answered(order, value, node)
        },
        lost: (wasSent) => order.reply.lost(wasSent),
      },
      ...order.args,
    )
  }

  #answered(order: Order, value: RespValue, from: Node | undefined): void {
    const { misplaced } = this.#user
    const isElsewhere = isError(value) && ELSEWHERE.test(value.message)
    if (!isElsewhere || misplaced === undefined || from === undefined) {
      order.reply.answered(value)
      return
    }
    if (this.#isLate(order)) {
      order.reply.answered(value)
      return
    }
    order.refusal = value
    const asked = readRedirection('ASK', value.message, from)
    if (asked !== undefined) {
      this.#sendAside(order, asked.node)
      return
    }
    this.#again.push(order)
    this.#againSoon()
    // It ends the connection: what else has been answered by now is not to be lost with it.
    this.#host.atEndOfTurn(() => misplaced(value.message, from))
  }

  #isLate({ askedMs }: Order): boolean {
    return this.#host.clock.monotonicMs() - askedMs > REPLY_MS
  }

  #againSoon(): void {
    this.#timer ??= this.#host.clock.after(AGAIN_MS, () => {
      this.#timer = undefined
      this.#sendAgain()
    })
  }

  #sendAgain(): void {
    for (const order of this.#again.splice(0)) {
      if (this.#isLate(order)) order.reply.answered(order.refusal as RespError)
      else if (this.isUp) this.#send(order)
      else this.#again.push(order)
    }
    if (this.#again.length > 0) this.#againSoon()
  }

  #sendAside(order: Order, node: Node): void {
    if (!isSameNode(this.#aside?.link.link.node, node)) {
      this.#endAside()
      this.#aside = this.#openAside(node)
    }
    const aside = this.#aside
    if (aside === undefined) return
    aside.left++
    if (!aside.link.link.isUp) {
      aside.queue.push(order)
      return
    }
    const end = (): void => void aside.left--
    aside.link.ask(
      onAnswer(() => {}),
      'ASKING',
    )
    aside.link.ask(
      {
        answered: (value) => {
          end()
          this.#answered(order, value, node)
        },
        lost: (wasSent) => {
          end()
          order.reply.lost(wasSent)
        },
      },
      ...order.args,
    )
  }

  #openAside(node: Node): Aside {
    const queue: Order[] = []
    const link = new CommandLink(
      this.#host,
      {
        up: () => {
          for (const order of queue.splice(0)) {
            aside.left--
            this.#sendAside(order, node)
          }
        },
        down: () => {},
      },
      'control',
    )
    const aside = { link, queue, left: 0 }
    link.link.connectTo(node)
    return aside
  }

  #endAside(): void {
    const aside = this.#aside
    this.#aside = undefined
    if (aside === undefined) return
    for (const { reply } of aside.queue.splice(0)) reply.lost(false)
    aside.link.link.stop()
  }

  #up(): void {
    const { node } = this
    const isOther = this.#lastNode !== undefined && !isSameNode(node, this.#lastNode)
    this.#lastNode = node
    this.#user.up(isOther)
    this.#sendAgain()
  }

  #checkReplies(): void {
    const [oldestMs] = this.#missingMs
    const nowMs = this.#host.clock.monotonicMs()
    if (oldestMs !== undefined && nowMs - oldestMs > REPLY_MS) {
      const text = this.node === undefined ? 'the node' : nodeText(this.node)
      this.#link.link.cut('silent', `upstream: ${text} does not answer the control plane`)
    }
    const aside = this.#aside
    if (aside === undefined) return
    const isStuck = aside.queue.some((order) => this.#isLate(order))
    if (aside.left === 0 || isStuck) this.#endAside()
  }
}
