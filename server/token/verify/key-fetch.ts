import type { Clock, Timer } from '../../clock.ts'

/** The part of the global `fetch` that {@link fetchText} needs. */
export type Fetch = (
  url: string,
  init: {
    readonly redirect: 'error'
    readonly signal: AbortSignal
    readonly headers: Readonly<Record<string, string>>
  },
) => Promise<Pick<Response, 'status' | 'body'>>

/** Bounds of one request. */
interface FetchBounds {
  /** From the call to the last byte. */
  readonly timeoutMs: number
  /** Of the body after decompression; it is counted while it is read. */
  readonly maxBytes: number
}

/**
 * Fetches a text over HTTP, and gives up early: at a redirect, at any status but 200, at the first byte over the
 * bound, and at the deadline, even if the other side never answers.
 *
 * @returns The body, which must be UTF-8.
 * @throws Error with a clause for the log.
 */
export async function fetchText(
  fetch: Fetch,
  url: string,
  bounds: FetchBounds,
  clock: Clock,
): Promise<string> {
  const controller = new AbortController()
  let timer: Timer | undefined
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = clock.after(bounds.timeoutMs, () => {
      reject(new Error(`no whole answer within ${bounds.timeoutMs} ms`))
      controller.abort()
    })
  })
  try {
    return await Promise.race([read(fetch, url, bounds.maxBytes, controller.signal), deadline])
  } finally {
    timer?.cancel()
    controller.abort()
  }
}

async function read(
  fetch: Fetch,
  url: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<string> {
  const response = await fetch(url, {
    redirect: 'error',
    signal,
    headers: { accept: 'application/json' },
  })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`the answer has status ${response.status}`)
  }
  if (response.body === null) throw new Error('the answer is empty')

  const chunks: Uint8Array[] = []
  let bytes = 0
  const reader = response.body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.length
    if (bytes > maxBytes) {
      await reader.cancel()
      throw new Error(`the answer is longer than ${maxBytes} bytes`)
    }
    chunks.push(value)
  }
  return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
}
