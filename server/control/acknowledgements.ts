import type { ControlLine } from '../upstream/control-line.ts'
import type { ControlNames } from './names.ts'

/** A gateway has applied an entry. */
interface Acknowledgement {
  /** The gateway. */
  readonly node: string
  /** Of the entry. */
  readonly id: string
  readonly uuid: string
  /** Sessions that it has hit there. */
  readonly sessions: number
}

const LINE = /^([0-9a-f]{16}) (\d+-\d+) ([0-9a-f]{16}) (\d{1,10})$/

/**
 * Tells other gateways which of their entries are in force here. Those that one write to the disk has settled go in one message to each
 * gateway. They do not wait for the end of the turn, since the link that sends them does.
 */
export class Acknowledgements {
  readonly #line: ControlLine
  readonly #names: ControlNames
  readonly #id: string
  /** Lines by gateway. */
  #waiting = new Map<string, string[]>()

  constructor(parts: {
    readonly line: ControlLine
    readonly names: ControlNames
    /** Of this gateway. */
    readonly id: string
  }) {
    this.#line = parts.line
    this.#names = parts.names
    this.#id = parts.id
  }

  /** Has a gateway told, together with what is said to it in the same microtasks. */
  send(origin: string, { id, uuid, sessions }: Omit<Acknowledgement, 'node'>): void {
    if (this.#waiting.size === 0) queueMicrotask(() => this.#flush())
    const text = `${this.#id} ${id} ${uuid} ${sessions}`
    const known = this.#waiting.get(origin)
    if (known) known.push(text)
    else this.#waiting.set(origin, [text])
  }

  /** The confirmations of a message; lines that are none are left out. */
  read(payload: Buffer): Acknowledgement[] {
    const found: Acknowledgement[] = []
    for (const line of payload.toString('latin1').split('\n')) {
      const [, node, id, uuid, sessions] = LINE.exec(line) ?? []
      if (node === undefined || id === undefined || uuid === undefined) continue
      found.push({ node, id, uuid, sessions: Number(sessions) })
    }
    return found
  }

  #flush(): void {
    const waiting = this.#waiting
    this.#waiting = new Map()
    if (!this.#line.isUp) return
    for (const [origin, lines] of waiting) {
      this.#line.ask(
        UNHEARD,
        this.#line.publishCommand,
        this.#names.acknowledgementsOf(origin),
        lines.join('\n'),
      )
    }
  }
}

const UNHEARD = { answered: () => {}, lost: () => {} }
