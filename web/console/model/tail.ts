import { messageOf } from './messages.ts'
import { signal } from '@preact/signals'
import type { Message, RespcastClient, Subscription, SubscriptionKind } from '../../client/index.ts'
import type { CommandLog } from './command-log.ts'
import { commandText } from './commands.ts'
import { labelOf } from './reply.ts'

/** Number of messages that are kept. */
export const MAX_MESSAGES = 200

/** Number of bytes kept of each payload. */
const MAX_KEPT_BYTES = 4_096

/** Interval at which new messages are shown. A busy channel has more than a page can draw. Milliseconds. */
const FLUSH_MS = 200

/** The commands that subscribe and unsubscribe. */
export const SUBSCRIBE_COMMANDS: Readonly<Record<SubscriptionKind, string>> = {
  channel: 'SUBSCRIBE',
  pattern: 'PSUBSCRIBE',
  shard: 'SSUBSCRIBE',
}

/** A message kept by the tail. */
interface TailMessage {
  /** Counts up within a tail. */
  readonly id: number
  /** Milliseconds since 1970. */
  readonly atMs: number
  /** For people. */
  readonly channel: string
  /** The start of it. */
  readonly payload: Uint8Array
  /** The length of the whole payload. */
  readonly bytes: number
}

/** The channel, pattern or shard channel of a tail. */
interface TailTarget {
  readonly kind: SubscriptionKind
  readonly name: Uint8Array
  /** For people. */
  readonly label: string
}

/** State of a tail. */
interface TailView {
  readonly target: TailTarget | undefined
  /** `refused`: {@link TailView.problem} says why. */
  readonly status: 'idle' | 'pending' | 'live' | 'refused'
  readonly problem: string
  readonly messages: readonly TailMessage[]
  /** Messages since the start, including those no longer kept. */
  readonly received: number
  /** Messages that came while it was paused. */
  readonly held: number
}

const IDLE: TailView = {
  target: undefined,
  status: 'idle',
  problem: '',
  messages: [],
  received: 0,
  held: 0,
}

/** Listens to one channel, pattern or shard channel, and keeps its newest messages, also while other views are shown. */
export class Tail {
  readonly view = signal<TailView>(IDLE)
  readonly paused = signal(false)
  readonly #client: RespcastClient
  readonly #log: CommandLog
  #subscription: Subscription | undefined
  #messages: TailMessage[] = []
  #received = 0
  #heldFrom = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(client: RespcastClient, log: CommandLog) {
    this.#client = client
    this.#log = log
  }

  /** Listens to a name instead of the previous one. */
  start(kind: SubscriptionKind, name: Uint8Array): void {
    this.stop()
    this.clear()
    this.paused.value = false
    const target = { kind, name, label: labelOf(name) }
    this.view.value = { ...IDLE, target, status: 'pending' }
    const subscription = this.#subscribe(kind, name)
    this.#subscription = subscription
    const end = this.#log.begin(commandText([SUBSCRIBE_COMMANDS[kind], name]), 'user')
    subscription.ready.then(
      () => end('ok', 'subscribed'),
      (error: unknown) => {
        const problem = messageOf(error)
        end('error', problem)
        if (this.#subscription === subscription) {
          this.view.value = { ...this.view.value, status: 'refused', problem }
        }
      },
    )
    subscription.addEventListener('status', ({ detail }) => {
      if (this.#subscription !== subscription || detail === 'ended') return
      const status = detail === 'denied' ? 'refused' : detail
      this.view.value = { ...this.view.value, status }
    })
  }

  stop(): void {
    const { target } = this.view.value
    if (!this.#subscription || !target) return
    const end = this.#log.begin(commandText([unsubscribeCommand(target.kind), target.name]), 'user')
    void this.#subscription.unsubscribe().then(() => end('ok', 'unsubscribed'))
    this.#subscription = undefined
    this.#flush()
    this.view.value = { ...this.view.value, status: 'idle', target: undefined }
  }

  /** Pausing keeps what is shown; what comes meanwhile is kept as well, and shown afterwards. */
  pause(paused: boolean): void {
    this.#flush()
    this.paused.value = paused
    this.#heldFrom = this.#received
    this.#flush()
  }

  clear(): void {
    this.#messages = []
    this.#received = 0
    this.#heldFrom = 0
    this.view.value = { ...this.view.value, messages: [], received: 0, held: 0 }
  }

  #subscribe(kind: SubscriptionKind, name: Uint8Array): Subscription {
    const handler = (message: Message): void => this.#take(message)
    if (kind === 'pattern') return this.#client.psubscribe(name, handler)
    if (kind === 'shard') return this.#client.ssubscribe(name, handler)
    return this.#client.subscribe(name, handler)
  }

  #take(message: Message): void {
    this.#received++
    this.#messages.push({
      id: this.#received,
      atMs: Date.now(),
      channel: labelOf(message.channelBytes),
      // A copy: the rest of a long payload need not be kept.
      payload: message.payload.slice(0, MAX_KEPT_BYTES),
      bytes: message.payload.length,
    })
    if (this.#messages.length > MAX_MESSAGES) this.#messages.shift()
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS)
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const received = this.#received
    if (this.paused.value) {
      this.view.value = { ...this.view.value, received, held: received - this.#heldFrom }
    } else {
      this.view.value = { ...this.view.value, messages: [...this.#messages], received, held: 0 }
    }
  }
}

function unsubscribeCommand(kind: SubscriptionKind): string {
  return SUBSCRIBE_COMMANDS[kind].replace('SUBSCRIBE', 'UNSUBSCRIBE')
}
