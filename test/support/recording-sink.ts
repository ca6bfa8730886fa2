import type { Sink, WebSocketClose, Writer } from '../../server/delivery/sink.ts'

interface Recorded {
  /** Undefined once the kernel has taken them: what becomes of them is nobody's affair then. */
  buffers: readonly Buffer[] | undefined
  readonly copy: Buffer
}

/**
 * A socket that is an array. It takes every write at once, until `blocks` is set: then each write is one that the kernel
 * has not taken yet, and {@link RecordingSink.drain} says that it has.
 */
export class RecordingSink implements Sink {
  readonly framed: boolean
  writer: Writer | undefined
  blocks = false
  pendingBytes = 0
  paused = false
  terminated = false
  /** Ends of the connection, one for each call. */
  readonly ends: (WebSocketClose | undefined)[] = []
  readonly #writes: Recorded[] = []
  #taken = 0

  constructor(framed = false) {
    this.framed = framed
  }

  write(buffers: readonly Buffer[]): boolean {
    const copy = Buffer.concat(buffers)
    this.#writes.push({ buffers: this.blocks ? buffers : undefined, copy })
    if (this.blocks) this.pendingBytes += copy.length
    return !this.blocks
  }

  /** The kernel has taken everything. */
  drain(): void {
    this.pendingBytes = 0
    for (const write of this.#writes) write.buffers = undefined
  }

  end(close: WebSocketClose | undefined): void {
    this.ends.push(close)
  }

  terminate(): void {
    this.terminated = true
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
  }

  /** Bytes of each write so far. */
  get writes(): Buffer[] {
    return this.#writes.map(({ copy }) => copy)
  }

  /** Everything written so far. */
  get bytes(): Buffer {
    return Buffer.concat(this.writes)
  }

  /** Returns the bytes written since the last call, as a byte string. */
  take(): string {
    const fresh = this.writes.slice(this.#taken)
    this.#taken += fresh.length
    return Buffer.concat(fresh).toString('latin1')
  }

  /** The messages of {@link take} for a WebSocket, each as a byte string. */
  takeMessages(): string[] {
    return unframe(Buffer.from(this.take(), 'latin1')).map((message) => message.toString('latin1'))
  }

  /** Reports whether a buffer that the kernel has not taken has changed since it was handed over. */
  get wasTamperedWith(): boolean {
    return this.#writes.some(({ buffers, copy }) => buffers && !Buffer.concat(buffers).equals(copy))
  }
}

/** Splits what a server wrote into the payloads of its unmasked frames (RFC 6455 section 5.2). */
export function unframe(bytes: Buffer): Buffer[] {
  const payloads: Buffer[] = []
  let at = 0
  while (at < bytes.length) {
    if (bytes[at] !== 0x82) throw new Error(`not a final binary frame at byte ${at}`)
    const short = bytes[at + 1] as number
    if (short > 127) throw new Error(`a masked frame at byte ${at}`)
    const start = at + (short < 126 ? 2 : short === 126 ? 4 : 10)
    const length =
      short < 126
        ? short
        : short === 126
          ? bytes.readUInt16BE(at + 2)
          : Number(bytes.readBigUInt64BE(at + 2))
    if (start + length > bytes.length) throw new Error(`a torn frame at byte ${at}`)
    payloads.push(bytes.subarray(start, start + length))
    at = start + length
  }
  return payloads
}
