import { closeNamed, closeReason, type CloseName } from '../../shared/close-codes.ts'
import type { WebSocketClose } from '../delivery/sink.ts'

/** Why the server ends a connection, and how. */
export interface CloseCause {
  /** A word for log and metrics: `quit`, `protocol-error`, `killed`, `slow-consumer`, ... */
  readonly name: string
  /**
   * `flush`: what is queued is sent first, as Redis' close-after-reply. `drop`: nothing more is sent but, on a
   * WebSocket, the last pushes and the close; TCP is closed without a byte, as Redis frees a client.
   */
  readonly output: 'flush' | 'drop'
  /** What a WebSocket is told; undefined: an ordinary close (1000). */
  readonly close: WebSocketClose | undefined
}

/**
 * A cause that WebSockets are told by a code of shared/close-codes.ts.
 *
 * @param text For people; at most about 80 bytes survive.
 * @param retryMs A hint: no new attempt before so many milliseconds.
 */
export function closeCause(
  name: CloseName,
  output: CloseCause['output'],
  text: string,
  retryMs?: number,
): CloseCause {
  const reason = closeReason(name, retryMs, text)
  return { name, output, close: { code: closeNamed(name).code, reason } }
}

/** QUIT: a close in good order. */
export const QUIT_CAUSE: CloseCause = { name: 'quit', output: 'flush', close: undefined }

/** The peer ended the connection; there is nobody left to tell. */
export const PEER_CLOSED: CloseCause = { name: 'peer-closed', output: 'drop', close: undefined }
