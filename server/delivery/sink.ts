/** The close of a WebSocket: a code of shared/close-codes.ts and its reason. */
export interface WebSocketClose {
  readonly code: number
  readonly reason: string
}

/** Receives the notice that a socket has taken the rest of a write. */
export interface Writer {
  onWritable(): void
}

/** The socket of a client, as its output sees it. Transports implement it; tests use one backed by an array. */
export interface Sink {
  /** Set by the output that writes to it. */
  writer: Writer | undefined
  /** Each write is one WebSocket message, and has its header in front. */
  readonly framed: boolean
  /** Bytes handed over that the kernel has not taken yet. */
  readonly pendingBytes: number
  /**
   * Makes of frames that only this client is sent what its transport carries; missing: they are sent as they are.
   *
   * @param frames Whole ones, in the client's protocol.
   */
  translate?(frames: Buffer): Buffer
  /**
   * Hands bytes over, in one system call where possible.
   *
   * @returns True if the kernel took them all: their memory may be used again. If not, they are never changed, and the
   *   writer is told once it has.
   */
  write(buffers: readonly Buffer[]): boolean
  /** Ends the connection once everything handed over is sent. */
  end(close: WebSocketClose | undefined): void
  /** Ends the connection without what it has not sent yet, in this turn of the event loop or a later one. */
  terminate(): void
  /** Stops and resumes reading. */
  pause(): void
  resume(): void
}
