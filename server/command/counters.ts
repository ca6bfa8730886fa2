/** What is counted on the way: plain integers, read by INFO and by the metrics when somebody asks. */
export class Counters {
  connectionsReceived = 0
  connectionsRejected = 0
  commandsProcessed = 0
  bytesIn = 0
  messagesPublished = 0
  messagesDelivered = 0
  outputLimitDisconnections = 0
  queryBufferDisconnections = 0
  messagesTooLargeForWebSocket = 0
  tokensAccepted = 0
  tokensRefused = 0
  originsRefused = 0
  /** Bytes sent to clients that are gone. */
  bytesOutClosed = 0
  /** Error replies by code. */
  readonly errors = new Map<string, number>()
  errorReplies = 0

  /** Distinct error codes that are kept (Redis 7.4 keeps as many). */
  static readonly MAX_ERROR_CODES = 128

  countError(code: string): void {
    this.errorReplies++
    const known = this.errors.get(code)
    if (known !== undefined) this.errors.set(code, known + 1)
    else if (this.errors.size < Counters.MAX_ERROR_CODES) this.errors.set(code, 1)
  }

  /** CONFIG RESETSTAT. */
  reset(): void {
    const fresh = new Counters()
    for (const [name, value] of Object.entries(fresh)) {
      if (typeof value === 'number') Object.assign(this, { [name]: value })
    }
    this.errors.clear()
  }
}
