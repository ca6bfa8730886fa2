import type { ClientTimer, Environment } from './environment.ts'
import { ConnectionError } from './errors.ts'

/** Limits of one command. A command that was sent is not taken back: only its reply is no longer waited for. */
export interface CallOptions {
  /** Rejects with the signal's reason when it is aborted. */
  readonly signal?: AbortSignal
  /** Milliseconds until it rejects with `ERR_TIMEOUT`; default `replyTimeoutMs` of the client. */
  readonly timeoutMs?: number
}

/** Reports whether the last argument of a call is its options: no argument of a command looks like them. */
export function isCallOptions(value: unknown): value is CallOptions {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const keys = Object.keys(value)
  return keys.length > 0 && keys.every((key) => key === 'signal' || key === 'timeoutMs')
}

/**
 * Waits for a reply within limits.
 *
 * @param timeoutMs `Infinity`: no limit.
 * @throws {ConnectionError} `ERR_TIMEOUT`. The signal's reason. What the reply rejects with.
 */
export async function inTime<Reply>(
  reply: Promise<Reply>,
  { clock }: Pick<Environment, 'clock'>,
  signal: AbortSignal | undefined,
  timeoutMs: number,
): Promise<Reply> {
  let abort = (): void => undefined
  let timer: ClientTimer | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal?.reason as Error)
    if (timeoutMs === Infinity) return
    timer = clock.after(timeoutMs, () => {
      reject(new ConnectionError('ERR_TIMEOUT', `No reply within ${timeoutMs} ms`))
    })
  })
  signal?.addEventListener('abort', abort)
  try {
    return await Promise.race([reply, limit])
  } finally {
    timer?.cancel()
    signal?.removeEventListener('abort', abort)
  }
}
