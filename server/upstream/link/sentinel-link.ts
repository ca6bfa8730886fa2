import { isError, isPush, type RespValue } from '../../../shared/resp/types.ts'
import type { Timer } from '../../clock.ts'
import { shown } from '../../log.ts'
import { Link, textOf, type LinkHost } from './link.ts'
import { nodeText, type Node } from '../node.ts'

/** A sentinel's word on the master. */
export interface Vote {
  /** Undefined: it knows no master of that name. */
  readonly node: Node | undefined
  /** Monotonic milliseconds: when it was asked. */
  readonly askedMs: number
}

/** A sentinel is asked so often, in ms. */
const ASK_MS = 1_000
/** Longest time that it may owe an answer, in ms: after that its last one counts no more. */
const SILENT_MS = 3_000

/** Sentinels tell here which master they have replaced by which. */
const EVENTS = '+switch-master'

/** The connection to one sentinel, which is asked for the master again and again, and at once when it tells of another. */
export class SentinelLink {
  readonly #host: LinkHost
  readonly #masterName: string
  readonly #changed: () => void
  readonly #link: Link
  readonly #timer: Timer
  /** When the questions were asked that are not answered, in their order. */
  #askedMs: number[] = []
  /** SUBSCRIBE is not answered. */
  #isSubscribing = false
  #vote: Vote | undefined
  /** Why it gives no answer though it is connected, a sentence. */
  #refusal: string | undefined

  /** @param changed Called when the vote, its time included, or {@link problem} has changed. */
  constructor(host: LinkHost, masterName: string, changed: () => void) {
    this.#host = host
    this.#masterName = masterName
    this.#changed = changed
    this.#link = new Link('sentinel', host, {
      up: () => this.#up(),
      flushed: () => {},
      down: () => {
        this.#vote = this.#refusal = undefined
        changed()
      },
      message: (_space, _source, _channel, payload) => this.#event(payload.kept()),
      value: (value) => this.#value(value),
    })
    this.#timer = host.clock.every(ASK_MS, () => this.#tick())
  }

  /** Its last answer; undefined while it is not connected, and before the first. */
  get vote(): Vote | undefined {
    return this.#vote
  }

  get state(): Link['state'] {
    return this.#link.state
  }

  /** One sentence if it gives no answer. */
  get problem(): string | undefined {
    return this.#link.problem ?? this.#refusal
  }

  connectTo(node: Node): void {
    this.#link.connectTo(node)
  }

  stop(): void {
    this.#timer.cancel()
    this.#link.stop()
  }

  #up(): void {
    this.#askedMs = []
    this.#isSubscribing = true
    this.#link.send('SUBSCRIBE', EVENTS)
    this.#ask()
  }

  #ask(): void {
    this.#askedMs.push(this.#host.clock.monotonicMs())
    this.#link.send('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', Buffer.from(this.#masterName, 'latin1'))
  }

  #tick(): void {
    if (!this.#link.isUp) return
    const [oldest] = this.#askedMs
    if (oldest === undefined) this.#ask()
    else if (this.#host.clock.monotonicMs() - oldest > SILENT_MS) {
      this.#link.cut('silent', `upstream: the sentinel ${this.#text()} does not answer`)
    }
  }

  /** `<name> <old host> <old port> <new host> <new port>` */
  #event(payload: Buffer): void {
    if (payload.toString('latin1').split(' ', 1)[0] === this.#masterName) this.#ask()
  }

  #value(value: RespValue): void {
    if (isPush(value)) {
      if (textOf(value.items[0]) === 'subscribe') this.#isSubscribing = false
      return
    }
    if (this.#isSubscribing && isError(value)) {
      this.#isSubscribing = false
      this.#host.log.warn(
        { reply: value.message },
        `upstream-sentinel-user: ${this.#text()} refuses SUBSCRIBE, and failovers are seen a second late: give this user +subscribe and the channel ${EVENTS}`,
      )
      return
    }
    const askedMs = this.#askedMs.shift()
    if (askedMs === undefined) {
      this.#link.cut('protocol', 'upstream: a reply that nobody asked for')
      return
    }
    if (isError(value)) this.#refuse(value.message)
    else {
      this.#refusal = undefined
      this.#vote = { node: nodeOf(value), askedMs }
    }
    this.#changed()
  }

  #refuse(line: string): void {
    this.#vote = undefined
    const refusal = `upstream-sentinel-user: ${this.#text()} refuses SENTINEL (${shown(line)}): give this user +sentinel|get-master-addr-by-name`
    if (refusal !== this.#refusal) this.#host.log.warn({ role: 'sentinel' }, refusal)
    this.#refusal = refusal
  }

  #text(): string {
    const { node } = this.#link
    return node === undefined ? 'the sentinel' : nodeText(node)
  }
}

/** Reads a host and a port. @returns Undefined for null, and for anything that is no address. */
function nodeOf(value: RespValue): Node | undefined {
  if (!Array.isArray(value)) return undefined
  const [host, port] = (value as readonly RespValue[]).map(textOf)
  if (host === undefined || host === '' || !/^\d{1,5}$/.test(port ?? '')) return undefined
  return { host: host.toLowerCase(), port: Number(port) }
}
