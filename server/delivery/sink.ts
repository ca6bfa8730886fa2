/** How a connection is ended on a WebSocket: a code of shared/close-codes.ts and the reason that goes with it. */
export interface WebSocketClose {
  readonly code: number
  readonly reason: string
}

/** Where a client's bytes go: the socket, seen from the client. Transports implement it; tests use one backed by an array. */
export interface Sink {
  /** Each write is one WebSocket message, and has its header in front. */
  readonly framed: boolean
  /** Bytes handed over that the kernel has not taken yet. */
  readonly pendingBytes: number
  /**
   * Hands bytes over, in one system call where possible.
   *
   * @returns Whether the kernel took them all: their memory may be used again. If not, they are never changed, and
   *   `onWritable` of the client is called once it has.
   */
  write(buffers: readonly Buffer[]): boolean
  /** Ends the connection once everything handed over is sent. */
  end(close: WebSocketClose | undefined): void
  /** Ends the connection at once; what is still on its way may be lost. */
  terminate(): void
  /** Stops and resumes reading. */
  pause(): void
  resume(): void
}
